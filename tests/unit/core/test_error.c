/* SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"

#include "test.h"

#include <errno.h>
#include <pthread.h>

static int open_config(void)
{
	errno = ENOENT;
	return ifp_fail_errno("open %s", "x.json");
}

static int forget(void **state)
{
	(void)state;
	ifp_error_clear();
	return 0;
}

static void a_chain_reads_from_the_outermost_cause_to_the_root(void **state)
{
	char text[256];
	int err = open_config();

	(void)state;
	assert_int_equal(err, -ENOENT);
	assert_int_equal(ifp_fail(err, "start rank %d", 3), -ENOENT);
	assert_int_equal(ifp_error_depth(), 2);
	assert_string_equal(ifp_error_cause(0), "open x.json: No such file or directory");
	assert_null(ifp_error_cause(2));
	assert_string_equal(ifp_error_text(text, sizeof(text)),
		"start rank 3: open x.json: No such file or directory");
	ifp_error_clear();
	assert_string_equal(ifp_error_text(text, sizeof(text)), "");
}

static void a_full_chain_keeps_its_root(void **state)
{
	(void)state;
	for (int i = 0; i < IFP_ERROR_MAX_CAUSES + 5; i++)
		ifp_fail(-EIO, "cause %d", i);
	assert_int_equal(ifp_error_depth(), IFP_ERROR_MAX_CAUSES);
	assert_string_equal(ifp_error_cause(0), "cause 0");
	assert_string_equal(ifp_error_cause(IFP_ERROR_MAX_CAUSES - 1), "cause 16");
}

static void text_is_cut_to_the_buffer(void **state)
{
	char text[8];

	(void)state;
	ifp_fail(-EIO, "read the archive");
	ifp_fail(-EIO, "report");
	assert_string_equal(ifp_error_text(text, sizeof(text)), "report:");
}

static void *depth_of_this_thread(void *depth)
{
	*(size_t *)depth = ifp_error_depth();
	return NULL;
}

static void threads_do_not_see_each_others_causes(void **state)
{
	size_t depth = 99;
	pthread_t thread;

	(void)state;
	ifp_fail(-EIO, "mine");
	assert_int_equal(pthread_create(&thread, NULL, depth_of_this_thread, &depth), 0);
	pthread_join(thread, NULL);
	assert_int_equal(depth, 0);
	assert_int_equal(ifp_error_depth(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			a_chain_reads_from_the_outermost_cause_to_the_root, forget),
		cmocka_unit_test_teardown(a_full_chain_keeps_its_root, forget),
		cmocka_unit_test_teardown(text_is_cut_to_the_buffer, forget),
		cmocka_unit_test_teardown(threads_do_not_see_each_others_causes, forget),
	};

	return RUN_TESTS(tests);
}
