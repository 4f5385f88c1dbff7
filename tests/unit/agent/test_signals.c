/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/launch/signals.h"

#include <sys/wait.h>
#include <unistd.h>

static const struct ifp_identity alone = {.launcher = "none", .world = 1, .local_size = 1};
static const struct ifp_identity of_mpirun = {
	.launcher = "openmpi", .world = 1, .local_size = 1, .signals_group = true};

static void test_signals_are_read_and_not_acted_upon(void **state)
{
	struct ifp_signals signals;
	struct signalfd_siginfo info;

	(void)state;
	assert_ok(ifp_signals_setup(&signals, &alone));
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	assert_true(ifp_signals_next(&signals, &info));
	assert_int_equal(info.ssi_signo, SIGUSR1);
	assert_false(ifp_signals_ends(&info));
	assert_true(ifp_signals_next(&signals, &info));
	assert_int_equal(info.ssi_signo, SIGTERM);
	assert_true(ifp_signals_ends(&info));
	assert_false(ifp_signals_next(&signals, &info));
	ifp_signals_restore(&signals);
}

static void test_the_end_of_a_child_wakes_and_is_no_signal_to_pass_on(void **state)
{
	struct ifp_signals signals;
	struct signalfd_siginfo info;
	pid_t pid;

	(void)state;
	assert_ok(ifp_signals_setup(&signals, &alone));
	pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(ifp_signals_next(&signals, &info));
	ifp_signals_restore(&signals);
}

static void test_the_mask_is_given_back(void **state)
{
	struct ifp_signals signals;
	sigset_t before, after;

	(void)state;
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &before), 0);
	assert_ok(ifp_signals_setup(&signals, &alone));
	assert_memory_equal(&signals.original, &before, sizeof(long));
	ifp_signals_restore(&signals);
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &after), 0);
	assert_memory_equal(&after, &before, sizeof(long));
	assert_int_equal(signals.fd, -1);
}

static bool reached(const struct ifp_identity *identity, int code, pid_t sender)
{
	const struct signalfd_siginfo info = {
		.ssi_signo = SIGTERM, .ssi_code = code, .ssi_pid = (uint32_t)sender};
	struct ifp_signals signals;
	bool result;

	assert_ok(ifp_signals_setup(&signals, identity));
	result = ifp_signals_reached_program(&signals, &info);
	ifp_signals_restore(&signals);
	return result;
}

static void test_who_sent_it_tells_whether_the_program_has_it_already(void **state)
{
	(void)state;
	/* the terminal's Ctrl-C goes to the whole group */
	assert_true(reached(&alone, SI_KERNEL, 0));
	/* a user's kill goes to the agent alone */
	assert_false(reached(&alone, SI_USER, getppid()));
	assert_false(reached(&of_mpirun, SI_USER, getpid()));
	/* mpirun signals the groups of its processes */
	assert_true(reached(&of_mpirun, SI_USER, getppid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals_are_read_and_not_acted_upon),
		cmocka_unit_test(test_the_end_of_a_child_wakes_and_is_no_signal_to_pass_on),
		cmocka_unit_test(test_the_mask_is_given_back),
		cmocka_unit_test(test_who_sent_it_tells_whether_the_program_has_it_already),
	};

	return RUN_TESTS(tests);
}
