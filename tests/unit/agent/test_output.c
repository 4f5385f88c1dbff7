/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/launch/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64]; /* of this program, current folder of its tests */

static void assert_name(char *const argv[], const char *expected)
{
	char name[64];

	ifp_output_program_name(argv, name);
	assert_string_equal(name, expected);
}

static void test_a_run_is_named_after_what_the_user_wrote(void **state)
{
	(void)state;
	assert_name((char *[]){"./stencil", "--size", "4", NULL}, "stencil");
	assert_name((char *[]){"python", "examples/train_jepa.py", "--slow-rank", "3", NULL},
		"train_jepa");
	assert_name(
		(char *[]){"/usr/bin/python3.11", "-u", "-W", "error", "train.py", NULL}, "train");
	assert_name((char *[]){"python", "-m", "pkg.train", NULL}, "pkg.train");
	assert_name((char *[]){"python", "-c", "print(1)", NULL}, "python");
	assert_name((char *[]){"bash", "run.sh", NULL}, "run");
	assert_name((char *[]){"/opt/my tool (2)", NULL}, "my_tool__2_");
	assert_name((char *[]){"/", NULL}, "program");
	assert_name((char *[]){"./.hidden", NULL}, "_hidden");
}

static void test_the_default_directory_never_meets_an_earlier_run(void **state)
{
	const int64_t now_ns = INT64_C(1796083200000000000); /* 2026-12-01 00:00:00 UTC */
	char *first = NULL, *second = NULL;
	char expected[256];

	(void)state;
	assert_ok(ifp_output_make(NULL, "train", now_ns, &first));
	assert_ok(ifp_output_make(NULL, "train", now_ns, &second));
	snprintf(expected, sizeof(expected), "%s/infprof-out/train-20261201-000000", folder);
	assert_string_equal(first, expected);
	snprintf(expected, sizeof(expected), "%s/infprof-out/train-20261201-000000-2", folder);
	assert_string_equal(second, expected);
	free(first);
	free(second);
}

static void test_a_directory_with_an_earlier_run_is_refused(void **state)
{
	char *path = NULL;

	(void)state;
	assert_ok(ifp_output_make("runs/a", "train", 0, &path));
	free(path);
	path = NULL;
	/* without an archive it may be used again */
	assert_ok(ifp_output_make("runs/a", "train", 0, &path));
	free(path);
	path = NULL;
	assert_true(creat("runs/a/run.ifp", 0600) >= 0);
	assert_int_equal(ifp_output_make("runs/a", "train", 0, &path), -EEXIST);
	assert_null(path);
	assert_non_null(strstr(ifp_error_cause(0), "runs/a holds an earlier run"));
	ifp_error_clear();
}

static void test_taking_a_directory_back_spares_another_run(void **state)
{
	char *path = NULL;

	(void)state;
	assert_ok(ifp_output_make("runs/back", "train", 0, &path));
	assert_true(creat("runs/back/collector.log", 0600) >= 0);
	/* one that began at the same moment, and whose collector has nothing to say so far */
	assert_true(creat("runs/back/run.ifp", 0600) >= 0);
	ifp_output_unmake(path);
	assert_int_equal(access("runs/back/collector.log", F_OK), 0);
	assert_int_equal(unlink("runs/back/run.ifp"), 0);
	ifp_output_unmake(path);
	assert_int_not_equal(access("runs/back", F_OK), 0);
	free(path);
}

static void test_a_directory_that_cannot_be_written_is_refused(void **state)
{
	char *path = NULL;

	(void)state;
	assert_true(creat("plain-file", 0600) >= 0);
	assert_int_equal(ifp_output_make("plain-file/x", "train", 0, &path), -ENOTDIR);
	ifp_error_clear();
	assert_int_equal(ifp_output_make("plain-file", "train", 0, &path), -ENOTDIR);
	ifp_error_clear();
	/* no file can be made in /proc, also not by root */
	assert_int_not_equal(ifp_output_make("/proc/infprof", "train", 0, &path), 0);
	ifp_error_clear();
	assert_int_equal(ifp_output_make("", "train", 0, &path), -EINVAL);
	ifp_error_clear();
	assert_null(path);
}

static void assert_parent(const char *wanted, const char *expected)
{
	char *parent = ifp_output_parent(wanted);

	assert_string_equal(parent, expected);
	free(parent);
}

static void test_ranks_meet_beside_the_output_directory(void **state)
{
	(void)state;
	assert_parent(NULL, "infprof-out");
	assert_parent("runs", ".");
	assert_parent("runs/a", "runs");
	assert_parent("runs//a//", "runs");
	assert_parent("/a", "/");
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/infprof-test-XXXXXX");
	setenv("TZ", "UTC", 1);
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return chdir("/") || system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_run_is_named_after_what_the_user_wrote),
		cmocka_unit_test(test_the_default_directory_never_meets_an_earlier_run),
		cmocka_unit_test(test_a_directory_with_an_earlier_run_is_refused),
		cmocka_unit_test(test_taking_a_directory_back_spares_another_run),
		cmocka_unit_test(test_a_directory_that_cannot_be_written_is_refused),
		cmocka_unit_test(test_ranks_meet_beside_the_output_directory),
	};

	return cmocka_run_group_tests_name(__FILE__, tests, set_up, tear_down);
}
