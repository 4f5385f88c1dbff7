/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's program as a child of the agent. It gets stdin, stdout, stderr, working directory,
 * signal mask and dispositions as the agent got them, and is killed when the agent is.
 */
#pragma once

#include "agent/launch/environment.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ifp_child {
	pid_t pid; /* 0 = not started */
	bool ended;
	int wait_status; /* as waitpid(2) gives it, once ended */
	int64_t cpu_ns;	 /* of the program and the children that it has waited for, once ended */
};

/* Exit statuses of shells for programs that cannot be started. */
#define IFP_CHILD_NOT_EXECUTABLE 126
#define IFP_CHILD_NOT_FOUND 127

/*
 * Starts argv (looked up in PATH) with the environment and the signal mask given. When the program
 * cannot be executed: -ENOENT, -EACCES, ... with a cause, and no child is left.
 */
int ifp_child_start(char *const argv[], const struct ifp_environment *environment,
	const sigset_t *mask, struct ifp_child *out);

/* The exit status that a shell would give for the result of a failed start. */
int ifp_child_start_status(int err);

/* Takes note of the end of the program, never waits. True when it has ended. */
bool ifp_child_poll(struct ifp_child *child);

static inline bool ifp_child_running(const struct ifp_child *child)
{
	return child->pid && !child->ended;
}

/* Ended with status 0. */
bool ifp_child_succeeded(const struct ifp_child *child);

/* Ends this process as the program has ended: with its status, or by its signal (no core). */
_Noreturn void ifp_child_exit_like(const struct ifp_child *child);

/* Dies of a signal, without a core of its own. */
_Noreturn void ifp_child_die_of(int signal_number);
