/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/signals.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/*
 * SIGTSTP and its kind stop the agent together with the program, as a shell expects. SIGKILL and
 * SIGSTOP cannot be passed on; the program is killed with the agent (child.c).
 */
static const int passed_on[] = {
	SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

static pid_t parent_of(pid_t pid)
{
	IFP_CLEANUP_FILE FILE *file = NULL;
	char path[64], line[128];
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "PPid: %d", &parent) == 1)
			break;
	}
	return parent;
}

int ifp_signals_setup(struct ifp_signals *signals, const struct ifp_identity *identity)
{
	struct ifp_signals new = {
		.launcher = getppid(),
		.group_launcher = parent_of(getpgrp()),
		.launcher_signals_group = identity->signals_group,
	};
	sigset_t read;

	sigemptyset(&read);
	for (size_t i = 0; i < IFP_ARRAY_SIZE(passed_on); i++)
		sigaddset(&read, passed_on[i]);
	sigaddset(&read, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &read, &new.original))
		return ifp_fail_errno("block signals");
	new.fd = signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK);
	if (new.fd < 0) {
		sigprocmask(SIG_SETMASK, &new.original, NULL);
		return ifp_fail_errno("make a descriptor for signals");
	}
	*signals = new;
	return 0;
}

void ifp_signals_restore(struct ifp_signals *signals)
{
	if (signals->fd < 0)
		return;
	close(signals->fd);
	signals->fd = -1;
	sigprocmask(SIG_SETMASK, &signals->original, NULL);
}

bool ifp_signals_next(struct ifp_signals *signals, struct signalfd_siginfo *out)
{
	while (read(signals->fd, out, sizeof(*out)) == (ssize_t)sizeof(*out)) {
		if (out->ssi_signo != SIGCHLD)
			return true;
	}
	return false;
}

bool ifp_signals_reached_program(
	const struct ifp_signals *signals, const struct signalfd_siginfo *info)
{
	pid_t sender = (pid_t)info->ssi_pid;

	/* the terminal's own signals go to the whole foreground group */
	if (info->ssi_code == SI_KERNEL)
		return true;
	return signals->launcher_signals_group && sender &&
	       (sender == signals->launcher || sender == signals->group_launcher);
}

bool ifp_signals_ends(const struct signalfd_siginfo *info)
{
	return info->ssi_signo == SIGHUP || info->ssi_signo == SIGINT ||
	       info->ssi_signo == SIGQUIT || info->ssi_signo == SIGTERM;
}
