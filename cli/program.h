/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that a verb runs: in a process group of its own, so that what it starts ends with it,
 * and ended when infprof is killed. What it prints, on either stream, comes through a pipe.
 */
#pragma once

#include "core/buf.h"
#include "core/cleanup.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct ifp_program {
	pid_t pid; /* 0 = none */
	int output;
};

/*
 * Starts argv, looked up in PATH, with the signal mask given (NULL = as it is here). -ENOENT,
 * -EACCES, ... with a cause when it cannot be executed.
 */
int ifp_program_start(char *const argv[], const sigset_t *mask, struct ifp_program *out);

/* True when it has ended; never waits. It stays to be waited for. */
bool ifp_program_has_ended(const struct ifp_program *program);

/* Sends a signal to it and all of its group. */
void ifp_program_signal(const struct ifp_program *program, int signal_number);

/*
 * Waits for its end, kills what is left of its group, closes the pipe: its wait status, as of
 * waitpid(2). The program is {0} then.
 */
int ifp_program_finish(struct ifp_program *program);

/* Kills it. For cleaning up: does nothing after ifp_program_finish(). */
void ifp_program_free(struct ifp_program *program);

#define IFP_CLEANUP_PROGRAM IFP_CLEANUP(ifp_program_free)

/* "exited with status 1", "was ended by signal 9 (Killed)". */
void ifp_program_describe(int wait_status, struct ifp_buf *out);
