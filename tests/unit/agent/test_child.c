/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/launch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const echo_environment = "echo \"$INFPROF_TEST_CHILD\" >&9";

static void start(char *const argv[], struct ifp_child *child)
{
	struct ifp_environment environment = {0};
	sigset_t mask;

	sigemptyset(&mask);
	assert_ok(ifp_environment_copy(&environment));
	assert_ok(ifp_environment_set(&environment, "INFPROF_TEST_CHILD", "seen"));
	assert_ok(ifp_child_start(argv, &environment, &mask, child));
	ifp_environment_free(&environment);
}

/* Waits for the end without taking it away from ifp_child_poll(). */
static void wait_for(struct ifp_child *child)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(ifp_child_poll(child));
	assert_false(ifp_child_running(child));
}

static struct ifp_child run_shell(const char *script)
{
	char *argv[] = {"sh", "-c", (char *)script, NULL};
	struct ifp_child child = {0};

	start(argv, &child);
	wait_for(&child);
	return child;
}

static void test_a_program_that_succeeds(void **state)
{
	struct ifp_child child = run_shell("exit 0");

	(void)state;
	assert_true(ifp_child_succeeded(&child));
}

static void test_an_exit_status_is_kept(void **state)
{
	struct ifp_child child = run_shell("exit 3");

	(void)state;
	assert_false(ifp_child_succeeded(&child));
	assert_int_equal(WEXITSTATUS(child.wait_status), 3);
}

static void test_a_signal_is_kept(void **state)
{
	struct ifp_child child = run_shell("kill -TERM $$");

	(void)state;
	assert_false(ifp_child_succeeded(&child));
	assert_true(WIFSIGNALED(child.wait_status));
	assert_int_equal(WTERMSIG(child.wait_status), SIGTERM);
}

static void test_the_program_gets_the_environment_that_was_made_for_it(void **state)
{
	char text[32] = "";
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], 9), 9);
	run_shell(echo_environment);
	assert_int_equal(read(ends[0], text, sizeof(text) - 1), 5);
	assert_string_equal(text, "seen\n");
	close(9);
}

static void test_the_signal_mask_is_the_one_asked_for(void **state)
{
	sigset_t all, before;

	(void)state;
	sigfillset(&all);
	assert_int_equal(sigprocmask(SIG_SETMASK, &all, &before), 0);
	struct ifp_child child =
		run_shell("test $(sed -n 's/^SigBlk:[[:space:]]*//p' /proc/$$/status) = "
			  "0000000000000000");

	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	assert_true(ifp_child_succeeded(&child));
}

static void test_a_program_that_cannot_be_started_leaves_no_child(void **state)
{
	char *missing[] = {"/nonexistent/program", NULL};
	char *folder[] = {"/", NULL};
	struct ifp_environment environment = {0};
	struct ifp_child child = {.pid = 4242};
	sigset_t mask;
	int err;

	(void)state;
	sigemptyset(&mask);
	assert_ok(ifp_environment_copy(&environment));
	err = ifp_child_start(missing, &environment, &mask, &child);
	assert_int_equal(err, -ENOENT);
	assert_int_equal(ifp_child_start_status(err), 127);
	assert_string_equal(
		ifp_error_cause(0), "cannot start /nonexistent/program: No such file or directory");
	ifp_error_clear();
	err = ifp_child_start(folder, &environment, &mask, &child);
	assert_int_equal(err, -EACCES);
	assert_int_equal(ifp_child_start_status(err), 126);
	ifp_error_clear();
	assert_int_equal(child.pid, 4242);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	ifp_environment_free(&environment);
}

/* Runs exit_like in a process of its own and gives its wait status. */
static int status_of_exit_like(int wait_status)
{
	const struct ifp_child child = {.pid = 1, .ended = true, .wait_status = wait_status};
	int status;
	pid_t pid = fork();

	if (!pid)
		ifp_child_exit_like(&child);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_the_agent_ends_as_the_program_has_ended(void **state)
{
	int status;

	(void)state;
	status = status_of_exit_like(W_EXITCODE(3, 0));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	status = status_of_exit_like(W_EXITCODE(0, SIGSEGV));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	assert_false(WCOREDUMP(status));
	status = status_of_exit_like(W_EXITCODE(0, SIGKILL));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

/*
 * The agent of this test is a process of its own; it is killed, and its program must die with it.
 */
static void test_the_program_dies_with_the_agent(void **state)
{
	char *argv[] = {"sleep", "600", NULL};
	struct ifp_child child = {0};
	pid_t agent, program = 0;
	int ends[2];
	siginfo_t info;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	/* orphans come to this process, so that it can wait for the program */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	agent = fork();
	if (!agent) {
		start(argv, &child);
		if (write(ends[1], &child.pid, sizeof(child.pid)) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &program, sizeof(program)), sizeof(program));
	assert_int_equal(kill(agent, SIGKILL), 0);
	assert_int_equal(waitpid(agent, NULL, 0), agent);
	assert_int_equal(waitid(P_PID, (id_t)program, &info, WEXITED), 0);
	assert_int_equal(info.si_code, CLD_KILLED);
	assert_int_equal(info.si_status, SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_that_succeeds),
		cmocka_unit_test(test_an_exit_status_is_kept),
		cmocka_unit_test(test_a_signal_is_kept),
		cmocka_unit_test(test_the_program_gets_the_environment_that_was_made_for_it),
		cmocka_unit_test(test_the_signal_mask_is_the_one_asked_for),
		cmocka_unit_test(test_a_program_that_cannot_be_started_leaves_no_child),
		cmocka_unit_test(test_the_agent_ends_as_the_program_has_ended),
		cmocka_unit_test(test_the_program_dies_with_the_agent),
	};

	return RUN_TESTS(tests);
}
