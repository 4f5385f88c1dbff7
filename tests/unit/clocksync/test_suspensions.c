/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine of a simulated job is suspended: its RAW stands still while the others go on. What was
 * read of it is placed as if it had not been.
 */
#include "clocksync/estimate/edge.h"
#include "clocksync/sim/sim.h"
#include "core/cleanup.h"

#include "test.h"

#include <stdlib.h>

#define US IFP_NS_PER_US
#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S

#define NODES 3
#define RANKS_PER_NODE 2
/* When, in true time; what CLOCK_BOOTTIME says of it is a little wrong. */
#define ASLEEP_NS (40 * S + 300 * MS)
#define SLEPT_NS (20 * S)
#define AWAKE_NS (ASLEEP_NS + SLEPT_NS)
#define LOW_NS (SLEPT_NS - 5 * MS)
#define HIGH_NS (SLEPT_NS + 15 * MS)
#define DOUBT_NS (10 * MS) /* half of what lies between */

static ifp_true_ns at(int64_t ns)
{
	return (ifp_true_ns){ns};
}

/* 40 s between two exchanges at 50 ppm, and a trip's 20 us; what is doubted behind it, of the
 * exchanges there and of how these lie to those before. */
#define BEFORE_NS (1100 * US)
#define AFTER_NS (BEFORE_NS + 2 * DOUBT_NS)

struct job {
	struct ifp_sim sim;
	uint32_t asleep;  /* node */
	int64_t wrong_ns; /* by how much BOOTTIME is wrong beyond what it claims */
};

/* What the suspended machine reads at a true moment outside its sleep, from what it would have
 * read. */
static int64_t read_raw(const struct job *job, uint32_t node, int64_t raw_ns)
{
	bool behind = raw_ns > ifp_sim_raw(&job->sim.clocks[node], at(ASLEEP_NS));

	return node == job->asleep && behind ? raw_ns - SLEPT_NS : raw_ns;
}

static int64_t raw_at(const struct job *job, uint32_t node, int64_t true_ns)
{
	return read_raw(job, node, ifp_sim_raw(&job->sim.clocks[node], at(true_ns)));
}

static void suspend_tuples(struct job *job, uint32_t rank)
{
	const struct ifp_sim_clock *clock = &job->sim.clocks[job->asleep];
	struct ifp_clock_samples *samples = &job->sim.samples[rank];
	int64_t asleep_ns = ifp_sim_raw(clock, at(ASLEEP_NS));
	int64_t awake_ns = ifp_sim_raw(clock, at(AWAKE_NS));
	struct ifp_clock_suspension *suspension = calloc(1, sizeof(*suspension));
	uint32_t count = 0;

	assert_non_null(suspension);
	for (uint32_t i = 0; i < samples->tuple_count; i++) {
		struct ifp_clock_tuple tuple = samples->tuples[i];

		if (tuple.raw_ns > asleep_ns && tuple.raw_ns < awake_ns)
			continue;
		if (tuple.raw_ns > asleep_ns && count &&
			samples->tuples[count - 1].raw_ns <= asleep_ns)
			*suspension = (struct ifp_clock_suspension){
				.after_raw_ns = samples->tuples[count - 1].raw_ns,
				.before_raw_ns = tuple.raw_ns - SLEPT_NS,
				.low_ns = LOW_NS + job->wrong_ns,
				.high_ns = HIGH_NS + job->wrong_ns};
		tuple.raw_ns = read_raw(job, job->asleep, tuple.raw_ns);
		samples->tuples[count++] = tuple;
	}
	samples->tuple_count = count;
	samples->suspensions = suspension;
	samples->suspension_count = 1;
}

static void suspend_edges(struct job *job)
{
	for (uint32_t r = 0; r < NODES * RANKS_PER_NODE; r++)
		for (uint32_t e = 0; e < job->sim.samples[r].edge_count; e++) {
			struct ifp_clock_edge *edge = &job->sim.samples[r].edges[e];
			uint32_t client = edge->client / RANKS_PER_NODE;
			uint32_t server = edge->server / RANKS_PER_NODE;
			int64_t client_ns = edge->best_t1_ns, server_ns = edge->best_t2_ns,
				moved_ns;

			edge->best_t1_ns = read_raw(job, client, edge->best_t1_ns);
			edge->best_t4_ns = read_raw(job, client, edge->best_t4_ns);
			edge->best_t2_ns = read_raw(job, server, edge->best_t2_ns);
			edge->best_t3_ns = read_raw(job, server, edge->best_t3_ns);
			moved_ns = (edge->best_t2_ns - server_ns) - (edge->best_t1_ns - client_ns);
			edge->low_ns += moved_ns;
			edge->high_ns += moved_ns;
		}
}

/* Three machines with drifting clocks, two ranks each; exchanges at these seconds. */
static void begin(struct job *job, uint32_t asleep, const int *epochs_s, uint32_t epoch_count)
{
	struct ifp_sim *sim = &job->sim;

	job->asleep = asleep;
	assert_ok(ifp_sim_new(7, NODES, RANKS_PER_NODE, sim));
	sim->network = (struct ifp_sim_network){
		.floor_ns = 20 * US, .jitter_ns = 2 * US, .asymmetry_ns = US};
	for (uint32_t i = 0; i < NODES; i++) {
		sim->clocks[i].offset_ns = 5000 * S + i * 3600 * S;
		sim->clocks[i].drift_ppm = 4.0 * i;
	}
	assert_ok(ifp_sim_tuples(sim, at(0), at(100 * S), S));
	for (uint32_t e = 0; e < epoch_count; e++)
		ifp_sim_epoch(sim, e, 32, at(epochs_s[e] * S), 0);
	for (uint32_t r = 0; r < RANKS_PER_NODE; r++)
		suspend_tuples(job, asleep * RANKS_PER_NODE + r);
	suspend_edges(job);
}

static struct ifp_clock_solution *solve(const struct job *job)
{
	struct ifp_clock_solution *solution;

	assert_ok(ifp_clock_solve(job->sim.ranks, NODES * RANKS_PER_NODE, &solution));
	return solution;
}

/* Job time goes on as BOOTTIME said where it was the reference that slept. */
static int64_t job_time_ns(const struct job *job, int64_t true_ns)
{
	int64_t said_ns = LOW_NS + (HIGH_NS - LOW_NS) / 2;
	bool longer = job->asleep == 0 && true_ns > ASLEEP_NS;

	return ifp_sim_raw(&job->sim.clocks[0], at(true_ns)) + (longer ? said_ns - SLEPT_NS : 0);
}

/* A stamp of RAW lies where it was made within the bound, which is returned. */
static int64_t assert_placed(const struct job *job, const struct ifp_clock_solution *solution,
	uint32_t rank, int64_t true_ns)
{
	const struct ifp_clock_map *map = ifp_clock_solution_map(solution, rank);
	int64_t stamp = raw_at(job, rank / RANKS_PER_NODE, true_ns);
	ifp_global_ns placed = ifp_clock_map_global(map, IFP_CLOCK_RAW, stamp);
	int64_t truth_ns = job_time_ns(job, true_ns);
	int64_t bound_ns = ifp_clock_map_bound_ns(map, placed);

	assert_in_range(placed.ns - truth_ns + bound_ns, 0, 2 * bound_ns);
	return bound_ns;
}

static bool is_around(int64_t true_ns)
{
	return true_ns >= 40 * S && true_ns <= 61 * S;
}

static const int both_sides_s[] = {0, 10, 20, 30, 70, 80, 90, 100};

static void times_before_and_after_are_moved_apart(void **state)
{
	(void)state;
	for (uint32_t asleep = 0; asleep < NODES; asleep++) {
		IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
		struct job job = {0};

		begin(&job, asleep, both_sides_s, IFP_ARRAY_SIZE(both_sides_s));
		solution = solve(&job);
		assert_int_equal(ifp_clock_solution_drift_ppm(solution), IFP_CLOCK_DRIFT_PPM);
		assert_int_equal(ifp_clock_solution_rejected_edges(solution), 0);
		for (int64_t ms = 0; ms <= 100000; ms += 113) {
			if (ms * MS > ASLEEP_NS && ms * MS < AWAKE_NS)
				continue;
			for (uint32_t r = 0; r < NODES * RANKS_PER_NODE; r++) {
				int64_t bound_ns = assert_placed(&job, solution, r, ms * MS);
				bool own = r / RANKS_PER_NODE == asleep;

				if (!own || !is_around(ms * MS))
					assert_true(bound_ns < AFTER_NS);
				if (!own && (asleep || ms * MS < 39 * S))
					assert_true(bound_ns < BEFORE_NS);
			}
		}
		ifp_sim_free(&job.sim);
	}
}

/* Nobody knows where between the two readings: what is there may be off by all of it. */
static void between_the_readings_around_it_the_bound_has_all_of_it(void **state)
{
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	const struct ifp_clock_map *map;
	struct job job = {0};
	int64_t raw_ns;

	(void)state;
	begin(&job, 1, both_sides_s, IFP_ARRAY_SIZE(both_sides_s));
	solution = solve(&job);
	map = ifp_clock_solution_map(solution, 2);
	assert_true(assert_placed(&job, solution, 2, 40 * S + 100 * MS) > SLEPT_NS);
	assert_true(assert_placed(&job, solution, 2, AWAKE_NS + 100 * MS) > SLEPT_NS);
	assert_true(assert_placed(&job, solution, 2, 39 * S) < BEFORE_NS);
	assert_true(assert_placed(&job, solution, 2, 63 * S) < AFTER_NS);
	/* REALTIME went on: a stamp of it is right there, too */
	for (int64_t ms = 40000; ms <= 61000; ms += 50) {
		int64_t stamp = ifp_sim_realtime(&job.sim.clocks[1], at(ms * MS));
		int64_t truth_ns = ifp_sim_raw(&job.sim.clocks[0], at(ms * MS));

		raw_ns = ifp_clock_map_global(map, IFP_CLOCK_REALTIME, stamp).ns;
		assert_in_range(raw_ns - truth_ns + 6 * MS, 0, 12 * MS); /* BOOTTIME is 5 ms off */
	}
	/* the run's bound is that outside of it */
	assert_true(ifp_clock_map_summary(map).bound_ns < AFTER_NS);
	assert_true(
		ifp_clock_map_bound_max_ns(map,
			(ifp_global_ns){ifp_sim_raw(&job.sim.clocks[0], at(30 * S))},
			(ifp_global_ns){ifp_sim_raw(&job.sim.clocks[0], at(70 * S))}) > SLEPT_NS);
	ifp_sim_free(&job.sim);
}

/* Another rank of the machine began later: it has not seen it, but its clock is the same. */
static void ranks_that_share_the_clock_share_its_suspensions(void **state)
{
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	struct ifp_clock_samples *late;
	struct job job = {0};

	(void)state;
	begin(&job, 1, both_sides_s, IFP_ARRAY_SIZE(both_sides_s));
	late = &job.sim.samples[3];
	late->suspension_count = 0;
	late->tuple_count -= 50; /* up to 50 s of the 100 */
	memmove(late->tuples, late->tuples + 50, late->tuple_count * sizeof(*late->tuples));
	solution = solve(&job);
	for (int64_t s = 65; s <= 100; s++)
		assert_true(assert_placed(&job, solution, 3, s * S) < AFTER_NS);
	assert_true(ifp_clock_map_same_clock(
		ifp_clock_solution_map(solution, 2), ifp_clock_solution_map(solution, 3)));
	ifp_sim_free(&job.sim);
}

/* Then only BOOTTIME tells: as good as it, and the drift assumption over all of the time. */
static void without_an_exchange_behind_it_the_bound_grows(void **state)
{
	static const int before_s[] = {0, 10, 20, 30};

	(void)state;
	for (uint32_t asleep = 0; asleep < NODES; asleep += 2) {
		IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
		struct job job = {0};

		begin(&job, asleep, before_s, IFP_ARRAY_SIZE(before_s));
		solution = solve(&job);
		for (int64_t s = 62; s <= 100; s++) {
			int64_t bound_ns = assert_placed(&job, solution, 4, s * S);

			assert_in_range(bound_ns, (s - 30) * 50 * US + DOUBT_NS,
				(s - 30) * 60 * US + 50 * US + DOUBT_NS);
		}
		ifp_sim_free(&job.sim);
	}
}

/* A clock of the machine that only knows seconds has told the kernel: exchanges know better. */
static void exchanges_tell_where_boottime_is_wrong(void **state)
{
	(void)state;
	for (uint32_t asleep = 1; asleep < NODES; asleep++) {
		IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
		struct job job = {.wrong_ns = asleep == 1 ? 700 * MS : -700 * MS};

		begin(&job, asleep, both_sides_s, IFP_ARRAY_SIZE(both_sides_s));
		solution = solve(&job);
		assert_int_equal(ifp_clock_solution_drift_ppm(solution), IFP_CLOCK_DRIFT_PPM);
		for (int64_t s = 0; s <= 39; s++)
			assert_true(assert_placed(&job, solution, 2 * asleep, s * S) < BEFORE_NS);
		/* 40 s between the two exchanges around it, at 50 ppm: 2 ms to both sides */
		for (int64_t s = 65; s <= 100; s++)
			assert_true(assert_placed(&job, solution, 2 * asleep, s * S) <
				    BEFORE_NS + 2 * 2100 * US);
		ifp_sim_free(&job.sim);
	}
}

/* Round trips on both sides of it would say nothing true. */
static void exchange_that_it_may_have_broken_is_left_out(void **state)
{
	static const int close_s[] = {0, 10, 20, 30, 39, 70, 80, 90, 100};
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	struct job job = {0};

	(void)state;
	begin(&job, 1, close_s, IFP_ARRAY_SIZE(close_s));
	solution = solve(&job);
	assert_int_equal(ifp_clock_map_summary(ifp_clock_solution_map(solution, 2)).epochs, 8);
	assert_placed(&job, solution, 2, 39 * S);
	ifp_sim_free(&job.sim);
}

/* From an archive anything may come. */
static void suspensions_that_cannot_be_change_nothing(void **state)
{
	static const struct ifp_clock_suspension bad[] = {
		{INT64_MIN, INT64_MAX, 1, 2},
		{100, 50, S, S},
		{100, 200, S, S - 1},
		{100, 200, -S, S},
		{100, 200, S, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(bad); i++) {
		IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = {0};
		IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;

		assert_ok(ifp_sim_new(1, 1, 1, &sim));
		sim.clocks[0].offset_ns = 1000 * S;
		assert_ok(ifp_sim_tuples(&sim, at(0), at(10 * S), S));
		sim.samples[0].suspensions = calloc(1, sizeof(bad[0]));
		assert_non_null(sim.samples[0].suspensions);
		sim.samples[0].suspensions[0] = bad[i];
		sim.samples[0].suspension_count = 1;
		assert_ok(ifp_clock_solve(sim.ranks, 1, &solution));
		assert_int_equal(ifp_clock_map_global(ifp_clock_solution_map(solution, 0),
					 IFP_CLOCK_RAW, 1005 * S)
					 .ns,
			1005 * S);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_before_and_after_are_moved_apart),
		cmocka_unit_test(between_the_readings_around_it_the_bound_has_all_of_it),
		cmocka_unit_test(ranks_that_share_the_clock_share_its_suspensions),
		cmocka_unit_test(without_an_exchange_behind_it_the_bound_grows),
		cmocka_unit_test(exchanges_tell_where_boottime_is_wrong),
		cmocka_unit_test(exchange_that_it_may_have_broken_is_left_out),
		cmocka_unit_test(suspensions_that_cannot_be_change_nothing),
	};

	return RUN_TESTS(tests);
}
