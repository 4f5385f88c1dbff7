/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/measured.h"

#include "clocksync/estimate/edge.h"
#include "clocksync/estimate/smoother.h"
#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * First with rates unknown, then with the rates that this gave; more often only when the drift
 * assumption has turned out to be too small. It at least doubles then, so it is large enough for
 * all that can be clocks before the passes end.
 */
#define MAX_PASSES 40

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

/* A solving of all epochs: what it takes from the one before, and what it leaves for the next. */
struct pass {
	struct ifp_clock_solution *solution;
	struct ifp_epoch_edge *edges;
	uint32_t edge_count, epoch_count;
	int64_t *at_ns;	     /* per epoch */
	double *rates;	     /* per epoch and node: the drift then, in ns per ns */
	double *sigmas_ns;   /* per node, as the last epochs with as many edges let expect */
	uint32_t sigmas_for; /* that number of edges */
};

static int pass_alloc(struct pass *pass)
{
	uint32_t nodes = pass->solution->node_count;

	pass->epoch_count = count_epochs(pass->edges, pass->edge_count);
	pass->at_ns = calloc(pass->epoch_count + 1, sizeof(*pass->at_ns));
	pass->rates = calloc((size_t)pass->epoch_count * nodes + 1, sizeof(*pass->rates));
	pass->sigmas_ns = calloc(nodes, sizeof(*pass->sigmas_ns));
	if (!pass->at_ns || !pass->rates || !pass->sigmas_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < nodes; i++) {
		struct ifp_track *track = &pass->solution->nodes[i].track;

		track->points = calloc(pass->epoch_count + 2, sizeof(*track->points));
		if (!track->points)
			return -ENOMEM;
	}
	return 0;
}

static void pass_free(struct pass *pass)
{
	free(pass->at_ns);
	free(pass->rates);
	free(pass->sigmas_ns);
}

static int solve_epoch(struct pass *pass, uint32_t e, struct ifp_epoch *epoch)
{
	struct ifp_clock_solution *solution = pass->solution;
	IFP_CLEANUP_FREE struct ifp_graph_node *found = calloc(epoch->node_count, sizeof(*found));
	IFP_CLEANUP_FREE bool *seen = calloc(epoch->node_count, sizeof(*seen));

	/* trying out how errors add up costs more than solving; it is the same from time to time */
	if (epoch->edge_count != pass->sigmas_for)
		epoch->sigmas_ns = pass->sigmas_ns;
	pass->sigmas_for = epoch->edge_count;
	if (!found || !seen ||
		ifp_epoch_solve(epoch, pass->rates + (size_t)e * epoch->node_count, found))
		return -ENOMEM;
	pass->at_ns[e] = epoch->at_ns;
	note_participants(solution->nodes, epoch, seen);
	for (uint32_t i = 0; i < epoch->node_count; i++) {
		struct ifp_track_point point = {.global_ns = epoch->at_ns,
			.offset_ns = found[i].offset_ns,
			.low_ns = found[i].low_ns,
			.high_ns = found[i].high_ns,
			.sigma_ns = pass->sigmas_ns[i]};

		/* connected now, but not when sigmas were tried out */
		if (point.sigma_ns == 0)
			point.sigma_ns = (double)(point.high_ns - point.low_ns) / 2 / sqrt(3);
		solution->nodes[i].epochs += seen[i];
		if (i && found[i].connected)
			ifp_track_add(&solution->nodes[i].track, &point);
	}
	solution->rejected_edges += epoch->rejected;
	return 0;
}

static int solve_pass(struct pass *pass)
{
	struct ifp_clock_solution *solution = pass->solution;

	solution->rejected_edges = 0;
	pass->sigmas_for = 0;
	for (uint32_t i = 0; i < solution->node_count; i++) {
		struct ifp_clock_node *node = solution->nodes + i;

		node->track.count = 0;
		node->track.drift_ppm = solution->drift_ppm;
		node->epochs = 0;
		node->over_mpi = false;
	}
	for (uint32_t first = 0, e = 0, n; first < pass->edge_count; first += n, e++) {
		struct ifp_epoch epoch = {.edges = pass->edges + first,
			.edge_count = n =
				epoch_length(pass->edges + first, pass->edge_count - first),
			.node_count = solution->node_count,
			.drift_ppm = solution->drift_ppm};

		if (solve_epoch(pass, e, &epoch))
			return -ENOMEM;
	}
	return 0;
}

/* The steepest drift that contradicts the assumption, 0 when none does. */
static int64_t tighten(struct ifp_clock_solution *solution)
{
	int64_t steepest_ppm = 0;

	for (uint32_t i = 0; i < solution->node_count; i++) {
		int64_t ppm = ifp_track_tighten(&solution->nodes[i].track);

		steepest_ppm = ppm > steepest_ppm ? ppm : steepest_ppm;
	}
	return steepest_ppm;
}

/* The rates of one node at all epochs, from its track. */
static void note_rates(struct pass *pass, uint32_t node)
{
	const struct ifp_track *track = &pass->solution->nodes[node].track;
	uint32_t point = 0;

	for (uint32_t e = 0; track->count && e < pass->epoch_count; e++) {
		double rate;

		while (point + 1 < track->count &&
			track->points[point + 1].global_ns <= pass->at_ns[e])
			point++;
		rate = track->points[point].rate;
		pass->rates[(size_t)e * pass->solution->node_count + node] =
			fabs(rate) > RATE_LIMIT ? 0 : rate;
	}
}

/* From what each epoch says alone to what all of them say together. */
static int smooth(struct pass *pass)
{
	struct ifp_clock_solution *solution = pass->solution;
	IFP_CLEANUP_FREE const struct ifp_track **tracks =
		calloc(solution->node_count, sizeof(*tracks));
	struct ifp_noise noise;

	if (!tracks)
		return -ENOMEM;
	for (uint32_t i = 1; i < solution->node_count; i++)
		tracks[i - 1] = &solution->nodes[i].track;
	if (ifp_smoother_fit(tracks, solution->node_count - 1, &noise))
		return -ENOMEM;
	for (uint32_t i = 1; i < solution->node_count; i++) {
		if (ifp_smoother_apply(&solution->nodes[i].track, &noise))
			return -ENOMEM;
		ifp_track_confine(&solution->nodes[i].track);
		note_rates(pass, i);
	}
	return 0;
}

static void raise_drift(struct ifp_clock_solution *solution, int64_t steepest_ppm)
{
	int64_t ppm = steepest_ppm + IFP_CLOCK_DRIFT_PPM;

	solution->drift_ppm = ppm > 2 * solution->drift_ppm ? ppm : 2 * solution->drift_ppm;
}

int ifp_measured_solve(
	struct ifp_clock_solution *solution, struct ifp_epoch_edge *edges, uint32_t count)
{
	IFP_CLEANUP(pass_free)
	struct pass pass = {.solution = solution, .edges = edges, .edge_count = count};

	if (pass_alloc(&pass))
		return -ENOMEM;
	for (int i = 0; i < MAX_PASSES; i++) {
		int64_t steepest_ppm;

		if (solve_pass(&pass))
			return -ENOMEM;
		steepest_ppm = tighten(solution);
		if (smooth(&pass))
			return -ENOMEM;
		if (steepest_ppm)
			raise_drift(solution, steepest_ppm);
		else if (i > 0)
			break;
	}
	for (uint32_t i = 0; i < solution->node_count; i++)
		solution->nodes[i].method = i == 0			     ? IFP_CLOCK_SHARED
					    : solution->nodes[i].track.count ? IFP_CLOCK_EXCHANGED
									     : IFP_CLOCK_UNALIGNED;
	return 0;
}
