/* SPDX-License-Identifier: Apache-2.0 */
/* Where no agent records, marks do nothing: each test is a program of its own, by fork. */
#include "test.h"

#include "infprof/mark.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Marks of all kinds in a child with these variables; NULL = unset. Exit status 0: off, 1: on. */
static int active_with(const char *library, const char *segment)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		unsetenv("INFPROF_LIBRARY");
		unsetenv("INFPROF_SEGMENT");
		if (library)
			setenv("INFPROF_LIBRARY", library, 1);
		if (segment)
			setenv("INFPROF_SEGMENT", segment, 1);
		infprof_range_push("range");
		infprof_range_pop();
		infprof_range_end(infprof_range_start("started"));
		infprof_step_begin(1);
		infprof_step_end(1);
		infprof_counter("counter", 1);
		infprof_instant("instant");
		_exit(infprof_active());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void marks_are_off_without_an_agent(void **state)
{
	(void)state;
	assert_int_equal(active_with(NULL, NULL), 0);
	assert_int_equal(active_with("", NULL), 0);
	assert_int_equal(active_with(INFPROF_LIBRARY_PATH, NULL), 0);
	assert_int_equal(active_with(INFPROF_LIBRARY_PATH, ""), 0);
}

static void marks_are_off_when_the_library_is_missing_or_another(void **state)
{
	(void)state;
	assert_int_equal(active_with("/nonexistent/libinfprof.so", NULL), 0);
	assert_int_equal(active_with("/etc/hostname", NULL), 0);
	assert_int_equal(active_with("libm.so.6", NULL), 0);
}

static void marks_are_off_when_the_segment_is_gone_or_another_file(void **state)
{
	(void)state;
	assert_int_equal(active_with(INFPROF_LIBRARY_PATH, "/proc/1/fd/999"), 0);
	assert_int_equal(active_with(INFPROF_LIBRARY_PATH, "/dev/null"), 0);
	assert_int_equal(active_with(INFPROF_LIBRARY_PATH, INFPROF_LIBRARY_PATH), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_are_off_without_an_agent),
		cmocka_unit_test(marks_are_off_when_the_library_is_missing_or_another),
		cmocka_unit_test(marks_are_off_when_the_segment_is_gone_or_another_file),
	};

	return RUN_TESTS(tests);
}
