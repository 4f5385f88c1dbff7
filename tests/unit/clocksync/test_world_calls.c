/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers between two exchanges of a simulated job: what they certify must hold, and be less. */
#include "clocksync/estimate/world_calls.h"
#include "clocksync/sim/sim.h"
#include "core/cleanup.h"

#include "test.h"

#include <stdlib.h>

#define US IFP_NS_PER_US
#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S

#define NODES 4
#define RUN_S 100

static ifp_true_ns at(int64_t ns)
{
	return (ifp_true_ns){ns};
}

/* Clocks hours apart that drift and wander, compared at the two ends of a run. */
static void begin(struct ifp_sim *sim, uint64_t seed, uint32_t ranks_per_node)
{
	assert_ok(ifp_sim_new(seed, NODES, ranks_per_node, sim));
	sim->network = (struct ifp_sim_network){
		.floor_ns = 20 * US, .jitter_ns = 5 * US, .asymmetry_ns = 10 * US};
	for (uint32_t i = 0; i < NODES; i++) {
		sim->clocks[i].offset_ns = 5000 * S + i * 3600 * S;
		sim->clocks[i].drift_ppm = (double)ifp_sim_random_within(sim, 15);
		sim->clocks[i].wander_ppm = 3;
		sim->clocks[i].wander_period_s = 40;
		sim->clocks[i].wander_phase = i;
	}
	assert_ok(ifp_sim_tuples(sim, at(0), at(RUN_S * S), S));
	ifp_sim_epoch(sim, 0, 32, at(0), 0);
	ifp_sim_epoch(sim, 1, 32, at(RUN_S * S), 0);
}

/* A rank that has seen a barrier: others may have been longer in it. */
static void see(struct ifp_sim *sim, uint32_t rank, int64_t number, uint64_t order,
	ifp_true_ns enter, ifp_true_ns exit)
{
	const struct ifp_sim_clock *clock = &sim->clocks[rank / sim->ranks_per_node];
	struct ifp_clock_samples *samples = &sim->samples[rank];
	struct ifp_clock_collective *grown = realloc(
		samples->collectives, (samples->collective_count + 1u) * sizeof(*grown));

	assert_non_null(grown);
	samples->collectives = grown;
	grown[samples->collective_count++] = (struct ifp_clock_collective){
		.group = IFP_WORLD_CALLS_GROUP,
		.kind = order,
		.step = number,
		.enter_ns = ifp_sim_raw(clock, enter),
		.exit_ns = ifp_sim_raw(clock, exit)};
}

/* Each second from 1 s on: ranks come within 30 us, and leave within 5 us of the last one's coming. */
static void barriers(struct ifp_sim *sim)
{
	uint32_t ranks = NODES * sim->ranks_per_node;

	for (int64_t number = 1; number < RUN_S; number++) {
		int64_t enter_ns[NODES * 2], last_ns = 0;

		for (uint32_t r = 0; r < ranks; r++) {
			enter_ns[r] = number * S + ifp_sim_random_within(sim, 15 * US);
			last_ns = enter_ns[r] > last_ns ? enter_ns[r] : last_ns;
		}
		for (uint32_t r = 0; r < ranks; r++)
			see(sim, r, number, (uint64_t)number * 77, at(enter_ns[r]),
				at(last_ns + 2 * US + ifp_sim_random_within(sim, 2 * US)));
	}
}

static struct ifp_clock_solution *solve(const struct ifp_sim *sim)
{
	struct ifp_clock_solution *solution;

	assert_ok(ifp_clock_solve(sim->ranks, sim->node_count * sim->ranks_per_node, &solution));
	return solution;
}

/* The truth lies in the certified interval, the line too, and that interval is no wider than this. */
static void assert_holds(const struct ifp_sim *sim, const struct ifp_clock_solution *solution,
	uint32_t rank, int64_t widest_ns)
{
	const struct ifp_clock_map *map = ifp_clock_solution_map(solution, rank);

	for (int64_t ms = 0; ms <= RUN_S * 1000; ms += 37) {
		int64_t reference_ns = ifp_sim_raw(&sim->clocks[0], at(ms * MS));
		int64_t truth_ns =
			ifp_sim_raw(&sim->clocks[rank / sim->ranks_per_node], at(ms * MS)) -
			reference_ns;
		struct ifp_clock_epoch here =
			ifp_clock_map_at(map, (ifp_global_ns){reference_ns});

		assert_in_range(truth_ns, here.low_ns, here.high_ns);
		assert_in_range(here.offset_ns, here.low_ns - 1, here.high_ns + 1);
		if (ms >= 1000 && ms <= (RUN_S - 1) * 1000)
			assert_true(here.high_ns - here.low_ns <= widest_ns);
	}
}

static int64_t widest_ns(const struct ifp_clock_solution *solution, uint32_t rank)
{
	return ifp_clock_map_summary(ifp_clock_solution_map(solution, rank)).bound_ns;
}

static void assert_left_out(const struct ifp_clock_solution *solution, uint32_t rank,
	uint64_t contradicting, uint64_t unmatched)
{
	struct ifp_clock_calls calls =
		ifp_clock_map_summary(ifp_clock_solution_map(solution, rank)).calls_left_out;

	assert_int_equal(calls.contradicting, contradicting);
	assert_int_equal(calls.unmatched, unmatched);
}

static void barriers_narrow_what_exchanges_certify(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = {0};
		IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *ends = NULL;
		IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *with = NULL;

		begin(&sim, seed, 1);
		ends = solve(&sim);
		barriers(&sim);
		with = solve(&sim);
		for (uint32_t r = 1; r < NODES; r++) {
			/* 30 us of a barrier, and 50 ppm of half a second to either side */
			assert_holds(&sim, with, r, 2 * (30 + 7) * US + 2 * 25 * US);
			assert_true(widest_ns(with, r) < widest_ns(ends, r) / 10);
			/* the exchanges are still the two that there were */
			assert_int_equal(ifp_clock_map_epoch_count(ifp_clock_solution_map(with, r)),
				2);
		}
	}
}

/* The last to come and the first to go of those that read one clock decide. */
static void ranks_that_share_a_clock_say_more_together(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = {0};
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *with = NULL;

	(void)state;
	begin(&sim, 7, 2);
	barriers(&sim);
	with = solve(&sim);
	for (uint32_t r = 2; r < 2 * NODES; r++)
		assert_holds(&sim, with, r, 2 * (30 + 7) * US + 2 * 25 * US);
}

static void calls_that_were_counted_otherwise_are_not_used(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = {0};
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *ends = NULL;
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *with = NULL;

	(void)state;
	begin(&sim, 3, 1);
	ends = solve(&sim);
	barriers(&sim);
	/* number 2 of rank 1 is number 3 of the others: its order is that of other functions */
	for (uint32_t i = 0; i < sim.samples[1].collective_count; i++)
		sim.samples[1].collectives[i].step++;
	with = solve(&sim);
	assert_int_equal(widest_ns(with, 1), widest_ns(ends, 1));
	assert_true(widest_ns(with, 2) < widest_ns(ends, 2));
	assert_left_out(with, 1, 0, RUN_S - 2); /* numbers 2 to 99 */
	assert_left_out(with, 2, 0, 0);
}

/* Were they believed, nothing would be left of the certificate. */
static void calls_that_contradict_the_exchanges_are_left_out(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = {0};
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *ends = NULL;
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *with = NULL;

	(void)state;
	begin(&sim, 4, 1);
	ends = solve(&sim);
	barriers(&sim);
	for (uint32_t i = 0; i < sim.samples[1].collective_count; i++)
		sim.samples[1].collectives[i].enter_ns += 20 * MS,
			sim.samples[1].collectives[i].exit_ns += 20 * MS;
	with = solve(&sim);
	assert_int_equal(widest_ns(with, 1), widest_ns(ends, 1));
	assert_holds(&sim, with, 1, INT64_MAX);
	assert_left_out(with, 1, RUN_S - 1, 0);
	assert_left_out(with, 2, 0, 0);
}

/* Collectives of imported traces are not numbered: they are no calls. */
static void collectives_of_other_groups_are_no_calls(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = {0};
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *ends = NULL;
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *with = NULL;

	(void)state;
	begin(&sim, 5, 1);
	ends = solve(&sim);
	barriers(&sim);
	for (uint32_t r = 0; r < NODES; r++)
		for (uint32_t i = 0; i < sim.samples[r].collective_count; i++)
			sim.samples[r].collectives[i].group++;
	with = solve(&sim);
	assert_int_equal(widest_ns(with, 1), widest_ns(ends, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(barriers_narrow_what_exchanges_certify),
		cmocka_unit_test(ranks_that_share_a_clock_say_more_together),
		cmocka_unit_test(calls_that_were_counted_otherwise_are_not_used),
		cmocka_unit_test(calls_that_contradict_the_exchanges_are_left_out),
		cmocka_unit_test(collectives_of_other_groups_are_no_calls),
	};

	return RUN_TESTS(tests);
}
