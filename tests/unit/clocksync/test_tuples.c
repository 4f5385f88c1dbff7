/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/tuples.h"
#include "core/cleanup.h"

#include "test.h"

#include <errno.h>

#define US IFP_NS_PER_US
#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S
/* REALTIME of the first tuple; RAW starts at 100 s, the TSC runs with 2.5 ticks a nanosecond. */
#define EPOCH (INT64_C(1796000000) * S)
#define RAW (100 * S)
#define TICKS(raw_ns) ((uint64_t)((raw_ns) / 2 * 5))

static struct ifp_clock_tuple tuple(int64_t raw_ns, int64_t realtime_ns)
{
	return (struct ifp_clock_tuple){raw_ns, realtime_ns, TICKS(raw_ns), 60};
}

/* One tuple a second; REALTIME gains 10 us a second. */
static void steady(struct ifp_clock_tuple *tuples, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		tuples[i] = tuple(RAW + i * S, EPOCH + i * (S + 10 * US));
}

static struct ifp_lines lines_of(struct ifp_clock_tuple *tuples, uint32_t count)
{
	struct ifp_clock_samples samples = {.tuples = tuples, .tuple_count = count};
	struct ifp_lines lines;

	assert_ok(ifp_lines_make(&samples, &lines));
	return lines;
}

static void stamps_between_tuples_are_interpolated(void **state)
{
	struct ifp_clock_tuple tuples[5];
	IFP_CLEANUP(ifp_lines_free) struct ifp_lines lines;

	(void)state;
	steady(tuples, 5);
	lines = lines_of(tuples, 5);
	assert_int_equal(lines.realtime.piece_count, 1);
	assert_int_equal(ifp_lines_raw(&lines, IFP_CLOCK_RAW, 12345), 12345);
	assert_int_equal(ifp_lines_raw(&lines, IFP_CLOCK_TSC, (int64_t)TICKS(RAW + 1234 * MS)),
		RAW + 1234 * MS);
	assert_int_equal(
		ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, EPOCH + 2 * (S + 10 * US)), RAW + 2 * S);
	assert_int_equal(
		ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, EPOCH + (S + 10 * US) / 2), RAW + S / 2);
	assert_int_equal(ifp_lines_realtime(&lines, RAW + S / 2), EPOCH + (S + 10 * US) / 2);
}

static void stamps_outside_follow_the_mean_slope(void **state)
{
	struct ifp_clock_tuple tuples[3];
	IFP_CLEANUP(ifp_lines_free) struct ifp_lines lines;

	(void)state;
	steady(tuples, 3);
	/* a second tuple right after the first, 50 ns off: alone it would give 50 ppm */
	tuples[1] = tuple(RAW + MS, EPOCH + MS + 50);
	lines = lines_of(tuples, 3);
	assert_int_equal(ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, EPOCH - (S + 10 * US)), RAW - S);
	assert_int_equal(
		ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, EPOCH + 4 * (S + 10 * US)), RAW + 4 * S);
	assert_int_equal(
		ifp_lines_raw(&lines, IFP_CLOCK_TSC, (int64_t)TICKS(RAW + 10 * S)), RAW + 10 * S);
}

/* The line through the two tuples around a stamp, without any rounding but the last. */
static int64_t exactly(const struct ifp_clock_tuple *before, int64_t stamp)
{
	__int128 run = (__int128)before[1].realtime_ns - before[0].realtime_ns;
	__int128 rise = (__int128)before[1].raw_ns - before[0].raw_ns;

	return before->raw_ns + (int64_t)(((stamp - before->realtime_ns) * rise + run / 2) / run);
}

/* Clocks that drift by -30 to 30 ppm, stamps near tuples and far from them, to the nanosecond. */
static void stamps_are_rounded_to_the_nearest(void **state)
{
	static const int64_t apart[] = {-29999, -3011, -1, 0, 1, 2, 777, 29997};
	struct ifp_clock_tuple tuples[IFP_ARRAY_SIZE(apart) + 1];
	uint32_t count = IFP_ARRAY_SIZE(tuples);
	IFP_CLEANUP(ifp_lines_free) struct ifp_lines lines;
	uint64_t seed = 1;

	(void)state;
	tuples[0] = tuple(RAW, EPOCH);
	for (uint32_t i = 1; i < count; i++)
		tuples[i] = tuple(
			tuples[i - 1].raw_ns + S, tuples[i - 1].realtime_ns + S + apart[i - 1]);
	lines = lines_of(tuples, count);
	assert_int_equal(lines.realtime.piece_count, 1);
	for (uint32_t i = 0; i + 1 < count; i++)
		for (uint32_t k = 0; k < 1000; k++) {
			int64_t stamp = tuples[i].realtime_ns;

			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			stamp += k < 10 ? k : (int64_t)((seed >> 33) % S);
			assert_int_equal(ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, stamp),
				exactly(tuples + i, stamp));
		}
}

static void wide_tuple_does_not_bend_the_line(void **state)
{
	struct ifp_clock_tuple tuples[5];
	IFP_CLEANUP(ifp_lines_free) struct ifp_lines lines;

	(void)state;
	steady(tuples, 5);
	tuples[2].raw_ns += 3 * MS; /* descheduled for 6 ms between the readings */
	tuples[2].width_ns = 6 * MS;
	lines = lines_of(tuples, 5);
	assert_int_equal(lines.realtime.piece_count, 1);
	assert_int_equal(
		ifp_lines_raw(&lines, IFP_CLOCK_TSC, (int64_t)TICKS(RAW + 2 * S)), RAW + 2 * S);
	assert_int_equal(
		ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, EPOCH + 2 * (S + 10 * US)), RAW + 2 * S);
}

/* REALTIME is set by step_ns between the third and the fourth of six tuples. */
static struct ifp_lines stepped(int64_t step_ns)
{
	struct ifp_clock_tuple tuples[6];

	steady(tuples, 6);
	for (int i = 3; i < 6; i++)
		tuples[i].realtime_ns += step_ns;
	return lines_of(tuples, 6);
}

static void step_breaks_the_line(void **state)
{
	const int64_t steps[] = {5 * MS, -5 * MS, 200 * US, 37 * S, -37 * S};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(steps); i++) {
		IFP_CLEANUP(ifp_lines_free) struct ifp_lines lines = stepped(steps[i]);

		assert_int_equal(lines.realtime.piece_count, 2);
		/* 0.2 s on either side of the gap in which the step happened, and in the gap */
		assert_int_equal(
			ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, EPOCH + 18 * (S + 10 * US) / 10),
			RAW + 1800 * MS);
		assert_int_equal(
			ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, EPOCH + 22 * (S + 10 * US) / 10),
			RAW + 2200 * MS);
		if (steps[i] > -S)
			assert_int_equal(ifp_lines_raw(&lines, IFP_CLOCK_REALTIME,
						 EPOCH + 32 * (S + 10 * US) / 10 + steps[i]),
				RAW + 3200 * MS);
		assert_int_equal(
			ifp_lines_realtime(&lines, RAW + 2 * S), EPOCH + 2 * (S + 10 * US));
		assert_int_equal(ifp_lines_realtime(&lines, RAW + 4 * S),
			EPOCH + 4 * (S + 10 * US) + steps[i]);
	}
}

/* NTP slews by 500 ppm for two seconds: bends, but is no step. */
static void slew_is_not_a_step(void **state)
{
	struct ifp_clock_tuple tuples[7];
	IFP_CLEANUP(ifp_lines_free) struct ifp_lines lines;
	const int64_t slewed[] = {0, 0, 0, 500, 1000, 1000, 1000};

	(void)state;
	steady(tuples, 7);
	for (int i = 0; i < 7; i++)
		tuples[i].realtime_ns += slewed[i] * US;
	lines = lines_of(tuples, 7);
	assert_int_equal(lines.realtime.piece_count, 1);
	assert_int_equal(
		ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, tuples[3].realtime_ns), RAW + 3 * S);
}

/* REALTIME after ns of RAW, when NTP slews it by 500 ppm from 2.5 to 4.5 s. */
static int64_t slewed(int64_t ns)
{
	int64_t from = 5 * S / 2, to = 9 * S / 2;
	int64_t inside = ns < from ? 0 : ns > to ? to - from : ns - from;

	return EPOCH + ns + inside * 500 / 1000000;
}

/*
 * Between the tuples around the moment when a slew begins or ends, nobody knows when that was: half
 * of the rate's change over half a second, at most. Elsewhere the line is exact.
 */
static void slew_bends_the_line_where_it_is(void **state)
{
	struct ifp_clock_tuple tuples[8];
	IFP_CLEANUP(ifp_lines_free) struct ifp_lines lines;

	(void)state;
	steady(tuples, 8);
	for (int i = 0; i < 8; i++)
		tuples[i].realtime_ns = slewed(i * S);
	lines = lines_of(tuples, 8);
	assert_int_equal(lines.realtime.piece_count, 1);
	for (int64_t ns = 0; ns <= 7 * S; ns += 10 * IFP_NS_PER_MS) {
		int64_t raw_ns = ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, slewed(ns));
		int64_t error_ns = llabs(raw_ns - RAW - ns);
		bool bends = ns / S == 2 || ns / S == 4;

		assert_in_range(error_ns, 0, bends ? 125 * US : 2);
	}
}

static void one_tuple_gives_slope_one(void **state)
{
	struct ifp_clock_tuple tuples[1] = {tuple(RAW, EPOCH)};
	IFP_CLEANUP(ifp_lines_free) struct ifp_lines lines = lines_of(tuples, 1);

	(void)state;
	assert_int_equal(ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, EPOCH + 5 * S), RAW + 5 * S);
}

static void no_tuple_gives_no_lines(void **state)
{
	struct ifp_clock_samples none = {0};
	struct ifp_lines lines;

	(void)state;
	assert_int_equal(ifp_lines_make(&none, &lines), -ENODATA);
}

/* A damaged archive may hold anything: extremes neither overflow nor divide by zero. */
static void absurd_tuples_are_survived(void **state)
{
	struct ifp_clock_tuple tuples[] = {
		{INT64_MIN, INT64_MAX, 1, 0},
		{0, 0, UINT64_MAX, INT64_MAX},
		{0, INT64_MIN, 1, -5},
		{0, INT64_MIN, 1, 0},
		{INT64_MAX, INT64_MAX, 7, 0},
	};
	IFP_CLEANUP(ifp_lines_free) struct ifp_lines lines = lines_of(tuples, 5);

	(void)state;
	assert_int_equal(ifp_lines_raw(&lines, IFP_CLOCK_TSC, 7), INT64_MAX);
	ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, INT64_MIN);
	ifp_lines_raw(&lines, IFP_CLOCK_REALTIME, INT64_MAX);
	ifp_lines_realtime(&lines, INT64_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stamps_between_tuples_are_interpolated),
		cmocka_unit_test(stamps_outside_follow_the_mean_slope),
		cmocka_unit_test(stamps_are_rounded_to_the_nearest),
		cmocka_unit_test(wide_tuple_does_not_bend_the_line),
		cmocka_unit_test(step_breaks_the_line),
		cmocka_unit_test(slew_is_not_a_step),
		cmocka_unit_test(slew_bends_the_line_where_it_is),
		cmocka_unit_test(one_tuple_gives_slope_one),
		cmocka_unit_test(no_tuple_gives_no_lines),
		cmocka_unit_test(absurd_tuples_are_survived),
	};

	return RUN_TESTS(tests);
}
