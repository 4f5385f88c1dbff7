/* SPDX-License-Identifier: Apache-2.0 */
/* Job time while the run is going on: close, without steps, and never backwards. */
#include "clocksync/estimate/servo.h"
#include "core/cleanup.h"

#include "test.h"

#include <math.h>

#define S IFP_NS_PER_S
#define LOCAL (INT64_C(90000) * S)

static void servo_release(struct ifp_servo **servo)
{
	ifp_servo_free(*servo);
}

/* Job time is local time less 5 s less what the clock has drifted since LOCAL. */
static int64_t job_time(int64_t local_ns, double drift_ns)
{
	return local_ns - 5 * S - llround(drift_ns);
}

static void observe(struct ifp_servo *servo, int64_t t_s, double drift_ns, int64_t next_s)
{
	ifp_servo_observe(
		servo, (ifp_local_ns){LOCAL + t_s * S}, 5 * S + llround(drift_ns), next_s * S);
}

static int64_t error_ns(const struct ifp_servo *servo, int64_t local_ns, double drift_ns)
{
	return ifp_servo_global(servo, (ifp_local_ns){local_ns}).ns - job_time(local_ns, drift_ns);
}

static void first_observation_sets_the_time(void **state)
{
	IFP_CLEANUP(servo_release) struct ifp_servo *servo = ifp_servo_new();

	(void)state;
	assert_int_equal(ifp_servo_global(servo, (ifp_local_ns){LOCAL}).ns, LOCAL);
	observe(servo, 0, 0, 10);
	assert_int_equal(error_ns(servo, LOCAL, 0), 0);
	assert_int_equal(error_ns(servo, LOCAL + 10 * S, 0), 0);
	assert_true(ifp_servo_rate(servo) == 0);
}

static void steady_drift_is_followed(void **state)
{
	IFP_CLEANUP(servo_release) struct ifp_servo *servo = ifp_servo_new();

	(void)state;
	for (int64_t t = 0; t <= 100; t += 10)
		observe(servo, t, 20000.0 * (double)t, 10);
	assert_true(fabs(ifp_servo_rate(servo) - 20e-6) < 1e-11);
	for (int64_t t = 100; t < 130; t++)
		assert_in_range(error_ns(servo, LOCAL + t * S, 20000.0 * (double)t) + 1, 0, 2);
}

/* The rate changes steadily: lines are always late, a parabola is not and wins. */
static void parabola_wins_where_rates_change(void **state)
{
	IFP_CLEANUP(servo_release) struct ifp_servo *servo = ifp_servo_new();

	(void)state;
	for (int64_t t = 0; t <= 200; t += 10)
		observe(servo, t, 2.0 * (double)(t * t), 10);
	/* a line through the last two would be 2 * 10 * 10 * 2 = 400 ns off at the end */
	assert_in_range(error_ns(servo, LOCAL + 210 * S - 1, 2.0 * 210 * 210) + 5, 0, 10);
	/* half way the chord is 2 * 5 * 5 off */
	assert_in_range(error_ns(servo, LOCAL + 205 * S, 2.0 * 205 * 205) + 60, 0, 120);
}

/* Noise alone: the long line is calmer than the short one. */
static void long_line_wins_where_observations_scatter(void **state)
{
	IFP_CLEANUP(servo_release) struct ifp_servo *servo = ifp_servo_new();
	const double noise_ns[] = {80, -100, 20, -60, 90, -40, 100, -90, 50, -20};
	int64_t worst_ns = 0;

	(void)state;
	for (int64_t k = 0; k < 60; k++) {
		observe(servo, k * 10, noise_ns[k % 10], 10);
		if (k > 20) {
			int64_t off_ns = llabs(error_ns(servo, LOCAL + k * 10 * S + 9 * S, 0));

			worst_ns = off_ns > worst_ns ? off_ns : worst_ns;
		}
	}
	/* the last two alone would be up to 100 + 190 off */
	assert_true(worst_ns < 140);
}

/* A correction of 3 ms takes 6 s; time goes on all the while, without a step. */
static void time_never_steps_or_runs_backwards(void **state)
{
	const double corrections_ns[] = {0, 3e6, -3e6, 2e6, 1, -1, 499, -7e6};
	IFP_CLEANUP(servo_release) struct ifp_servo *servo = ifp_servo_new();
	int64_t last_ns = 0;

	(void)state;
	for (int64_t k = 0; k < 8; k++) {
		observe(servo, k * 10, corrections_ns[k], 10);
		for (int64_t t = 0; t < 1000; t++) {
			int64_t local_ns = LOCAL + k * 10 * S + t * S / 100;
			int64_t now_ns = ifp_servo_global(servo, (ifp_local_ns){local_ns}).ns;

			/* 10 ms have passed: 1 % and 500 ppm more or less at most */
			if (last_ns)
				assert_in_range(now_ns - last_ns, 9890000, 10110000);
			last_ns = now_ns;
		}
	}
}

static void every_nanosecond_counts(void **state)
{
	IFP_CLEANUP(servo_release) struct ifp_servo *servo = ifp_servo_new();
	int64_t last_ns;

	(void)state;
	observe(servo, 0, 0, 10);
	observe(servo, 10, 1000, 10);
	last_ns = ifp_servo_global(servo, (ifp_local_ns){LOCAL + 10 * S}).ns;
	/* over the end of the slew, 1 us at 500 ppm: 2 ms */
	for (int64_t ns = 1; ns < 3000000; ns++) {
		int64_t now_ns = ifp_servo_global(servo, (ifp_local_ns){LOCAL + 10 * S + ns}).ns;

		if (now_ns < last_ns || now_ns > last_ns + 2)
			fail_msg("%lld after %lld", (long long)now_ns, (long long)last_ns);
		last_ns = now_ns;
	}
	assert_int_equal(error_ns(servo, LOCAL + 10 * S + 2000000, 1000.2), 0);
}

static void late_observation_is_left_out(void **state)
{
	IFP_CLEANUP(servo_release) struct ifp_servo *servo = ifp_servo_new();

	(void)state;
	observe(servo, 10, 0, 10);
	observe(servo, 10, 5000, 10);
	observe(servo, 4, 5000, 10);
	assert_int_equal(error_ns(servo, LOCAL + 12 * S, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_observation_sets_the_time),
		cmocka_unit_test(steady_drift_is_followed),
		cmocka_unit_test(parabola_wins_where_rates_change),
		cmocka_unit_test(long_line_wins_where_observations_scatter),
		cmocka_unit_test(time_never_steps_or_runs_backwards),
		cmocka_unit_test(every_nanosecond_counts),
		cmocka_unit_test(late_observation_is_left_out),
	};

	return RUN_TESTS(tests);
}
