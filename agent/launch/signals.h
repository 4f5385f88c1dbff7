/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of an agent: taken from a descriptor, so that none interrupts it, and passed on to the
 * program exactly once. A terminal, and launchers that signal process groups, reach the program
 * themselves: what they send is not passed on.
 */
#pragma once

#include "core/identity.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

struct ifp_signals {
	int fd;		   /* readable when a signal has come; -1 = not set up */
	sigset_t original; /* the mask that the agent was started with: the program's */
	pid_t launcher, group_launcher; /* parents of this process and of its group's leader */
	bool launcher_signals_group;
};

/* Blocks all signals that are passed on, and SIGCHLD. */
int ifp_signals_setup(struct ifp_signals *signals, const struct ifp_identity *identity);
/* Gives the original mask back. */
void ifp_signals_restore(struct ifp_signals *signals);

/* The next signal that has come; SIGCHLD is left out. False when there is none. */
bool ifp_signals_next(struct ifp_signals *signals, struct signalfd_siginfo *out);

/* Whether the program, which is in the agent's process group, has got this signal itself. */
bool ifp_signals_reached_program(
	const struct ifp_signals *signals, const struct signalfd_siginfo *info);

/* Whether the signal asks a process to end. */
bool ifp_signals_ends(const struct signalfd_siginfo *info);
