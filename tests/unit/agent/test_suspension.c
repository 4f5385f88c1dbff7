/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/suspension.h"
#include "core/time.h"

#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S

/* A look at a moment of MONOTONIC, that took so long; BOOTTIME is ahead by lead. */
static void look(struct ifp_suspension *suspension, int64_t at_ns, int64_t lead_ns, int64_t took_ns)
{
	ifp_suspension_take(suspension, at_ns, at_ns + took_ns / 2 + lead_ns, at_ns + took_ns);
}

static void test_time_spent_suspended_is_found(void **state)
{
	struct ifp_suspension suspension = {0};

	(void)state;
	look(&suspension, 100 * S, 3600 * S, 100); /* an hour before we came does not count */
	look(&suspension, 101 * S, 3600 * S, 100);
	assert_int_equal(suspension.count, 0);
	look(&suspension, 102 * S, 3605 * S, 100);
	look(&suspension, 103 * S, 3605 * S, 100);
	assert_int_equal(suspension.count, 1);
	assert_int_equal(suspension.last_low_ns, 5 * S - 100);
	assert_int_equal(suspension.last_high_ns, 5 * S + 100);
	look(&suspension, 104 * S, 3605 * S + 20 * MS, 100);
	assert_int_equal(suspension.count, 2);
	assert_int_equal(suspension.last_low_ns, 20 * MS - 100);
	assert_int_equal(suspension.last_high_ns, 20 * MS + 100);
}

/* On a busy machine a thread may lose the processor between the readings, the first time, too. */
static void test_a_slow_look_is_no_suspension(void **state)
{
	struct ifp_suspension suspension = {0};

	(void)state;
	look(&suspension, 100 * S, 0, 500 * MS);
	look(&suspension, 101 * S, 0, 100);
	look(&suspension, 102 * S, 0, 800 * MS);
	look(&suspension, 103 * S, 0, 100);
	assert_int_equal(suspension.count, 0);
	/* nor does one hide a suspension that is longer than itself */
	look(&suspension, 104 * S, 2 * S, 800 * MS);
	assert_int_equal(suspension.count, 1);
	look(&suspension, 105 * S, 2 * S, 100);
	assert_int_equal(suspension.count, 1);
}

static void test_this_machine_was_not_suspended_meanwhile(void **state)
{
	struct ifp_suspension suspension = {0};

	(void)state;
	for (int i = 0; i < 1000; i++)
		ifp_suspension_look(&suspension);
	assert_int_equal(suspension.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_spent_suspended_is_found),
		cmocka_unit_test(test_a_slow_look_is_no_suspension),
		cmocka_unit_test(test_this_machine_was_not_suspended_meanwhile),
	};

	return RUN_TESTS(tests);
}
