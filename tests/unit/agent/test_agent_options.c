/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/options.h"

#include <errno.h>

static int read_steps(const char **items, size_t count, struct ifp_window_wishes *wishes)
{
	const struct ifp_option_list steps = {items, count};

	return ifp_agent_windows(&steps, 8, wishes);
}

static void test_without_the_option_five_steps_are_recorded(void **state)
{
	struct ifp_window_wishes wishes;

	(void)state;
	assert_ok(read_steps(NULL, 0, &wishes));
	assert_int_equal(wishes.count, 1);
	assert_int_equal(wishes.items[0].first, 0);
	assert_int_equal(wishes.items[0].count, 5);
}

static void test_few_ranks_get_the_steps_that_their_verdict_needs(void **state)
{
	static const uint64_t steps_by_world[] = {0, 5, 16, 12, 5, 5};
	const struct ifp_option_list none = {NULL, 0};

	(void)state;
	for (uint32_t world = 1; world < 6; world++) {
		struct ifp_window_wishes wishes;

		assert_ok(ifp_agent_windows(&none, world, &wishes));
		assert_int_equal(wishes.items[0].count, steps_by_world[world]);
	}
}

static void test_counts_and_ranges_may_be_mixed(void **state)
{
	const char *items[] = {"7:7", "3", "200:205"};
	struct ifp_window_wishes wishes;

	(void)state;
	assert_ok(read_steps(items, 3, &wishes));
	assert_int_equal(wishes.count, 3);
	assert_int_equal(wishes.items[0].first, 7);
	assert_int_equal(wishes.items[0].count, 1);
	assert_int_equal(wishes.items[1].count, 3);
	assert_int_equal(wishes.items[2].first, 200);
	assert_int_equal(wishes.items[2].count, 6);
}

static void test_ranges_come_one_behind_the_other(void **state)
{
	const char *overlapping[] = {"10:20", "3", "20:25"};
	const char *backwards[] = {"200:205", "7:7"};
	struct ifp_window_wishes wishes;

	(void)state;
	assert_int_equal(read_steps(overlapping, 3, &wishes), -EINVAL);
	assert_non_null(strstr(ifp_error_cause(0), "--steps 20:25"));
	ifp_error_clear();
	assert_int_equal(read_steps(backwards, 2, &wishes), -EINVAL);
	assert_non_null(strstr(ifp_error_cause(0), "--steps 7:7"));
	ifp_error_clear();
}

static void test_zero_records_none(void **state)
{
	const char *items[] = {"0"};
	struct ifp_window_wishes wishes;

	(void)state;
	assert_ok(read_steps(items, 1, &wishes));
	assert_int_equal(wishes.count, 0);
}

static void test_anything_else_is_refused(void **state)
{
	const char *bad[] = {"", "x", "-1", "+3", "3x", "5:", ":5", "0:3", "9:8", "1:2:3", " 4",
		"99999999999999999999", "1:99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ifp_window_wishes wishes = {.count = 42};

		if (read_steps(&bad[i], 1, &wishes) != -EINVAL)
			fail_msg("--steps \"%s\" was taken", bad[i]);
		assert_int_equal(wishes.count, 42);
		ifp_error_clear();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_the_option_five_steps_are_recorded),
		cmocka_unit_test(test_few_ranks_get_the_steps_that_their_verdict_needs),
		cmocka_unit_test(test_counts_and_ranges_may_be_mixed),
		cmocka_unit_test(test_ranges_come_one_behind_the_other),
		cmocka_unit_test(test_zero_records_none),
		cmocka_unit_test(test_anything_else_is_refused),
	};

	return RUN_TESTS(tests);
}
