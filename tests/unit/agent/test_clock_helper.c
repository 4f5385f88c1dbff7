/* SPDX-License-Identifier: Apache-2.0 */
/* Small shell scripts stand in for the helper: what it says and how it ends is what counts here. */
#include "agent/launch/clock_helper.h"
#include "core/cleanup.h"

#include "test.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64], script_path[96], log_path[96];

static int make_directory(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/infprof-test-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(script_path, sizeof(script_path), "%s/helper", directory);
	snprintf(log_path, sizeof(log_path), "%s/log", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(script_path);
	unlink(log_path);
	return rmdir(directory);
}

static void write_script(const char *body)
{
	IFP_CLEANUP_FILE FILE *file = fopen(script_path, "we");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", body);
	assert_int_equal(chmod(script_path, 0700), 0);
}

/* Runs a helper with the given script to its end; the result of the last poll. */
static int run(const char *body, const struct ifp_clock_edge **edges, uint32_t *count,
	struct ifp_clock_helper **helper)
{
	int result;

	write_script(body);
	assert_ok(ifp_clock_helper_start(script_path, 7, true, log_path, helper));
	while ((result = ifp_clock_helper_poll(*helper, edges, count)) == 1) {
		struct pollfd item = {.fd = ifp_clock_helper_fd(*helper), .events = POLLIN};

		assert_int_equal(poll(&item, 1, 10000), 1);
	}
	return result;
}

static int outcome(const char *body)
{
	IFP_CLEANUP(ifp_clock_helper_free) struct ifp_clock_helper *helper = NULL;
	const struct ifp_clock_edge *edges = NULL;
	uint32_t count = 0;
	int result = run(body, &edges, &count, &helper);

	assert_int_equal(ifp_clock_helper_fd(helper), -1);
	if (result)
		assert_null(edges);
	return result;
}

#define EDGE "edge 7 0 4 32 -150 90 1000 1080 1100 1250"

static void edges_arrive(void **state)
{
	IFP_CLEANUP(ifp_clock_helper_free) struct ifp_clock_helper *helper = NULL;
	const struct ifp_clock_edge *edges;
	uint32_t count;

	(void)state;
	assert_int_equal(run("echo '" EDGE "' >&3; echo 'done 1' >&3", &edges, &count, &helper), 0);
	assert_int_equal(count, 1);
	assert_int_equal(edges[0].epoch, 7);
	assert_int_equal(edges[0].client, 0);
	assert_int_equal(edges[0].server, 4);
	assert_int_equal(edges[0].round_trips, 32);
	assert_int_equal(edges[0].low_ns, -150);
	assert_int_equal(edges[0].high_ns, 90);
	assert_int_equal(edges[0].best_t1_ns, 1000);
	assert_int_equal(edges[0].best_t4_ns, 1250);
	assert_int_equal(edges[0].over_mpi, 1);
}

/* A rank that leads nothing, or is a server in all its pairs, has no edges of its own. */
static void no_edges_is_good_news(void **state)
{
	(void)state;
	assert_int_equal(outcome("echo 'done 0' >&3"), 0);
}

static void arguments_and_environment_are_right(void **state)
{
	(void)state;
	assert_int_equal(outcome("test \"$*\" = '--epoch 7 --leader 1 --fd 3' || exit 9\n"
				 "test \"$PMIX_MCA_gds\" = hash || exit 9\n"
				 "read line && exit 9\n"
				 "echo 'done 0' >&3"),
		0);
}

static void output_goes_to_the_log(void **state)
{
	IFP_CLEANUP_FILE FILE *log = NULL;
	char text[64] = "";

	(void)state;
	assert_int_equal(outcome("echo from MPI; echo and its errors >&2; echo 'done 0' >&3"), 0);
	log = fopen(log_path, "re");
	assert_non_null(log);
	assert_true(fread(text, 1, sizeof(text) - 1, log) > 0);
	assert_string_equal(text, "from MPI\nand its errors\n");
}

static void failures_are_told_apart(void **state)
{
	const struct {
		const char *body;
		int result;
	} cases[] = {
		{"exit 1", -EIO},
		{"kill -KILL $$", -EIO},
		{"exit 0", -EBADMSG}, /* ended well, but said nothing */
		{"echo '" EDGE "' >&3", -EBADMSG},
		{"echo 'done 0' >&3; echo '" EDGE "' >&3", -EBADMSG},
		{"echo 'edge 7 0 4 32 -150' >&3; echo 'done 0' >&3", -EBADMSG},
		{"echo '" EDGE " 5' >&3; echo 'done 0' >&3", -EBADMSG},
		{"echo 'edge 8 0 4 32 -150 90 1000 1080 1100 1250' >&3; echo 'done 0' >&3",
			-EBADMSG}, /* another epoch */
		{"echo 'edge 7 0 4 32 90 -150 1000 1080 1100 1250' >&3; echo 'done 0' >&3",
			-EBADMSG},		   /* crosses */
		{"echo 'done 3' >&3", -ETIMEDOUT}, /* peers, but not one edge */
		{"head -c 100000 /dev/zero >&3; echo 'done 0' >&3", -EMSGSIZE},
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		assert_int_equal(outcome(cases[i].body), cases[i].result);
		assert_true(ifp_error_depth() > 0);
		ifp_error_clear();
	}
}

static void missing_helper_is_an_error(void **state)
{
	struct ifp_clock_helper *helper = NULL;

	(void)state;
	assert_int_equal(
		ifp_clock_helper_start("/nonexistent/helper", 0, true, NULL, &helper), -ENOENT);
	assert_null(helper);
	assert_string_equal(
		ifp_error_cause(0), "start /nonexistent/helper: No such file or directory");
	ifp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(edges_arrive, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(
			no_edges_is_good_news, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(
			arguments_and_environment_are_right, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(
			output_goes_to_the_log, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(
			failures_are_told_apart, make_directory, remove_directory),
		cmocka_unit_test(missing_helper_is_an_error),
	};

	return RUN_TESTS(tests);
}
