/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/launch/child.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/process.h"
#include "core/time.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * In the child: becomes the program, or writes errno to the pipe. After a fork of a process with
 * threads only calls that need no lock are allowed here.
 */
static _Noreturn void become(
	char *const argv[], char *const variables[], const sigset_t *mask, pid_t agent, int report)
{
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* the agent may have died before the line above */
	if (getppid() != agent)
		_exit(IFP_CHILD_NOT_EXECUTABLE);
	ifp_process_restore_write_signals();
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvpe(argv[0], argv, variables);
	err = errno;
	while (write(report, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(IFP_CHILD_NOT_EXECUTABLE);
}

/* 0 when the pipe was closed by a successful exec, else the errno of the exec. */
static int read_report(int fd)
{
	int err = 0;
	ssize_t n;

	do
		n = read(fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(err) ? err : 0;
}

int ifp_child_start(char *const argv[], const struct ifp_environment *environment,
	const sigset_t *mask, struct ifp_child *out)
{
	pid_t agent = getpid();
	int ends[2], err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return ifp_fail_errno("make a pipe for %s", argv[0]);
	pid = fork();
	if (!pid)
		become(argv, environment->variables, mask, agent, ends[1]);
	err = pid < 0 ? errno : 0;
	close(ends[1]);
	if (!err)
		err = read_report(ends[0]);
	close(ends[0]);
	if (!err) {
		*out = (struct ifp_child){.pid = pid};
		return 0;
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return ifp_fail(-err, "cannot start %s: %s", argv[0], strerror(err));
}

int ifp_child_start_status(int err)
{
	return err == -ENOENT || err == -ENOTDIR ? IFP_CHILD_NOT_FOUND : IFP_CHILD_NOT_EXECUTABLE;
}

static int64_t timeval_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * IFP_NS_PER_S + (int64_t)t.tv_usec * IFP_NS_PER_US;
}

bool ifp_child_poll(struct ifp_child *child)
{
	struct rusage usage;
	int wait_status;

	if (!ifp_child_running(child))
		return child->ended;
	if (wait4(child->pid, &wait_status, WNOHANG, &usage) != child->pid)
		return false;
	child->ended = true;
	child->wait_status = wait_status;
	child->cpu_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
	return true;
}

bool ifp_child_succeeded(const struct ifp_child *child)
{
	return child->ended && WIFEXITED(child->wait_status) && !WEXITSTATUS(child->wait_status);
}

_Noreturn void ifp_child_die_of(int signal_number)
{
	const struct rlimit no_core = {0, 0};
	sigset_t mask;

	setrlimit(RLIMIT_CORE, &no_core);
	/* a core pattern that is a pipe ignores the limit, but not this */
	prctl(PR_SET_DUMPABLE, 0);
	signal(signal_number, SIG_DFL);
	sigemptyset(&mask);
	sigaddset(&mask, signal_number);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	raise(signal_number);
	/* a signal that does not end a process cannot have ended the program either */
	_exit(128 + signal_number);
}

_Noreturn void ifp_child_exit_like(const struct ifp_child *child)
{
	if (WIFSIGNALED(child->wait_status))
		ifp_child_die_of(WTERMSIG(child->wait_status));
	exit(WEXITSTATUS(child->wait_status));
}
