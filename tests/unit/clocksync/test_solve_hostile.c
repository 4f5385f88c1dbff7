/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks that are none, and samples that no clock has given: bounds stay bounds. */
#include "clocksync/sim/sim.h"
#include "core/cleanup.h"

#include "test.h"

#include <stdlib.h>

#define US IFP_NS_PER_US
#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S

static ifp_true_ns at(int64_t ns)
{
	return (ifp_true_ns){ns};
}

/* Two machines, 1 us there, 1 us back, hardly any jitter. */
static struct ifp_sim quiet_job(void)
{
	struct ifp_sim sim;

	assert_ok(ifp_sim_new(1, 2, 1, &sim));
	sim.network = (struct ifp_sim_network){.floor_ns = US, .jitter_ns = 20};
	sim.clocks[0].offset_ns = 1000 * S;
	sim.clocks[1].offset_ns = 1137 * S;
	return sim;
}

/*
 * The reference's machine stood still for 10 s, and nobody told it: its RAW went on for a second
 * where the other's went on for 11. No interval is empty, each has what was true then, and the
 * assumption says what it took.
 */
static void a_reference_that_stood_still_leaves_no_empty_interval(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job();
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	const struct ifp_clock_map *map;

	(void)state;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(20 * S), S));
	for (uint32_t e = 0; e < 20; e++) {
		sim.clocks[1].offset_ns += e == 10 ? 10 * S : 0;
		ifp_sim_epoch(&sim, e, 32, at(e * S), 0);
	}
	assert_ok(ifp_clock_solve(sim.ranks, 2, &solution));
	map = ifp_clock_solution_map(solution, 1);
	assert_in_range(ifp_clock_solution_drift_ppm(solution), 9990000, 10010000);
	assert_int_equal(ifp_clock_map_epoch_count(map), 20);
	for (uint32_t e = 0; e < 20; e++) {
		struct ifp_clock_epoch epoch = ifp_clock_map_epoch(map, e);
		int64_t truth_ns = (e < 10 ? 137 : 147) * S;

		assert_true(epoch.low_ns <= truth_ns && truth_ns <= epoch.high_ns);
		assert_true(epoch.low_ns <= epoch.offset_ns && epoch.offset_ns <= epoch.high_ns);
		assert_true(
			llabs(epoch.offset_ns - truth_ns) <= ifp_clock_map_bound_ns(map, epoch.at));
	}
}

/* What a damaged archive may hold of a trace's collectives: the others align as they did. */
static void absurd_collectives_are_left_out(void **state)
{
	static const int64_t absurd[] = {INT64_MIN, INT64_MAX, INT64_MIN / 2, INT64_MAX / 2};
	struct ifp_clock_collective collectives[2][104];
	struct ifp_clock_samples samples[2];
	struct ifp_clock_rank ranks[2];
	struct ifp_clock_tuple tuples[2][2];

	(void)state;
	for (uint32_t r = 0; r < 2; r++) {
		int64_t offset_ns = r * 137 * S;

		for (uint32_t i = 0; i < 104; i++) {
			int64_t ns = i < 100 ? S + i * MS + i * i * i % 907 * US + offset_ns
					     : absurd[i - 100];

			collectives[r][i] = (struct ifp_clock_collective){
				.enter_ns = ns, .exit_ns = i < 100 ? ns + 20 * US : ns, .group = 1};
		}
		tuples[r][0] =
			(struct ifp_clock_tuple){.raw_ns = offset_ns, .realtime_ns = offset_ns};
		tuples[r][1] =
			(struct ifp_clock_tuple){.raw_ns = INT64_MAX, .realtime_ns = INT64_MAX};
		samples[r] = (struct ifp_clock_samples){.tuples = tuples[r],
			.tuple_count = 2,
			.collectives = collectives[r],
			.collective_count = 104};
		ranks[r] = (struct ifp_clock_rank){
			.rank = r, .samples = &samples[r], .unmeasured = true};
	}
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;

	assert_ok(ifp_clock_solve(ranks, 2, &solution));
	const struct ifp_clock_map *map = ifp_clock_solution_map(solution, 1);
	struct ifp_clock_summary summary = ifp_clock_map_summary(map);

	assert_int_equal(summary.method, IFP_CLOCK_COLLECTIVES);
	assert_int_equal(summary.epochs, 100);
	assert_true(llabs(summary.offset_ns - 137 * S) <= US);
	assert_true(summary.bound_ns > 0);
	assert_true(ifp_clock_map_bound_ns(map, (ifp_global_ns){INT64_MIN}) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reference_that_stood_still_leaves_no_empty_interval),
		cmocka_unit_test(absurd_collectives_are_left_out),
	};

	return RUN_TESTS(tests);
}
