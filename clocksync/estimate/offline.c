/* SPDX-License-Identifier: Apache-2.0 */
/* Our method when the run is over: all exchanges are solved together, as a run's archive is. */
#include "clocksync/estimate/hypercube.h"
#include "clocksync/estimate/map.h"
#include "core/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node's reading at the first and at the last exchange, as its agent's tuples would give it. */
struct readings {
	struct ifp_clock_tuple tuples[2];
};

struct ifp_aligner {
	struct ifp_hypercube cube;
	struct ifp_clock_rank *ranks;	   /* a rank per node */
	struct ifp_clock_samples *samples; /* per rank; edges are owned */
	struct readings *readings;
	struct ifp_clock_solution *solution; /* NULL until the last exchange */
	bool last;
};

static void offline_free(struct ifp_aligner *aligner)
{
	for (uint32_t i = 0; aligner->samples && i < aligner->cube.node_count; i++)
		free(aligner->samples[i].edges);
	ifp_clock_solution_free(&aligner->solution);
	free(aligner->samples);
	free(aligner->ranks);
	free(aligner->readings);
	ifp_hypercube_free(&aligner->cube);
	free(aligner);
}

static struct ifp_aligner *offline_new(uint32_t nodes)
{
	struct ifp_aligner *aligner = calloc(1, sizeof(*aligner));

	if (!aligner)
		return NULL;
	aligner->ranks = calloc(nodes, sizeof(*aligner->ranks));
	aligner->samples = calloc(nodes, sizeof(*aligner->samples));
	aligner->readings = calloc(nodes, sizeof(*aligner->readings));
	if (!aligner->ranks || !aligner->samples || !aligner->readings ||
		ifp_hypercube_new(nodes, &aligner->cube)) {
		offline_free(aligner);
		return NULL;
	}
	for (uint32_t i = 0; i < nodes; i++) {
		struct ifp_clock_rank *rank = aligner->ranks + i;

		rank->rank = i;
		rank->samples = aligner->samples + i;
		snprintf(rank->identity.boot_id, sizeof(rank->identity.boot_id), "node-%u", i);
	}
	return aligner;
}

static uint32_t offline_wishes(struct ifp_aligner *aligner,
	const struct ifp_aligner_occasion *occasion, const struct ifp_aligner_wish **wishes)
{
	aligner->last = occasion->last;
	ifp_hypercube_start(&aligner->cube, occasion->epoch);
	*wishes = aligner->cube.wishes;
	return aligner->cube.edge_count;
}

static void read_clock(struct ifp_aligner *aligner, uint32_t node, int64_t raw_ns)
{
	struct ifp_clock_samples *samples = aligner->samples + node;
	struct ifp_clock_tuple *tuples = aligner->readings[node].tuples;
	struct ifp_clock_tuple now = {.raw_ns = raw_ns, .realtime_ns = raw_ns};

	samples->tuples = tuples;
	if (!samples->tuple_count || raw_ns > tuples[samples->tuple_count - 1].raw_ns)
		tuples[samples->tuple_count ? 1 : 0] = now;
	if (samples->tuple_count < 2)
		samples->tuple_count += raw_ns > tuples[0].raw_ns || !samples->tuple_count;
}

static bool offline_sample(
	struct ifp_aligner *aligner, uint32_t wish, const struct ifp_round_trip *trip)
{
	struct ifp_clock_edge *edge = aligner->cube.edges + wish;

	read_clock(aligner, edge->client, trip->t4_ns);
	read_clock(aligner, edge->server, trip->t3_ns);
	return ifp_edge_add(edge, trip);
}

static int keep_edges(struct ifp_aligner *aligner)
{
	for (uint32_t e = 0; e < aligner->cube.edge_count; e++) {
		const struct ifp_clock_edge *edge = aligner->cube.edges + e;
		struct ifp_clock_samples *samples = aligner->samples + edge->client;
		uint32_t n = samples->edge_count;

		/* doubles; the capacity is the power of two at or above the count */
		if ((n & (n - 1)) == 0) {
			size_t room = n ? 2 * (size_t)n : 1;
			void *grown = realloc(samples->edges, room * sizeof(*samples->edges));

			if (!grown)
				return -ENOMEM;
			samples->edges = grown;
		}
		samples->edges[samples->edge_count++] = *edge;
	}
	return 0;
}

static int offline_settle(struct ifp_aligner *aligner)
{
	int err = keep_edges(aligner);

	if (!err && aligner->last)
		err = ifp_clock_solve(aligner->ranks, aligner->cube.node_count, &aligner->solution);
	return err;
}

static ifp_global_ns offline_map(
	const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local)
{
	if (!aligner->solution)
		return (ifp_global_ns){local.ns};
	return ifp_clock_map_global(
		ifp_clock_solution_map(aligner->solution, node), IFP_CLOCK_RAW, local.ns);
}

static int64_t offline_bound_ns(
	const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local)
{
	if (!aligner->solution)
		return INT64_MAX;
	return ifp_clock_map_bound_ns(
		ifp_clock_solution_map(aligner->solution, node), offline_map(aligner, node, local));
}

const struct ifp_aligner_ops ifp_aligner_offline = {
	.name = "infprof, offline",
	.idea = "hypercube, intervals and least squares, a smoother over all exchanges",
	.when = IFP_ALIGNED_AFTERWARDS,
	.new = offline_new,
	.free = offline_free,
	.wishes = offline_wishes,
	.sample = offline_sample,
	.settle = offline_settle,
	.map = offline_map,
	.bound_ns = offline_bound_ns,
};
