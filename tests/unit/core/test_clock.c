/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"

#include "test.h"

static void readings_never_go_back(void **state)
{
	int64_t last_ns = ifp_clock_raw_ns();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t now_ns = i % 2 ? ifp_clock_raw_ns() : ifp_clock_raw_fenced_ns();

		assert_true(now_ns >= last_ns);
		last_ns = now_ns;
	}
}

static void a_tuple_lies_between_the_readings_around_it(void **state)
{
	int64_t raw_before_ns = ifp_clock_raw_ns(), real_before_ns = ifp_clock_realtime_ns();
	struct ifp_clock_tuple tuple = ifp_clock_tuple_read();

	(void)state;
	assert_in_range(tuple.raw_ns, raw_before_ns, ifp_clock_raw_ns());
	assert_in_range(tuple.realtime_ns, real_before_ns, ifp_clock_realtime_ns());
	assert_true(tuple.width_ns >= 0);
	assert_int_equal(tuple.tsc_ticks != 0, ifp_clock_tsc_usable());
}

/* Two tuples give the rate of the TSC; both ways to it must agree to 1 %. */
static void tsc_frequency_is_what_the_tuples_say(void **state)
{
	struct ifp_clock_tuple first = ifp_clock_tuple_read(), last;
	double hz;

	(void)state;
	if (!ifp_clock_tsc_usable()) {
		assert_int_equal(ifp_clock_tsc_hz(), 0);
		return;
	}
	while (ifp_clock_raw_ns() < first.raw_ns + 5 * IFP_NS_PER_MS)
		;
	last = ifp_clock_tuple_read();
	hz = (double)(last.tsc_ticks - first.tsc_ticks) * 1e9 /
	     (double)(last.raw_ns - first.raw_ns);
	assert_true(hz > 1e8);
	assert_true((double)ifp_clock_tsc_hz() > hz * 0.99);
	assert_true((double)ifp_clock_tsc_hz() < hz * 1.01);
}

static void the_identity_is_that_of_this_boot(void **state)
{
	struct ifp_clock_identity a = ifp_clock_identity_read(), b = ifp_clock_identity_read();

	(void)state;
	assert_int_equal(strlen(a.boot_id), 36);
	assert_string_equal(a.boot_id, b.boot_id);
	assert_int_equal(a.time_namespace, b.time_namespace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readings_never_go_back),
		cmocka_unit_test(a_tuple_lies_between_the_readings_around_it),
		cmocka_unit_test(tsc_frequency_is_what_the_tuples_say),
		cmocka_unit_test(the_identity_is_that_of_this_boot),
	};

	return RUN_TESTS(tests);
}
