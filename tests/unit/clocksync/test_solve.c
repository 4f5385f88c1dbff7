/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of a simulated world, small enough to say what must come out. */
#include "clocksync/sim/sim.h"
#include "core/cleanup.h"

#include "test.h"

#include <math.h>

#define US IFP_NS_PER_US
#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S

static ifp_true_ns at(int64_t ns)
{
	return (ifp_true_ns){ns};
}

/* A quiet network: 1 us there, 1 us back, hardly any jitter. */
static struct ifp_sim quiet_job(uint32_t nodes, uint32_t ranks_per_node)
{
	struct ifp_sim sim;

	assert_ok(ifp_sim_new(1, nodes, ranks_per_node, &sim));
	sim.network = (struct ifp_sim_network){.floor_ns = US, .jitter_ns = 20};
	for (uint32_t i = 0; i < nodes; i++)
		sim.clocks[i].offset_ns = 1000 * S + i * 137 * S;
	return sim;
}

static struct ifp_clock_solution *solve(const struct ifp_sim *sim)
{
	struct ifp_clock_solution *solution;

	assert_ok(ifp_clock_solve(sim->ranks, sim->node_count * sim->ranks_per_node, &solution));
	return solution;
}

/* Where the map puts a moment that the rank read on RAW, minus where it belongs. */
static int64_t error_ns(const struct ifp_sim *sim, const struct ifp_clock_solution *solution,
	uint32_t rank, ifp_true_ns moment)
{
	const struct ifp_clock_map *map = ifp_clock_solution_map(solution, rank);
	int64_t local_ns = ifp_sim_raw(sim->clocks + rank / sim->ranks_per_node, moment);

	return ifp_clock_map_global(map, IFP_CLOCK_RAW, local_ns).ns -
	       ifp_sim_raw(sim->clocks, moment);
}

static int64_t bound_ns(const struct ifp_sim *sim, const struct ifp_clock_solution *solution,
	uint32_t rank, ifp_true_ns moment)
{
	return ifp_clock_map_bound_ns(ifp_clock_solution_map(solution, rank),
		(ifp_global_ns){ifp_sim_raw(sim->clocks, moment)});
}

static void assert_near(int64_t value, int64_t expected, int64_t tolerance)
{
	if (value < expected - tolerance || value > expected + tolerance)
		fail_msg("%lld is not %lld +- %lld", (long long)value, (long long)expected,
			(long long)tolerance);
}

static void ranks_of_one_host_share_a_clock(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(1, 8);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;

	(void)state;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(10 * S), S));
	solution = solve(&sim);
	for (uint32_t r = 0; r < 8; r++) {
		struct ifp_clock_summary s =
			ifp_clock_map_summary(ifp_clock_solution_map(solution, r));

		assert_int_equal(s.method, IFP_CLOCK_SHARED);
		assert_int_equal(s.bound_ns, 0);
		assert_int_equal(s.epochs, 0);
		assert_int_equal(error_ns(&sim, solution, r, at(5 * S)), 0);
		assert_int_equal(bound_ns(&sim, solution, r, at(5 * S)), 0);
	}
}

static void two_exchanges_give_offset_and_rate(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(2, 2);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	struct ifp_clock_summary s;

	(void)state;
	sim.clocks[1].drift_ppm = -12.5;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(100 * S), S));
	ifp_sim_epoch(&sim, 0, 32, at(0), 0);
	ifp_sim_epoch(&sim, 1, 32, at(100 * S), 0);
	solution = solve(&sim);
	s = ifp_clock_map_summary(ifp_clock_solution_map(solution, 3));
	assert_int_equal(s.method, IFP_CLOCK_EXCHANGED);
	assert_int_equal(s.epochs, 2);
	assert_false(s.over_mpi);
	assert_near(s.offset_ns, 137 * S, 30);
	assert_near((int64_t)(s.rate_ppm * 1000), -12500, 1);
	for (int64_t t = -5; t <= 105; t += 5)
		assert_near(error_ns(&sim, solution, 3, at(t * S)), 0, 50);
	/*
	 * one-way delays at the exchanges; 50 ppm of 50 s, minus the drift that was seen, between
	 */
	assert_near(bound_ns(&sim, solution, 2, at(0)), US, 100);
	assert_near(bound_ns(&sim, solution, 2, at(100 * S)), US, 100);
	assert_near(s.bound_ns, 2344 * US, 5 * US);
	assert_true(bound_ns(&sim, solution, 2, at(50 * S)) <= s.bound_ns);
	/* beyond the last exchange: 50 ppm, plus the 12.5 ppm that the line is drawn out with */
	assert_near(bound_ns(&sim, solution, 2, at(101 * S)), 62500 + US, 100);
}

static void one_exchange_gives_a_growing_bound(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(2, 1);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	struct ifp_clock_summary s;

	(void)state;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(10 * S), S));
	ifp_sim_epoch(&sim, 0, 32, at(0), 0);
	solution = solve(&sim);
	s = ifp_clock_map_summary(ifp_clock_solution_map(solution, 1));
	assert_int_equal(s.epochs, 1);
	assert_true(s.rate_ppm == 0);
	assert_near(bound_ns(&sim, solution, 1, at(0)), US, 100);
	assert_near(bound_ns(&sim, solution, 1, at(10 * S)), 500 * US + US, 100);
	assert_near(bound_ns(&sim, solution, 1, at(-2 * S)), 100 * US + US, 100);
	assert_near(s.bound_ns, 501 * US, 100);
}

/* TSC and REALTIME stamps of an exchanged rank end at the same moment as its RAW stamps. */
static void all_domains_lead_to_job_time(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(2, 1);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	const struct ifp_clock_map *map;

	(void)state;
	sim.clocks[1].drift_ppm = 20;
	sim.clocks[1].realtime_drift_ppm = -7;
	sim.clocks[1].realtime_error_ns = -3 * MS;
	sim.clocks[1].step_ns = 40 * MS;
	sim.clocks[1].step_at = at(30 * S + 500 * MS);
	assert_ok(ifp_sim_tuples(&sim, at(0), at(60 * S), S));
	ifp_sim_epoch(&sim, 0, 32, at(0), 0);
	ifp_sim_epoch(&sim, 1, 32, at(60 * S), 0);
	solution = solve(&sim);
	map = ifp_clock_solution_map(solution, 1);
	assert_int_equal(ifp_clock_map_summary(map).realtime_steps, 1);
	for (int64_t t = 0; t < 60; t += 3) {
		ifp_true_ns moment = at(t * S + 123 * MS);
		int64_t raw_ns = ifp_sim_raw(sim.clocks + 1, moment);
		int64_t realtime_ns = ifp_sim_realtime(sim.clocks + 1, moment);
		int64_t truth_ns = ifp_sim_raw(sim.clocks, moment);

		assert_near(
			ifp_clock_map_local(map, IFP_CLOCK_REALTIME, realtime_ns).ns, raw_ns, 100);
		assert_near(ifp_clock_map_global(map, IFP_CLOCK_REALTIME, realtime_ns).ns, truth_ns,
			150);
		assert_near(ifp_clock_map_global(
				    map, IFP_CLOCK_TSC, ifp_sim_tsc(sim.clocks + 1, moment))
				    .ns,
			truth_ns, 150);
	}
}

/* No edge reaches it: REALTIME is all there is, and nothing is certified. */
static void unreached_rank_is_placed_by_realtime(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(2, 1);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	struct ifp_clock_summary s;

	(void)state;
	sim.clocks[1].drift_ppm = 30;
	sim.clocks[1].realtime_error_ns = 2 * MS;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(60 * S), S));
	solution = solve(&sim);
	s = ifp_clock_map_summary(ifp_clock_solution_map(solution, 1));
	assert_int_equal(s.method, IFP_CLOCK_UNALIGNED);
	assert_int_equal(s.bound_ns, INT64_MAX);
	assert_int_equal(bound_ns(&sim, solution, 1, at(0)), INT64_MAX);
	assert_true(isinf(s.sigma_ns));
	assert_int_equal(ifp_clock_map_epoch_count(ifp_clock_solution_map(solution, 1)), 0);
	assert_near(s.offset_ns, 137 * S - 2 * MS, US);
	for (int64_t t = 0; t <= 60; t += 10)
		assert_near(error_ns(&sim, solution, 1, at(t * S)), 2 * MS, US);
}

/* A false edge is outvoted by the other paths of the hypercube, and counted. */
static void contradicting_edge_is_rejected(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(8, 1);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;

	(void)state;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(2 * S), S));
	ifp_sim_epoch(&sim, 0, 32, at(0), 0);
	sim.samples[2].edges[0].low_ns += MS;
	sim.samples[2].edges[0].high_ns += MS;
	solution = solve(&sim);
	assert_int_equal(ifp_clock_solution_rejected_edges(solution), 1);
	for (uint32_t r = 0; r < 8; r++)
		assert_near(error_ns(&sim, solution, r, at(0)), 0, 100);
}

/* Pairs measured one after the other over seconds, as over ZeroMQ, while clocks drift apart. */
static void slow_exchange_is_brought_to_one_moment(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(8, 1);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		sim.clocks[i].drift_ppm = 3.0 * i;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(100 * S), S));
	ifp_sim_epoch(&sim, 0, 32, at(0), 200 * MS);
	ifp_sim_epoch(&sim, 1, 32, at(100 * S), 200 * MS);
	solution = solve(&sim);
	assert_int_equal(ifp_clock_solution_rejected_edges(solution), 0);
	for (uint32_t r = 0; r < 8; r++) {
		for (int64_t t = 0; t <= 100; t += 20)
			assert_near(error_ns(&sim, solution, r, at(t * S)), 0, 100);
	}
}

/* 80 ppm between two machines: more than assumed. The run's own assumption grows, and is told. */
static void faster_drift_raises_the_assumption(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(2, 1);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;

	(void)state;
	sim.clocks[1].drift_ppm = 80;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(100 * S), S));
	ifp_sim_epoch(&sim, 0, 32, at(0), 0);
	ifp_sim_epoch(&sim, 1, 32, at(100 * S), 0);
	solution = solve(&sim);
	assert_in_range(ifp_clock_solution_drift_ppm(solution), 80 + IFP_CLOCK_DRIFT_PPM,
		82 + IFP_CLOCK_DRIFT_PPM);
	for (int64_t t = 0; t <= 100; t += 10) {
		int64_t error = error_ns(&sim, solution, 1, at(t * S));

		assert_near(error, 0, 100);
		assert_near(error, 0, bound_ns(&sim, solution, 1, at(t * S)));
	}
}

/* Every exchange of a rank can be asked for, and any moment in between: both numbers, and the rate.
 */
static void map_tells_its_epochs(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(4, 2);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	const struct ifp_clock_map *map;
	struct ifp_clock_epoch between;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		sim.clocks[i].drift_ppm = 3.0 * i;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(40 * S), S));
	for (uint32_t e = 0; e < 5; e++)
		ifp_sim_epoch(&sim, e, 32, at(e * 10 * S), 0);
	solution = solve(&sim);
	assert_int_equal(ifp_clock_map_epoch_count(ifp_clock_solution_map(solution, 1)), 0);
	map = ifp_clock_solution_map(solution, 6);
	assert_int_equal(ifp_clock_map_epoch_count(map), 5);
	for (uint32_t e = 0; e < 5; e++) {
		struct ifp_clock_epoch epoch = ifp_clock_map_epoch(map, e);
		int64_t truth_ns = 3 * 137 * S + (int64_t)(9e-6 * 10e9 * e);

		assert_near(epoch.at.ns - sim.clocks[0].offset_ns, e * 10 * S, 2 * MS);
		assert_near(epoch.offset_ns, truth_ns, 50);
		assert_near((int64_t)(epoch.rate_ppm * 1000), 9000, 10);
		assert_true(epoch.low_ns <= truth_ns && truth_ns <= epoch.high_ns);
		assert_true(epoch.sigma_ns > 0 && epoch.sigma_ns < 2000);
	}
	between = ifp_clock_map_at(map, (ifp_global_ns){ifp_sim_raw(sim.clocks, at(25 * S))});
	assert_near(between.offset_ns, 3 * 137 * S + (int64_t)(9e-6 * 25e9), 50);
	assert_near((int64_t)(between.rate_ppm * 1000), 9000, 10);
	assert_near(between.high_ns - between.offset_ns, (50 - 9) * 5000, 3 * US + 9 * 5000);
	assert_true(between.sigma_ns <= ifp_clock_map_summary(map).sigma_ns);
}

/* 64 machines, asymmetric paths and jitter: squares of errors in sigmas, at exchanges and between.
 */
static void add_squares(uint64_t seed, double squares[2])
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim;
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;

	assert_ok(ifp_sim_new(seed, 64, 1, &sim));
	sim.network = (struct ifp_sim_network){US, 100, 50, 0.003, 50 * US};
	for (uint32_t i = 0; i < 64; i++)
		sim.clocks[i].drift_ppm = 40 * ifp_sim_random(&sim) - 20;
	assert_ok(ifp_sim_walk(&sim, 1e-3, 200));
	assert_ok(ifp_sim_tuples(&sim, at(0), at(200 * S), S));
	for (uint32_t e = 0; e <= 20; e++)
		ifp_sim_epoch(&sim, e, 16, at(e * 10 * S), 0);
	solution = solve(&sim);
	for (uint32_t r = 1; r < 64; r++) {
		const struct ifp_clock_map *map = ifp_clock_solution_map(solution, r);

		for (int64_t t = 0; t < 200; t += 5) {
			ifp_global_ns now = {ifp_sim_raw(sim.clocks, at(t * S))};
			double error = (double)error_ns(&sim, solution, r, at(t * S));

			squares[t % 10 == 5] += pow(error / ifp_clock_map_at(map, now).sigma_ns, 2);
		}
	}
}

/* The reference's own error is in all of a job's, so that many jobs are needed to tell. */
static void sigma_is_as_large_as_errors(void **state)
{
	double squares[2] = {0, 0};

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++)
		add_squares(seed, squares);
	for (int i = 0; i < 2; i++) {
		double rms = sqrt(squares[i] / (12 * 63 * 20));

		print_message("rms error %.2f sigma\n", rms);
		assert_true(rms > 0.7 && rms < 1.5);
	}
}

static void rank_without_tuples_gets_no_map(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(2, 2);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;

	(void)state;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(2 * S), S));
	ifp_sim_epoch(&sim, 0, 32, at(0), 0);
	sim.samples[0].tuple_count = 0;
	solution = solve(&sim);
	assert_null(ifp_clock_solution_map(solution, 0));
	assert_int_equal(ifp_clock_solution_reference(solution), 1);
	/* its edges count all the same: rank 1 reads the same clock */
	assert_near(error_ns(&sim, solution, 3, at(0)), 0, 100);
	assert_null(ifp_clock_solution_map(solution, 4));
}

static void nobody_has_tuples(void **state)
{
	struct ifp_clock_rank ranks[2] = {{.rank = 0}, {.rank = 1}};
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;

	(void)state;
	assert_ok(ifp_clock_solve(ranks, 2, &solution));
	assert_null(ifp_clock_solution_map(solution, 0));
	assert_int_equal(ifp_clock_solution_reference(solution), UINT32_MAX);
	ifp_clock_solution_free(&solution);
	assert_ok(ifp_clock_solve(NULL, 0, &solution));
}

/* Machines whose boot id could not be read are not taken for one. */
static void unknown_identity_is_never_shared(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(1, 2);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;

	(void)state;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(2 * S), S));
	sim.ranks[0].identity.boot_id[0] = sim.ranks[1].identity.boot_id[0] = '\0';
	solution = solve(&sim);
	assert_int_equal(ifp_clock_map_summary(ifp_clock_solution_map(solution, 1)).method,
		IFP_CLOCK_UNALIGNED);
}

/* What a damaged or hostile archive may hold changes nothing for the others. */
static void absurd_edges_are_left_out(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = quiet_job(2, 1);
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	struct ifp_clock_edge absurd[] = {
		{.client = 0, .server = 77, .round_trips = 1, .high_ns = 1},
		{.client = 0,
			.server = 1,
			.round_trips = 1,
			.low_ns = INT64_MIN,
			.high_ns = INT64_MAX},
		{.client = 1, .server = 1, .round_trips = 1},
		{.client = 0, .server = 1, .round_trips = 0},
		{.client = 0, .server = 1, .round_trips = 1, .low_ns = 5, .high_ns = -5},
		{.client = 0, .server = 1, .round_trips = 1, .best_t1_ns = INT64_MIN},
	};

	(void)state;
	assert_ok(ifp_sim_tuples(&sim, at(0), at(2 * S), S));
	ifp_sim_epoch(&sim, 0, 32, at(0), 0);
	sim.samples[1].edges = malloc(sizeof(absurd));
	memcpy(sim.samples[1].edges, absurd, sizeof(absurd));
	sim.samples[1].edge_count = IFP_ARRAY_SIZE(absurd);
	solution = solve(&sim);
	assert_near(error_ns(&sim, solution, 1, at(0)), 0, 100);
	assert_int_equal(ifp_clock_map_summary(ifp_clock_solution_map(solution, 1)).epochs, 1);
	ifp_clock_map_global(ifp_clock_solution_map(solution, 1), IFP_CLOCK_REALTIME, INT64_MIN);
	ifp_clock_map_bound_ns(ifp_clock_solution_map(solution, 1), (ifp_global_ns){INT64_MAX});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_of_one_host_share_a_clock),
		cmocka_unit_test(two_exchanges_give_offset_and_rate),
		cmocka_unit_test(one_exchange_gives_a_growing_bound),
		cmocka_unit_test(all_domains_lead_to_job_time),
		cmocka_unit_test(unreached_rank_is_placed_by_realtime),
		cmocka_unit_test(contradicting_edge_is_rejected),
		cmocka_unit_test(slow_exchange_is_brought_to_one_moment),
		cmocka_unit_test(faster_drift_raises_the_assumption),
		cmocka_unit_test(map_tells_its_epochs),
		cmocka_unit_test(sigma_is_as_large_as_errors),
		cmocka_unit_test(rank_without_tuples_gets_no_map),
		cmocka_unit_test(nobody_has_tuples),
		cmocka_unit_test(unknown_identity_is_never_shared),
		cmocka_unit_test(absurd_edges_are_left_out),
	};

	return RUN_TESTS(tests);
}
