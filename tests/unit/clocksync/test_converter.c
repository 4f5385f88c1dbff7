/* SPDX-License-Identifier: Apache-2.0 */
/* The fast way to job time against the one that works every stamp out. */
#include "clocksync/estimate/converter.h"
#include "clocksync/sim/sim.h"

#include "test.h"

#include <stdlib.h>

#define S IFP_NS_PER_S
#define SECONDS 60
#define STAMPS 200000

struct job {
	struct ifp_sim sim;
	struct ifp_clock_solution *solution;
	const struct ifp_clock_map *map; /* of rank 1 */
	struct ifp_clock_converter converter;
};

/* Clocks that drift and wander; REALTIME is 100 ppm off, and set by a second at half time. */
static void start(struct job *job, int64_t step_ns)
{
	struct ifp_sim_clock *clock;

	assert_ok(ifp_sim_new(7, 2, 1, &job->sim));
	clock = &job->sim.clocks[1];
	clock->offset_ns = 137 * S;
	clock->drift_ppm = 45;
	clock->wander_ppm = 2;
	clock->wander_period_s = 20;
	clock->realtime_drift_ppm = 100;
	clock->step_ns = step_ns;
	clock->step_at = (ifp_true_ns){SECONDS / 2 * S + S / 3};
	job->sim.network = (struct ifp_sim_network){.floor_ns = 10000, .jitter_ns = 1000};
	assert_ok(ifp_sim_tuples(&job->sim, (ifp_true_ns){0}, (ifp_true_ns){SECONDS * S}, S));
	for (uint32_t i = 0; i <= SECONDS; i++)
		ifp_sim_epoch(&job->sim, i, 32, (ifp_true_ns){i * S}, 0);
	assert_ok(ifp_clock_solve(job->sim.ranks, 2, &job->solution));
	job->map = ifp_clock_solution_map(job->solution, 1);
	ifp_clock_converter_init(&job->converter, job->map);
}

static void stop(struct job *job)
{
	ifp_clock_solution_free(&job->solution);
	ifp_sim_free(&job->sim);
}

static int64_t stamp_of(const struct job *job, enum ifp_clock_domain domain, ifp_true_ns at)
{
	const struct ifp_sim_clock *clock = &job->sim.clocks[1];

	return domain == IFP_CLOCK_TSC	      ? ifp_sim_tsc(clock, at)
	       : domain == IFP_CLOCK_REALTIME ? ifp_sim_realtime(clock, at)
					      : ifp_sim_raw(clock, at);
}

static int64_t difference(struct job *job, enum ifp_clock_domain domain, int64_t stamp)
{
	return ifp_clock_convert(&job->converter, domain, stamp).ns -
	       ifp_clock_map_global(job->map, domain, stamp).ns;
}

/* Also before the first tuple and behind the last. */
static void every_clock_is_converted_to_3_ns(void **state)
{
	struct job job;

	(void)state;
	for (int step = 0; step < 3; step++) {
		start(&job, (step - 1) * S);
		for (int i = 0; i < STAMPS; i++) {
			ifp_true_ns at = {(int64_t)((ifp_sim_random(&job.sim) * 1.2 - 0.1) *
						    SECONDS * (double)S)};

			for (enum ifp_clock_domain domain = 0; domain < IFP_CLOCK_DOMAIN_MAX;
				domain++)
				assert_in_range(
					difference(&job, domain, stamp_of(&job, domain, at)) + 3, 0,
					6);
		}
		stop(&job);
	}
}

/* Also those of REALTIME, which count from 1970: else each would be worked out. */
static void stamps_of_today_lie_on_a_line(void **state)
{
	struct job job;

	(void)state;
	start(&job, 0);
	for (enum ifp_clock_domain domain = 0; domain < IFP_CLOCK_DOMAIN_MAX; domain++) {
		int64_t stamp = stamp_of(&job, domain, (ifp_true_ns){10 * S + S / 2});
		int64_t number = stamp >> IFP_CONVERTER_SHIFT;
		const struct ifp_clock_cell *cell =
			ifp_clock_converter_cell(&job.converter, domain, number);

		ifp_clock_convert(&job.converter, domain, stamp);
		assert_true(cell->number == number);
		assert_true(cell->rise_ns > 0);
	}
	stop(&job);
}

static void time_does_not_run_backwards(void **state)
{
	struct job job;
	int64_t last = INT64_MIN, from;

	(void)state;
	start(&job, 0);
	from = stamp_of(&job, IFP_CLOCK_TSC, (ifp_true_ns){10 * S});
	for (int i = 0; i < STAMPS; i++) { /* 0.2 s: twenty cells and more */
		int64_t ns = ifp_clock_convert(&job.converter, IFP_CLOCK_TSC, from + i * 2500).ns;

		assert_true(ns >= last);
		last = ns;
	}
	stop(&job);
}

static void result_does_not_depend_on_what_came_before(void **state)
{
	struct job job;
	struct ifp_clock_converter other;

	(void)state;
	start(&job, S);
	ifp_clock_converter_init(&other, job.map);
	for (int i = 0; i < STAMPS; i++) {
		int64_t at_ns = (int64_t)(ifp_sim_random(&job.sim) * SECONDS * (double)S);
		int64_t stamp = stamp_of(&job, IFP_CLOCK_TSC, (ifp_true_ns){at_ns});

		if (i % 3 == 0)
			ifp_clock_converter_init(&other, job.map);
		assert_true(ifp_clock_convert(&job.converter, IFP_CLOCK_TSC, stamp).ns ==
			    ifp_clock_convert(&other, IFP_CLOCK_TSC, stamp).ns);
	}
	stop(&job);
}

/* The reference's own clock is the job's time: to the nanosecond, at any distance. */
static void what_needs_no_conversion_stays_as_it_is(void **state)
{
	static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1,
		INT64_MAX, INT64_C(3) << 60, -(INT64_C(3) << 60), (INT64_C(3) << 60) - 1};
	struct ifp_clock_converter converter;
	struct job job;

	(void)state;
	start(&job, 0);
	ifp_clock_converter_init(&converter, ifp_clock_solution_map(job.solution, 0));
	for (int i = 0; i < STAMPS; i++) {
		int64_t stamp = ifp_sim_random_within(&job.sim, INT64_C(1) << 59);

		assert_true(ifp_clock_convert(&converter, IFP_CLOCK_RAW, stamp).ns == stamp);
	}
	for (size_t i = 0; i < IFP_ARRAY_SIZE(extremes); i++)
		for (enum ifp_clock_domain domain = 0; domain < IFP_CLOCK_DOMAIN_MAX; domain++)
			assert_in_range(difference(&job, domain, extremes[i]) + 3, 0, 6);
	stop(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_clock_is_converted_to_3_ns),
		cmocka_unit_test(stamps_of_today_lie_on_a_line),
		cmocka_unit_test(time_does_not_run_backwards),
		cmocka_unit_test(result_does_not_depend_on_what_came_before),
		cmocka_unit_test(what_needs_no_conversion_stays_as_it_is),
	};

	return RUN_TESTS(tests);
}
