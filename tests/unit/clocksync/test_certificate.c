/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The promise of the bound: whatever clocks and network do within the assumptions, the truth lies
 * within it. Hundreds of random jobs, every rank looked at in every epoch and in between. Damage
 * of the kinds that a fault in the code would do must break the promise visibly.
 */
#include "clocksync/sim/sim.h"
#include "core/cleanup.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#define US IFP_NS_PER_US
#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S

#define JOBS 600
#define MAX_NODES 24
#define MAX_RANKS_PER_NODE 4
#define MOMENTS_BETWEEN 4

/* What is done to the world: to every edge before the clocks are solved, and to all drifts. */
struct damage {
	void (*edge)(struct ifp_clock_edge *edge);
	double drift_factor;
};

struct tally {
	uint32_t rank_epochs; /* a rank looked at during an exchange */
	uint32_t moments;     /* ... and at other times */
	uint32_t violations;
	uint32_t rejected;
	uint32_t error_count;
	int64_t errors[JOBS * MAX_NODES *
		       3];	   /* one per node, other than the reference, and epoch */
	double relative_width_sum; /* bound over the longest one-way delay */
};

/* Mutual drift stays below 42 ppm, wander included. */
static void random_clocks(struct ifp_sim *sim, double drift_factor)
{
	for (uint32_t i = 0; i < sim->node_count; i++) {
		struct ifp_sim_clock *clock = sim->clocks + i;

		clock->offset_ns = 100000 * S + ifp_sim_random_within(sim, 90000 * S);
		clock->drift_ppm = drift_factor * (40 * ifp_sim_random(sim) - 20);
		clock->wander_ppm = ifp_sim_random(sim);
		clock->wander_period_s = 10 + 300 * ifp_sim_random(sim);
		clock->wander_phase = 6 * ifp_sim_random(sim);
	}
}

/* From InfiniBand to a congested TCP path. */
static void random_network(struct ifp_sim *sim)
{
	int64_t floor_ns = (int64_t)(500 * (1 + 99 * ifp_sim_random(sim)));

	sim->network = (struct ifp_sim_network){
		.floor_ns = floor_ns,
		.jitter_ns = (double)floor_ns * ifp_sim_random(sim),
		.asymmetry_ns = (int64_t)((double)floor_ns * ifp_sim_random(sim)),
		.spike_share = 0.1 * ifp_sim_random(sim),
		.spike_ns = 5 * MS,
	};
}

static int compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t look(const struct ifp_sim *sim, const struct ifp_clock_solution *solution,
	uint32_t rank, ifp_true_ns moment, struct tally *tally)
{
	const struct ifp_clock_map *map = ifp_clock_solution_map(solution, rank);
	int64_t truth_ns = ifp_sim_raw(sim->clocks, moment);
	int64_t local_ns = ifp_sim_raw(sim->clocks + rank / sim->ranks_per_node, moment);
	int64_t error_ns = llabs(ifp_clock_map_global(map, IFP_CLOCK_RAW, local_ns).ns - truth_ns);
	int64_t bound_ns = ifp_clock_map_bound_ns(map, (ifp_global_ns){truth_ns});

	tally->violations += error_ns > bound_ns;
	if (rank >= sim->ranks_per_node)
		tally->relative_width_sum += (double)bound_ns / (double)(sim->network.floor_ns +
									 sim->network.asymmetry_ns);
	return error_ns;
}

static void look_at_all(struct ifp_sim *sim, const struct ifp_clock_solution *solution,
	const ifp_true_ns *epochs, uint32_t epoch_count, struct tally *tally)
{
	for (uint32_t r = 0; r < sim->node_count * sim->ranks_per_node; r++) {
		for (uint32_t e = 0; e < epoch_count; e++) {
			int64_t error_ns = look(sim, solution, r, epochs[e], tally);

			tally->rank_epochs++;
			if (r >= sim->ranks_per_node && r % sim->ranks_per_node == 0)
				tally->errors[tally->error_count++] = error_ns;
		}
		for (int i = 0; i < MOMENTS_BETWEEN; i++) {
			double width_sum = tally->relative_width_sum;
			ifp_true_ns moment = {(
				int64_t)((double)epochs[epoch_count - 1].ns * ifp_sim_random(sim))};

			look(sim, solution, r, moment, tally);
			tally->relative_width_sum = width_sum;
			tally->moments++;
		}
	}
}

/* One job: one to three exchanges, as they come over MPI or, with long gaps, over ZeroMQ. */
static void run_job(uint64_t seed, const struct damage *damage, struct tally *tally)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim;
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	uint32_t nodes = 2 + (uint32_t)(seed * 7 % (MAX_NODES - 1));
	uint32_t epoch_count = 1 + (uint32_t)(seed % 3);
	ifp_true_ns epochs[3], start = {0};

	assert_ok(ifp_sim_new(seed, nodes, 1 + seed % MAX_RANKS_PER_NODE, &sim));
	random_clocks(&sim, damage->drift_factor);
	random_network(&sim);
	for (uint32_t e = 0; e < epoch_count; e++) {
		ifp_true_ns end = ifp_sim_epoch(&sim, e, 32, start, seed % 2 ? 10 * MS : 0);

		epochs[e].ns = start.ns + (end.ns - start.ns) / 2;
		start.ns = end.ns + (int64_t)(300.0 * (double)S * ifp_sim_random(&sim)) + S;
	}
	for (uint32_t r = 0; damage->edge && r < nodes * sim.ranks_per_node; r++) {
		for (uint32_t e = 0; e < sim.samples[r].edge_count; e++)
			damage->edge(sim.samples[r].edges + e);
	}
	assert_ok(ifp_sim_tuples(&sim, (ifp_true_ns){0}, (ifp_true_ns){S}, S));
	assert_ok(ifp_clock_solve(sim.ranks, nodes * sim.ranks_per_node, &solution));
	tally->rejected += ifp_clock_solution_rejected_edges(solution);
	look_at_all(&sim, solution, epochs, epoch_count, tally);
}

static struct tally *run_jobs(const struct damage *damage)
{
	struct tally *tally = calloc(1, sizeof(*tally));

	assert_non_null(tally);
	for (uint64_t seed = 1; seed <= JOBS; seed++)
		run_job(seed, damage, tally);
	qsort(tally->errors, tally->error_count, sizeof(tally->errors[0]), compare_int64);
	return tally;
}

static void truth_is_always_within_the_bound(void **state)
{
	const struct damage none = {NULL, 1};
	IFP_CLEANUP_FREE struct tally *tally = run_jobs(&none);

	(void)state;
	print_message("%u rank-epochs, %u moments between, %u violations, %u edges rejected\n",
		tally->rank_epochs, tally->moments, tally->violations, tally->rejected);
	print_message("error at exchanges: p50 %lld ns, p99 %lld ns; mean bound %.2f delays\n",
		(long long)tally->errors[tally->error_count / 2],
		(long long)tally->errors[tally->error_count * 99 / 100],
		tally->relative_width_sum / tally->rank_epochs);
	assert_true(tally->rank_epochs >= 20000);
	assert_int_equal(tally->violations, 0);
	assert_int_equal(tally->rejected, 0);
}

/* 64 machines on a good network, two exchanges: the estimate is far better than its bound. */
static void estimate_is_far_better_than_the_bound(void **state)
{
	IFP_CLEANUP_FREE struct tally *tally = calloc(1, sizeof(*tally));

	(void)state;
	assert_non_null(tally);
	for (uint64_t seed = 1; seed <= 10; seed++) {
		IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim;
		IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
		ifp_true_ns epochs[2] = {{0}, {600 * S}};

		assert_ok(ifp_sim_new(seed, 64, 1, &sim));
		random_clocks(&sim, 1);
		sim.network = (struct ifp_sim_network){.floor_ns = 1000,
			.jitter_ns = 100,
			.asymmetry_ns = 50,
			.spike_share = 0.003,
			.spike_ns = 50 * US};
		for (uint32_t e = 0; e < 2; e++)
			ifp_sim_epoch(&sim, e, 32, epochs[e], 0);
		assert_ok(ifp_sim_tuples(&sim, epochs[0], epochs[1], 10 * S));
		assert_ok(ifp_clock_solve(sim.ranks, 64, &solution));
		look_at_all(&sim, solution, epochs, 2, tally);
	}
	qsort(tally->errors, tally->error_count, sizeof(tally->errors[0]), compare_int64);
	print_message("64 nodes: error p50 %lld ns, p99 %lld ns; mean bound %.2f delays\n",
		(long long)tally->errors[tally->error_count / 2],
		(long long)tally->errors[tally->error_count * 99 / 100],
		tally->relative_width_sum / tally->rank_epochs);
	assert_int_equal(tally->violations, 0);
	assert_true(tally->errors[tally->error_count * 99 / 100] < 60);
}

static void inverted(struct ifp_clock_edge *edge)
{
	int64_t low_ns = edge->low_ns;

	edge->low_ns = -edge->high_ns;
	edge->high_ns = -low_ns;
}

/* t3 - t4 forgotten: one way only, the offset taken for t2 - t1. */
static void one_sided(struct ifp_clock_edge *edge)
{
	edge->low_ns = edge->high_ns;
}

/* As if the server stamped before the message had arrived: what an unfenced stamp does. */
static void early_stamp(struct ifp_clock_edge *edge)
{
	edge->high_ns -= (edge->best_t4_ns - edge->best_t1_ns) / 2;
	if (edge->low_ns > edge->high_ns)
		edge->low_ns = edge->high_ns;
}

/* A tenth of the width: less than the asymmetry of many paths. */
static void too_narrow(struct ifp_clock_edge *edge)
{
	int64_t cut_ns = (edge->high_ns - edge->low_ns) * 9 / 20;

	edge->low_ns += cut_ns;
	edge->high_ns -= cut_ns;
}

static void damage_breaks_the_promise(void **state)
{
	const struct damage damages[] = {
		{inverted, 1}, {one_sided, 1}, {early_stamp, 1}, {too_narrow, 1}, {NULL, 4}};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(damages); i++) {
		IFP_CLEANUP_FREE struct tally *tally = run_jobs(damages + i);

		print_message("damage %zu: %u violations\n", i, tally->violations);
		assert_true(tally->violations > 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truth_is_always_within_the_bound),
		cmocka_unit_test(estimate_is_far_better_than_the_bound),
		cmocka_unit_test(damage_breaks_the_promise),
	};

	return RUN_TESTS(tests);
}
