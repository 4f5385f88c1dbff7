/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/clock_schedule.h"
#include "core/time.h"

#include "test.h"

#define S IFP_NS_PER_S

/* An exchange at a moment of the client's clock, whose interval is offset +- half. */
static struct ifp_clock_edge edge_at(int64_t at_ns, int64_t offset_ns, int64_t half_ns)
{
	return (struct ifp_clock_edge){
		.round_trips = 8,
		.low_ns = offset_ns - half_ns,
		.high_ns = offset_ns + half_ns,
		.best_t1_ns = at_ns - half_ns,
		.best_t2_ns = at_ns + offset_ns,
		.best_t3_ns = at_ns + offset_ns,
		.best_t4_ns = at_ns + half_ns,
	};
}

/* A server that drifts by ppm from an offset of minutes; so many exchanges, a second apart. */
static double drift(struct ifp_clock_past *past, int64_t ppm, int count)
{
	double surprise = -1;

	for (int i = 0; i < count; i++) {
		struct ifp_clock_edge edge =
			edge_at(1000 * S + i * S, 137 * S + i * ppm * 1000, 10000);

		surprise = ifp_clock_past_add(past, &edge);
	}
	return surprise;
}

static void steady_drift_is_no_surprise(void **state)
{
	struct ifp_clock_past past = {0};
	struct ifp_clock_edge edge;

	(void)state;
	assert_true(drift(&past, 50, 1) < 0);
	past = (struct ifp_clock_past){0};
	assert_true(drift(&past, 50, 2) < 0);
	past = (struct ifp_clock_past){0};
	assert_true(drift(&past, 50, 3) >= 0);
	past = (struct ifp_clock_past){0};
	assert_true(drift(&past, 50, 100) < 0.01);
	/* also a minute later: 99 s + 60 s behind the first one */
	edge = edge_at(1159 * S, 137 * S + 159 * 50000, 10000);
	assert_true(ifp_clock_past_add(&past, &edge) < 0.01);
}

/* 5 us off a prediction that is good to 10 us says little; 50 us say that the clock has jumped. */
static void surprise_is_measured_by_what_the_exchange_can_see(void **state)
{
	struct ifp_clock_past past = {0};
	struct ifp_clock_edge edge = edge_at(1010 * S, 137 * S + 500000 + 5250, 10000);

	(void)state;
	drift(&past, 50, 10);
	assert_float_equal(ifp_clock_past_add(&past, &edge), 0.25, 1e-3);
	past = (struct ifp_clock_past){0};
	drift(&past, 50, 10);
	edge = edge_at(1010 * S, 137 * S + 500000 - 52500, 10000);
	assert_float_equal(ifp_clock_past_add(&past, &edge), 2.5, 1e-3);
	/* the past is forgotten: nothing to judge by before two more */
	edge = edge_at(1011 * S, 137 * S, 10000);
	assert_true(ifp_clock_past_add(&past, &edge) < 0);
}

static void interval_doubles_and_halves_between_its_limits(void **state)
{
	static const struct step {
		double surprise;
		int interval_s; /* afterwards */
	} steps[] = {{-1, 1}, {-1, 1}, {0, 2}, {0.2, 4}, {0.3, 4}, {1, 4}, {0, 8}, {0, 16}, {0, 30},
		{0, 30}, {1.1, 15}, {5, 7}, {2, 3}, {2, 1}, {2, 1}};
	struct ifp_clock_schedule schedule;
	int64_t now_ns = 100 * S;

	(void)state;
	ifp_clock_schedule_init(&schedule, 30 * S);
	assert_false(ifp_clock_schedule_due(&schedule, now_ns));
	for (size_t i = 0; i < IFP_ARRAY_SIZE(steps); i++) {
		ifp_clock_schedule_made(&schedule, steps[i].surprise, 12, now_ns, now_ns);
		assert_int_equal(schedule.interval_ns / S, steps[i].interval_s);
		now_ns += schedule.interval_ns;
		assert_false(ifp_clock_schedule_due(&schedule, now_ns - 1));
		assert_true(ifp_clock_schedule_due(&schedule, now_ns));
	}
}

static void exchange_that_takes_long_is_followed_by_a_pause(void **state)
{
	struct ifp_clock_schedule schedule;

	(void)state;
	ifp_clock_schedule_init(&schedule, 30 * S);
	ifp_clock_schedule_made(&schedule, -1, 12, 100 * S, 110 * S);
	assert_true(schedule.due_ns == 110 * S + S / 2);
}

static void zero_is_never(void **state)
{
	struct ifp_clock_schedule schedule;

	(void)state;
	ifp_clock_schedule_init(&schedule, 0);
	ifp_clock_schedule_made(&schedule, 2, 12, S, S);
	ifp_clock_schedule_hurry(&schedule, S);
	assert_false(ifp_clock_schedule_due(&schedule, INT64_MAX - 1));
}

static void user_may_want_less_than_a_second(void **state)
{
	struct ifp_clock_schedule schedule;

	(void)state;
	ifp_clock_schedule_init(&schedule, S / 5);
	ifp_clock_schedule_made(&schedule, 0, 12, S, S);
	assert_true(schedule.due_ns == S + S / 5);
	ifp_clock_schedule_init(&schedule, 1);
	ifp_clock_schedule_made(&schedule, 0, 12, S, S);
	assert_true(schedule.due_ns == S + S / 10);
}

static void window_brings_the_next_exchange_forward(void **state)
{
	struct ifp_clock_schedule schedule;

	(void)state;
	ifp_clock_schedule_init(&schedule, 30 * S);
	for (int i = 0; i < 10; i++)
		ifp_clock_schedule_made(&schedule, 0, 12, 100 * S, 100 * S);
	assert_true(schedule.due_ns == 130 * S);
	ifp_clock_schedule_hurry(&schedule, 105 * S);
	ifp_clock_schedule_hurry(&schedule, 105 * S + S / 2);
	assert_true(schedule.due_ns == 106 * S);
}

/* Clocks that never do as predicted: a month of them still fits an archive. */
static void long_run_stores_ever_less_often(void **state)
{
	struct ifp_clock_schedule schedule;
	int64_t now_ns = 0, hour_ns = 3600 * S;
	uint64_t in_an_hour = 0;

	(void)state;
	ifp_clock_schedule_init(&schedule, 30 * S);
	while (now_ns < 720 * hour_ns) {
		ifp_clock_schedule_made(&schedule, 2, 12, now_ns, now_ns);
		in_an_hour += now_ns < hour_ns ? 12 : 0;
		now_ns = schedule.due_ns;
	}
	assert_int_equal(in_an_hour, 3600 * 12);
	/* 31 million edges at full pace; the interval has doubled six times */
	assert_in_range(schedule.edges, 6 * IFP_CLOCK_SCHEDULE_EDGES, 7 * IFP_CLOCK_SCHEDULE_EDGES);
	assert_int_equal(schedule.interval_ns / S, 64);
}

/* 1,024 clocks have 5,120 pairs: never more than 512 edges a second. */
static void large_job_is_compared_less_often(void **state)
{
	struct ifp_clock_schedule schedule;

	(void)state;
	ifp_clock_schedule_init(&schedule, 30 * S);
	ifp_clock_schedule_made(&schedule, 2, 5120, S, S);
	assert_int_equal((schedule.due_ns - S) / IFP_NS_PER_MS, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steady_drift_is_no_surprise),
		cmocka_unit_test(surprise_is_measured_by_what_the_exchange_can_see),
		cmocka_unit_test(interval_doubles_and_halves_between_its_limits),
		cmocka_unit_test(exchange_that_takes_long_is_followed_by_a_pause),
		cmocka_unit_test(zero_is_never),
		cmocka_unit_test(user_may_want_less_than_a_second),
		cmocka_unit_test(window_brings_the_next_exchange_forward),
		cmocka_unit_test(long_run_stores_ever_less_often),
		cmocka_unit_test(large_job_is_compared_less_often),
	};

	return RUN_TESTS(tests);
}
