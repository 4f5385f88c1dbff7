/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/measured.h"

#include "clocksync/estimate/edge.h"
#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * First with rates unknown, then with the rates that this gave; more often only when the drift
 * assumption has turned out to be too small.
 */
#define MAX_PASSES 4

/* Rates beyond 1 % are none: they come from epochs that lie too close together. */
#define RATE_LIMIT 0.01

struct rank_number {
	uint32_t rank, index;
};

static int compare_ranks(const void *a, const void *b)
{
	uint32_t x = ((const struct rank_number *)a)->rank;
	uint32_t y = ((const struct rank_number *)b)->rank;

	return (x > y) - (x < y);
}

static int compare_epochs(const void *a, const void *b)
{
	const struct ifp_epoch_edge *x = a, *y = b;

	return (x->measured->epoch > y->measured->epoch) -
	       (x->measured->epoch < y->measured->epoch);
}

/* Node of a rank's number; UINT32_MAX for a rank that is not there. */
static uint32_t find_node(
	const struct rank_number *numbers, const struct ifp_clock_solution *solution, uint32_t rank)
{
	struct rank_number key = {.rank = rank};
	const struct rank_number *found =
		bsearch(&key, numbers, solution->rank_count, sizeof(key), compare_ranks);

	return found ? solution->node_of_rank[found->index] : UINT32_MAX;
}

static uint32_t collect(const struct ifp_clock_rank *ranks,
	const struct ifp_clock_solution *solution, const struct rank_number *numbers,
	struct ifp_epoch_edge *out)
{
	uint32_t count = 0;

	for (uint32_t r = 0; r < solution->rank_count; r++) {
		const struct ifp_clock_samples *samples = ranks[r].samples;

		for (uint32_t e = 0; samples && e < samples->edge_count; e++) {
			const struct ifp_clock_edge *edge = samples->edges + e;
			uint32_t from = find_node(numbers, solution, edge->client);
			uint32_t to = find_node(numbers, solution, edge->server);

			if (from != UINT32_MAX && to != UINT32_MAX && from != to &&
				ifp_edge_usable(edge))
				out[count++] = (struct ifp_epoch_edge){from, to, edge, false};
		}
	}
	return count;
}

int ifp_measured_collect(const struct ifp_clock_rank *ranks,
	const struct ifp_clock_solution *solution, struct ifp_epoch_edge **edges, uint32_t *count)
{
	IFP_CLEANUP_FREE struct rank_number *numbers =
		calloc(solution->rank_count, sizeof(*numbers));
	size_t total = 0;
	struct ifp_epoch_edge *all;

	for (uint32_t r = 0; r < solution->rank_count; r++)
		total += ranks[r].samples ? ranks[r].samples->edge_count : 0;
	all = calloc(total + 1, sizeof(*all));
	if (!numbers || !all) {
		free(all);
		return -ENOMEM;
	}
	for (uint32_t r = 0; r < solution->rank_count; r++)
		numbers[r] = (struct rank_number){ranks[r].rank, r};
	qsort(numbers, solution->rank_count, sizeof(*numbers), compare_ranks);
	*count = collect(ranks, solution, numbers, all);
	qsort(all, *count, sizeof(*all), compare_epochs);
	*edges = all;
	return 0;
}

/* Number of edges of the epoch that begins at edges[0]. */
static uint32_t epoch_length(const struct ifp_epoch_edge *edges, uint32_t count)
{
	uint32_t n = 1;

	while (n < count && edges[n].measured->epoch == edges[0].measured->epoch)
		n++;
	return n;
}

static uint32_t count_epochs(const struct ifp_epoch_edge *edges, uint32_t count)
{
	uint32_t epochs = 0;

	for (uint32_t e = 0; e < count; e += epoch_length(edges + e, count - e))
		epochs++;
	return epochs;
}

static void note_participants(
	struct ifp_clock_node *nodes, const struct ifp_epoch *epoch, bool *seen)
{
	for (uint32_t e = 0; e < epoch->edge_count; e++) {
		const struct ifp_epoch_edge *edge = epoch->edges + e;

		if (!edge->used)
			continue;
		seen[edge->from] = seen[edge->to] = true;
		nodes[edge->from].over_mpi |= edge->measured->over_mpi != 0;
		nodes[edge->to].over_mpi |= edge->measured->over_mpi != 0;
	}
}

static int solve_epoch(
	struct ifp_clock_solution *solution, struct ifp_epoch *epoch, const double *rates)
{
	IFP_CLEANUP_FREE struct ifp_graph_node *found = calloc(epoch->node_count, sizeof(*found));
	IFP_CLEANUP_FREE bool *seen = calloc(epoch->node_count, sizeof(*seen));

	if (!found || !seen || ifp_epoch_solve(epoch, rates, found))
		return -ENOMEM;
	note_participants(solution->nodes, epoch, seen);
	for (uint32_t i = 0; i < epoch->node_count; i++) {
		struct ifp_track_point point = {.global_ns = epoch->at_ns,
			.offset_ns = found[i].offset_ns,
			.low_ns = found[i].low_ns,
			.high_ns = found[i].high_ns};

		solution->nodes[i].epochs += seen[i];
		if (i && found[i].connected)
			ifp_track_add(&solution->nodes[i].track, &point);
	}
	solution->rejected_edges += epoch->rejected;
	return 0;
}

static int solve_pass(struct ifp_clock_solution *solution, struct ifp_epoch_edge *edges,
	uint32_t count, const double *rates)
{
	solution->rejected_edges = 0;
	for (uint32_t i = 0; i < solution->node_count; i++) {
		struct ifp_clock_node *node = solution->nodes + i;

		node->track.count = 0;
		node->track.drift_ppm = solution->drift_ppm;
		node->epochs = 0;
		node->over_mpi = false;
	}
	for (uint32_t e = 0, n; e < count; e += n) {
		struct ifp_epoch epoch = {.edges = edges + e,
			.edge_count = n = epoch_length(edges + e, count - e),
			.node_count = solution->node_count,
			.drift_ppm = solution->drift_ppm};

		if (solve_epoch(solution, &epoch, rates))
			return -ENOMEM;
	}
	return 0;
}

/* Nothing but the intervals is known: as if every offset in them were equally likely. */
static void guess_sigmas(struct ifp_track *track)
{
	for (uint32_t i = 0; i < track->count; i++) {
		struct ifp_track_point *p = track->points + i;

		p->sigma_ns = (double)(p->high_ns - p->low_ns) / 2 / sqrt(3);
		p->rate_sigma = (double)track->drift_ppm * 1000 / sqrt(3);
	}
}

/* Rates of all nodes; the steepest drift that contradicts the assumption, 0 when none does. */
static int64_t judge_pass(struct ifp_clock_solution *solution, double *rates)
{
	int64_t steepest_ppm = 0;

	for (uint32_t i = 0; i < solution->node_count; i++) {
		struct ifp_track *track = &solution->nodes[i].track;
		double rate = ifp_track_rate(track);
		int64_t ppm = ifp_track_tighten(track);

		guess_sigmas(track);
		ifp_track_confine(track);
		ifp_track_join(track);
		rates[i] = rate > RATE_LIMIT || rate < -RATE_LIMIT ? 0 : rate;
		steepest_ppm = ppm > steepest_ppm ? ppm : steepest_ppm;
	}
	return steepest_ppm;
}

int ifp_measured_solve(
	struct ifp_clock_solution *solution, struct ifp_epoch_edge *edges, uint32_t count)
{
	IFP_CLEANUP_FREE double *rates = calloc(solution->node_count, sizeof(*rates));
	uint32_t epochs = count_epochs(edges, count);

	if (!rates)
		return -ENOMEM;
	for (uint32_t i = 0; i < solution->node_count; i++) {
		struct ifp_track *track = &solution->nodes[i].track;

		track->points = calloc(epochs + 2, sizeof(*track->points));
		if (!track->points)
			return -ENOMEM;
	}
	for (int pass = 0; pass < MAX_PASSES; pass++) {
		int64_t steepest_ppm;

		if (solve_pass(solution, edges, count, rates))
			return -ENOMEM;
		steepest_ppm = judge_pass(solution, rates);
		if (steepest_ppm)
			solution->drift_ppm = steepest_ppm + IFP_CLOCK_DRIFT_PPM;
		else if (pass > 0)
			break;
	}
	for (uint32_t i = 0; i < solution->node_count; i++)
		solution->nodes[i].method = i == 0			     ? IFP_CLOCK_SHARED
					    : solution->nodes[i].track.count ? IFP_CLOCK_EXCHANGED
									     : IFP_CLOCK_UNALIGNED;
	return 0;
}
