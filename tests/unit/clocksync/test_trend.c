/* SPDX-License-Identifier: Apache-2.0 */
/* A clock's line out of readings with noise, outliers, biases of their kinds, and jumps. */
#include "clocksync/estimate/trend.h"
#include "core/cleanup.h"
#include "core/time.h"

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define US IFP_NS_PER_US
#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S
#define MOST 400

static struct ifp_trend_reading readings[MOST];

/* Linear congruential numbers are random enough for noise. */
static double random_between(double low, double high)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return low + (high - low) * (double)(state >> 11) * 0x1p-53;
}

static void fill(uint32_t count, double rate, double noise_ns)
{
	for (uint32_t i = 0; i < count; i++) {
		int64_t at_ns = 100 * S + i * 10 * MS;

		readings[i] = (struct ifp_trend_reading){.at_ns = at_ns,
			.offset_ns = 7 * S + llround(rate * (double)(at_ns - 100 * S)) +
				     llround(random_between(-noise_ns, noise_ns)),
			.scale_ns = 1000};
	}
}

static int64_t line_ns(double rate, int64_t at_ns)
{
	return 7 * S + llround(rate * (double)(at_ns - 100 * S));
}

static void a_straight_line_is_found_to_the_nanosecond(void **state)
{
	struct ifp_trend trend;

	(void)state;
	fill(100, 500e-6, 0);
	assert_ok(ifp_trend_fit(readings, 100, &trend));
	assert_int_equal(trend.count, 100);
	for (uint32_t i = 0; i < trend.count; i++) {
		const struct ifp_trend_point *p = &trend.points[i];

		assert_int_equal(p->at_ns, readings[i].at_ns);
		assert_in_range(p->offset_ns - line_ns(500e-6, p->at_ns) + 1, 0, 2);
		assert_float_equal(p->rate, 500e-6, 1e-8);
		assert_false(p->stepped);
	}
	ifp_trend_free(&trend);
}

static void one_reading_is_a_line_without_slope(void **state)
{
	struct ifp_trend trend;

	(void)state;
	fill(1, 0, 0);
	assert_ok(ifp_trend_fit(readings, 1, &trend));
	assert_int_equal(trend.count, 1);
	assert_int_equal(trend.points[0].offset_ns, 7 * S);
	assert_true(trend.points[0].rate == 0);
	ifp_trend_free(&trend);
}

static void outliers_do_not_move_the_line(void **state)
{
	struct ifp_trend trend;

	(void)state;
	fill(200, 20e-6, 500);
	for (uint32_t i = 3; i < 200; i += 10)
		readings[i].offset_ns += 200 * US;
	assert_ok(ifp_trend_fit(readings, 200, &trend));
	for (uint32_t i = 0; i < trend.count; i++)
		assert_true(llabs(trend.points[i].offset_ns -
				    line_ns(20e-6, trend.points[i].at_ns)) < 300);
	ifp_trend_free(&trend);
}

/* Three of four readings are 60 us late, and noisy: the fourth ones decide. */
static void kinds_that_scatter_little_decide(void **state)
{
	struct ifp_trend trend;

	(void)state;
	fill(200, -20e-6, 100);
	for (uint32_t i = 0; i < 200; i++) {
		if (i % 4) {
			readings[i].offset_ns += (int64_t)random_between(50e3, 70e3);
			readings[i].scale_ns = 100e3;
		} else {
			readings[i].kind = 1;
		}
	}
	assert_ok(ifp_trend_fit(readings, 200, &trend));
	for (uint32_t i = 0; i < trend.count; i++)
		assert_true(llabs(trend.points[i].offset_ns -
				    line_ns(-20e-6, trend.points[i].at_ns)) < 400);
	ifp_trend_free(&trend);
}

/* The rank that comes last leaves 9 us later than the others: of no consequence where both happen.
 */
static void who_came_last_is_taken_into_account(void **state)
{
	struct ifp_trend trend;

	(void)state;
	fill(200, 0, 500);
	for (uint32_t i = 0; i < 200; i++) {
		readings[i].side = i % 8 == 5 ? -1 : 1;
		readings[i].offset_ns += readings[i].side * 9 * US;
		readings[i].scale_ns = 12e3;
	}
	assert_ok(ifp_trend_fit(readings, 200, &trend));
	for (uint32_t i = 0; i < trend.count; i++)
		assert_true(llabs(trend.points[i].offset_ns - 7 * S) < 500);
	ifp_trend_free(&trend);
}

/* A bias that all readings may have in common is in sigma, however many there are. */
static void sigma_tells_what_a_common_bias_may_be(void **state)
{
	struct ifp_trend trend;

	(void)state;
	fill(400, 0, 100);
	for (uint32_t i = 0; i < 400; i++)
		readings[i].scale_ns = 5000;
	assert_ok(ifp_trend_fit(readings, 400, &trend));
	assert_in_range((int)trend.points[0].sigma_ns, 4500, 5500);
	ifp_trend_free(&trend);
}

static void jumps_are_found_where_they_are(void **state)
{
	uint32_t steps[IFP_TREND_STEPS_MAX];
	struct ifp_trend trend;

	(void)state;
	fill(200, 500e-6, 3000);
	for (uint32_t i = 70; i < 200; i++)
		readings[i].offset_ns += 300 * US;
	for (uint32_t i = 150; i < 200; i++)
		readings[i].offset_ns -= 5 * S;
	assert_int_equal(ifp_trend_find_steps(readings, 200, steps), 2);
	assert_int_equal(steps[0], 70);
	assert_int_equal(steps[1], 150);
	assert_ok(ifp_trend_fit(readings, 200, &trend));
	for (uint32_t i = 0; i < trend.count; i++) {
		const struct ifp_trend_point *p = &trend.points[i];
		int64_t jumped_ns = (i >= 70 ? 300 * US : 0) - (i >= 150 ? 5 * S : 0);

		assert_true(llabs(p->offset_ns - jumped_ns - line_ns(500e-6, p->at_ns)) < 2000);
		assert_int_equal(p->stepped, i == 70 || i == 150);
		assert_int_equal(p->piece_first, i < 70 ? 0 : i < 150 ? 70 : 150);
		assert_int_equal(p->piece_last, i < 70 ? 69 : i < 150 ? 149 : 199);
	}
	ifp_trend_free(&trend);
}

static void noise_and_drift_are_no_jumps(void **state)
{
	uint32_t steps[IFP_TREND_STEPS_MAX];

	(void)state;
	fill(400, 0, 50e3);
	assert_int_equal(ifp_trend_find_steps(readings, 400, steps), 0);
	fill(400, 0, 100);
	for (uint32_t i = 200; i < 400; i++) { /* ten minutes without a reading, at 30 ppm */
		readings[i].at_ns += 600 * S;
		readings[i].offset_ns += 18 * MS;
	}
	assert_int_equal(ifp_trend_find_steps(readings, 400, steps), 0);
}

/* ------ two exchanges 600 s apart, and the program's collectives in between ------ */

#define NODES 8
#define SPAN_S 600
#define PER_S 10
#define READINGS (SPAN_S * PER_S + 2)

static struct ifp_trend_reading between[READINGS];
static double truth_ns[READINGS];

/* 20 ppm, 0.1 ppm of wander with a period of 300 s, and a rate that walks at random. */
static void run_clock(void)
{
	double rate = random_between(-20e3, 20e3), walk = 0, offset = random_between(-5e9, 5e9);
	double phase = random_between(0, 6.28);

	for (uint32_t i = 0; i < READINGS; i++) {
		double t = (double)i / PER_S;

		truth_ns[i] = offset;
		walk += random_between(-1, 1) * sqrt(3.0 / PER_S);
		offset += (rate + walk + 100 * sin(6.283 * t / 300 + phase)) / PER_S;
	}
}

/* Ends with a bias of their kind of up to 10 us, 1 us of noise, and some up to 200 us late. */
static void read_clock(void)
{
	double bias_ns[4];

	for (int k = 0; k < 4; k++)
		bias_ns[k] = random_between(0, 10e3);
	for (uint32_t i = 0; i < READINGS; i++) {
		bool exchange = i == 0 || i + 1 == READINGS;
		double noise =
			-1000 * log(random_between(1e-9, 1)) + 1000 * log(random_between(1e-9, 1));

		if (random_between(0, 1) < 0.01)
			noise += random_between(0, 200e3);
		between[i] = (struct ifp_trend_reading){.at_ns = i * (S / PER_S),
			.kind = exchange ? IFP_TREND_EXACT : i % 4,
			.scale_ns = exchange ? 20 : 10e3};
		between[i].offset_ns = llround(truth_ns[i] + (exchange ? random_between(-20, 20)
								       : bias_ns[i % 4] + noise));
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void collectives_between_two_exchanges_tell_how_the_clock_wandered(void **state)
{
	static double errors[NODES * READINGS], straight[NODES * READINGS];
	uint32_t n = 0;

	(void)state;
	for (int node = 0; node < NODES; node++) {
		struct ifp_trend trend;

		run_clock();
		read_clock();
		assert_ok(ifp_trend_fit(between, READINGS, &trend));
		for (uint32_t i = 0; i < trend.count; i++, n++) {
			uint32_t k = (uint32_t)(trend.points[i].at_ns / (S / PER_S));
			double share = (double)k / (READINGS - 1);

			errors[n] = fabs((double)trend.points[i].offset_ns - truth_ns[k]);
			straight[n] =
				fabs(truth_ns[0] + share * (truth_ns[READINGS - 1] - truth_ns[0]) -
					truth_ns[k]);
		}
		ifp_trend_free(&trend);
	}
	qsort(errors, n, sizeof(*errors), compare_doubles);
	qsort(straight, n, sizeof(*straight), compare_doubles);
	printf("p50 %.0f ns, p99 %.0f ns; a straight line: %.0f, %.0f\n", errors[n / 2],
		errors[n * 99 / 100], straight[n / 2], straight[n * 99 / 100]);
	assert_true(errors[n * 99 / 100] < 1000);
	assert_true(straight[n * 99 / 100] > 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_straight_line_is_found_to_the_nanosecond),
		cmocka_unit_test(one_reading_is_a_line_without_slope),
		cmocka_unit_test(outliers_do_not_move_the_line),
		cmocka_unit_test(kinds_that_scatter_little_decide),
		cmocka_unit_test(who_came_last_is_taken_into_account),
		cmocka_unit_test(sigma_tells_what_a_common_bias_may_be),
		cmocka_unit_test(jumps_are_found_where_they_are),
		cmocka_unit_test(noise_and_drift_are_no_jumps),
		cmocka_unit_test(collectives_between_two_exchanges_tell_how_the_clock_wandered),
	};

	return RUN_TESTS(tests);
}
