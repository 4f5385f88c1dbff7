/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/program.h"

#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* To be read from ends[0]; an exec closes both. */
static int open_pipe(int ends[2])
{
	return pipe2(ends, O_CLOEXEC) ? ifp_fail_errno("make a pipe") : 0;
}

static void close_pipe(const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

/* In the child. What fails is told through the pipe, which an exec closes. */
static _Noreturn void become(
	char *const argv[], const sigset_t *mask, pid_t parent, int output, int failure)
{
	int null = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	if (mask)
		sigprocmask(SIG_SETMASK, mask, NULL);
	signal(SIGXFSZ, SIG_DFL);
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
		dup2(output, STDERR_FILENO) >= 0)
		execvp(argv[0], argv);
	if (write(failure, &errno, sizeof(errno)) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_FAILURE);
}

/* The errno of an exec that failed; 0 when it did not. */
static int read_failure(int failure)
{
	int err = 0;
	ssize_t got;

	do
		got = read(failure, &err, sizeof(err));
	while (got < 0 && errno == EINTR);
	return got == sizeof(err) ? err : 0;
}

int ifp_program_start(char *const argv[], const sigset_t *mask, struct ifp_program *out)
{
	int output[2], failure[2], err;
	pid_t parent = getpid(), pid;

	err = open_pipe(output);
	if (err)
		return err;
	err = open_pipe(failure);
	if (err) {
		close_pipe(output);
		return err;
	}
	pid = fork();
	if (pid == 0)
		become(argv, mask, parent, output[1], failure[1]);
	err = pid < 0 ? errno : 0;
	close(output[1]);
	close(failure[1]);
	if (!err)
		err = read_failure(failure[0]);
	close(failure[0]);
	if (err) {
		close(output[0]);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		errno = err;
		return ifp_fail_errno("start %s", argv[0]);
	}
	*out = (struct ifp_program){pid, output[0]};
	return 0;
}

bool ifp_program_has_ended(const struct ifp_program *program)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)program->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == program->pid;
}

void ifp_program_signal(const struct ifp_program *program, int signal_number)
{
	kill(-program->pid, signal_number);
}

int ifp_program_finish(struct ifp_program *program)
{
	siginfo_t info;
	int status = 0;

	while (waitid(P_PID, (id_t)program->pid, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	/* Not waited for yet, it keeps its number, and so does its group. */
	kill(-program->pid, SIGKILL);
	while (waitpid(program->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(program->output);
	*program = (struct ifp_program){0};
	return status;
}

void ifp_program_free(struct ifp_program *program)
{
	if (!program->pid)
		return;
	ifp_program_signal(program, SIGKILL);
	ifp_program_finish(program);
}

void ifp_program_describe(int wait_status, struct ifp_buf *out)
{
	if (WIFSIGNALED(wait_status))
		ifp_buf_printf(out, "was ended by signal %d (%s)", WTERMSIG(wait_status),
			strsignal(WTERMSIG(wait_status)));
	else
		ifp_buf_printf(out, "exited with status %d", WEXITSTATUS(wait_status));
}
