/* SPDX-License-Identifier: Apache-2.0 */
#include "random_job.h"

#include "clocksync/exchange/plan.h"
#include "core/cleanup.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>

#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S

#define MAX_NODES 24
#define MAX_RANKS_PER_NODE 4
#define MAX_EPOCHS 100
#define MAX_TRIPS 24
#define MOMENTS_BETWEEN 60

struct job {
	struct ifp_sim sim;
	const struct damage *damage;
	ifp_true_ns epochs[MAX_EPOCHS]; /* their middles */
	int64_t lengths_ns[MAX_EPOCHS];
	uint32_t epoch_count;
	int64_t pair_gap_ns, pause_ns; /* between pairs, and at most between round trips */
};

/* Mutual drift stays below 45 ppm, wander and walk included. */
static void random_clocks(struct ifp_sim *sim, double drift_factor)
{
	for (uint32_t i = 0; i < sim->node_count; i++) {
		struct ifp_sim_clock *clock = sim->clocks + i;

		clock->offset_ns = 100000 * S + ifp_sim_random_within(sim, 90000 * S);
		clock->drift_ppm = drift_factor * (40 * ifp_sim_random(sim) - 20);
		clock->wander_ppm = ifp_sim_random(sim);
		clock->wander_period_s = 10 + 300 * ifp_sim_random(sim);
		clock->wander_phase = 6 * ifp_sim_random(sim);
		clock->step_ns = ifp_sim_random(sim) < 0.3 ? ifp_sim_random_within(sim, S) : 0;
		clock->step_at.ns = (int64_t)(100.0 * (double)S * ifp_sim_random(sim));
	}
}

/* One-way delays from 20 ns, over shared memory, to 50 us, over a congested path. */
static void random_network(struct ifp_sim *sim)
{
	int64_t floor_ns = (int64_t)(20 * pow(2500, ifp_sim_random(sim)));

	sim->network = (struct ifp_sim_network){
		.floor_ns = floor_ns,
		.jitter_ns = (double)floor_ns * ifp_sim_random(sim),
		.asymmetry_ns = (int64_t)((double)floor_ns * ifp_sim_random(sim)),
		.spike_share = 0.1 * ifp_sim_random(sim),
		.spike_ns = 5 * MS,
	};
}

/* One exchange, pairs one after the other, as they come over MPI or ZeroMQ. */
static ifp_true_ns exchange(struct job *job, uint32_t epoch, ifp_true_ns at)
{
	struct ifp_sim *sim = &job->sim;
	struct ifp_clock_pair pairs[MAX_NODES * 6];
	uint32_t count = ifp_clock_plan(sim->node_count, pairs);
	uint32_t trips = 1 + (uint32_t)(MAX_TRIPS * ifp_sim_random(sim));

	for (uint32_t i = 0; i < count; i++) {
		struct ifp_sim_pair pair = {pairs[i].client, pairs[i].server, epoch};
		struct ifp_clock_edge edge = {.epoch = epoch,
			.client = pair.client * sim->ranks_per_node,
			.server = pair.server * sim->ranks_per_node};

		ifp_edge_start(&edge);
		for (uint32_t k = 0; k < trips; k++) {
			struct ifp_round_trip trip = ifp_sim_round_trip(sim, &pair, k, &at);

			if (job->damage->trip)
				job->damage->trip(&trip, ifp_sim_random(sim));
			ifp_edge_add(&edge, &trip);
			at.ns += (int64_t)((double)job->pause_ns * ifp_sim_random(sim));
		}
		assert_ok(ifp_sim_keep(sim, &edge));
		at.ns += job->pair_gap_ns;
	}
	return at;
}

/* The widest interval of an exchange. */
static int64_t widest_ns(const struct ifp_sim *sim, uint32_t epoch)
{
	int64_t widest = 0;

	for (uint32_t r = 0; r < sim->node_count * sim->ranks_per_node; r++) {
		for (uint32_t e = 0; e < sim->samples[r].edge_count; e++) {
			const struct ifp_clock_edge *edge = sim->samples[r].edges + e;
			int64_t width_ns = edge->high_ns - edge->low_ns;

			if (edge->epoch == epoch && width_ns > widest)
				widest = width_ns;
		}
	}
	return widest;
}

/* One edge of each exchange lies: by 20 to 1000 times what the others leave open. */
static void falsify(struct job *job, struct tally *tally)
{
	struct ifp_sim *sim = &job->sim;

	for (uint32_t e = 0; e < job->epoch_count; e++) {
		uint32_t rank = 0, skip;
		struct ifp_clock_edge *edge;
		int64_t room_ns, shift_ns;

		/* edges stand with their clients in the order of exchanges, as many in each */
		do
			rank = (uint32_t)(ifp_sim_random(sim) * sim->node_count) *
			       sim->ranks_per_node;
		while (!sim->samples[rank].edge_count);
		skip = sim->samples[rank].edge_count / job->epoch_count;
		edge = sim->samples[rank].edges + e * skip + (uint32_t)(ifp_sim_random(sim) * skip);
		room_ns = widest_ns(sim, e) +
			  ifp_drift_ns(job->lengths_ns[e], IFP_CLOCK_DRIFT_PPM);
		shift_ns = (int64_t)((double)room_ns * (20 + 980 * ifp_sim_random(sim)));
		shift_ns = ifp_sim_random(sim) < 0.5 ? -shift_ns : shift_ns;
		edge->low_ns += shift_ns;
		edge->high_ns += shift_ns;
		tally->false_edges++;
	}
}

static void damage_edges(struct job *job, struct tally *tally)
{
	for (uint32_t r = 0; r < job->sim.node_count * job->sim.ranks_per_node; r++) {
		for (uint32_t e = 0; job->damage->edge && e < job->sim.samples[r].edge_count; e++)
			job->damage->edge(job->sim.samples[r].edges + e);
	}
	if (job->damage->false_edges)
		falsify(job, tally);
}

static void note_error(struct tally *tally, int64_t error_ns)
{
	if (tally->error_count == tally->error_room) {
		tally->error_room = tally->error_room ? 2 * tally->error_room : 4096;
		tally->errors_ns =
			realloc(tally->errors_ns, tally->error_room * sizeof(*tally->errors_ns));
		assert_non_null(tally->errors_ns);
	}
	tally->errors_ns[tally->error_count++] = error_ns;
}

int64_t random_job_look(const struct ifp_sim *sim, const struct ifp_clock_solution *solution,
	uint32_t rank, ifp_true_ns moment, struct tally *tally)
{
	const struct ifp_clock_map *map = ifp_clock_solution_map(solution, rank);
	int64_t truth_ns = ifp_sim_raw(sim->clocks, moment);
	int64_t local_ns = ifp_sim_raw(sim->clocks + rank / sim->ranks_per_node, moment);
	int64_t error_ns = llabs(ifp_clock_map_global(map, IFP_CLOCK_RAW, local_ns).ns - truth_ns);
	struct ifp_clock_epoch here = ifp_clock_map_at(map, (ifp_global_ns){truth_ns});
	int64_t offset_ns = local_ns - truth_ns;
	bool within = here.low_ns <= offset_ns + 1 && offset_ns - 1 <= here.high_ns;

	tally->violations +=
		!within || error_ns > ifp_clock_map_bound_ns(map, (ifp_global_ns){truth_ns});
	return error_ns;
}

/* A rank at an exchange. */
static void look_at_epoch(const struct job *job, const struct ifp_clock_solution *solution,
	uint32_t rank, ifp_true_ns moment, struct tally *tally)
{
	const struct ifp_sim *sim = &job->sim;
	const struct ifp_clock_map *map = ifp_clock_solution_map(solution, rank);
	ifp_global_ns at = {ifp_sim_raw(sim->clocks, moment)};
	int64_t error_ns = random_job_look(sim, solution, rank, moment, tally);

	tally->rank_epochs++;
	if (rank < sim->ranks_per_node || rank % sim->ranks_per_node)
		return;
	note_error(tally, error_ns);
	tally->square_sum += pow((double)error_ns / ifp_clock_map_at(map, at).sigma_ns, 2);
	tally->squares++;
	if (job->pair_gap_ns || job->pause_ns) /* drift rules there */
		return;
	tally->widths++;
	tally->relative_width_sum += (double)ifp_clock_map_bound_ns(map, at) /
				     ((double)sim->network.floor_ns + sim->network.jitter_ns +
					     (double)sim->network.asymmetry_ns);
}

static void look_at_all(
	struct job *job, const struct ifp_clock_solution *solution, struct tally *tally)
{
	struct ifp_sim *sim = &job->sim;

	for (uint32_t r = 0; r < sim->node_count * sim->ranks_per_node; r++) {
		for (uint32_t e = 0; e < job->epoch_count; e++)
			look_at_epoch(job, solution, r, job->epochs[e], tally);
		for (uint32_t i = 0; i < job->epoch_count; i++) {
			double last = (double)job->epochs[job->epoch_count - 1].ns;
			ifp_true_ns moment = {(int64_t)(1.1 * last * ifp_sim_random(sim))};

			random_job_look(sim, solution, r, moment, tally);
			tally->moments++;
		}
	}
}

static void run_job(uint64_t seed, const struct damage *damage, struct tally *tally)
{
	struct job job = {.damage = damage};
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	uint32_t nodes = 2 + (uint32_t)(seed * 7 % (MAX_NODES - 1));
	ifp_true_ns start = {0};
	int64_t apart_ns;

	/* a false edge shows only where loops go through every node */
	if (damage->false_edges)
		nodes = seed % 2 ? 8 : 16;
	assert_ok(ifp_sim_new(seed, nodes, 1 + seed % MAX_RANKS_PER_NODE, &job.sim));
	random_clocks(&job.sim, damage->drift_factor);
	assert_ok(ifp_sim_walk(&job.sim, 2e-3 * ifp_sim_random(&job.sim), 1000));
	random_network(&job.sim);
	job.epoch_count = seed % 3 ? 10 + (uint32_t)(90 * ifp_sim_random(&job.sim)) : 1 + seed % 4;
	job.pair_gap_ns = seed % 2 ? 10 * MS : 0;
	job.pause_ns = seed % 5 ? 0 : 10 * MS;
	if (damage->false_edges)
		job.pair_gap_ns = job.pause_ns = 0;
	apart_ns = (int64_t)(seed % 3 ? 30e9 * ifp_sim_random(&job.sim)
				      : 300e9 * ifp_sim_random(&job.sim));
	for (uint32_t e = 0; e < job.epoch_count; e++) {
		ifp_true_ns end = exchange(&job, e, start);

		job.lengths_ns[e] = end.ns - start.ns;
		job.epochs[e].ns = start.ns + (end.ns - start.ns) / 2;
		start.ns = end.ns + S + (int64_t)((double)apart_ns * ifp_sim_random(&job.sim));
	}
	damage_edges(&job, tally);
	assert_ok(ifp_sim_tuples(&job.sim, (ifp_true_ns){0}, (ifp_true_ns){100 * S}, 25 * S));
	assert_ok(ifp_clock_solve(job.sim.ranks, nodes * job.sim.ranks_per_node, &solution));
	tally->rejected += ifp_clock_solution_rejected_edges(solution);
	look_at_all(&job, solution, tally);
	ifp_sim_free(&job.sim);
}

void random_jobs(uint64_t first, uint64_t last, const struct damage *damage, struct tally *tally)
{
	for (uint64_t seed = first; seed < last; seed++)
		run_job(seed, damage, tally);
}

void tally_free(struct tally *tally)
{
	free(tally->errors_ns);
}
