/* SPDX-License-Identifier: Apache-2.0 */
/* Our method while the run is going on: every exchange is solved at once, servos do the rest. */
#include "clocksync/estimate/epoch.h"
#include "clocksync/estimate/hypercube.h"
#include "clocksync/estimate/map.h"
#include "clocksync/estimate/servo.h"
#include "core/cleanup.h"

#include <errno.h>
#include <stdlib.h>

struct ifp_aligner {
	struct ifp_hypercube cube;
	struct ifp_servo **servos; /* per node */
	int64_t period_ns;
};

static void online_free(struct ifp_aligner *aligner)
{
	for (uint32_t i = 0; aligner->servos && i < aligner->cube.node_count; i++)
		ifp_servo_free(aligner->servos[i]);
	free(aligner->servos);
	ifp_hypercube_free(&aligner->cube);
	free(aligner);
}

static struct ifp_aligner *online_new(uint32_t nodes)
{
	struct ifp_aligner *aligner = calloc(1, sizeof(*aligner));
	bool complete;

	if (!aligner)
		return NULL;
	aligner->servos = calloc(nodes, sizeof(struct ifp_servo *));
	complete = aligner->servos && !ifp_hypercube_new(nodes, &aligner->cube);
	for (uint32_t i = 0; complete && i < nodes; i++)
		complete = (aligner->servos[i] = ifp_servo_new()) != NULL;
	if (!complete) {
		online_free(aligner);
		return NULL;
	}
	return aligner;
}

static uint32_t online_wishes(struct ifp_aligner *aligner,
	const struct ifp_aligner_occasion *occasion, const struct ifp_aligner_wish **wishes)
{
	aligner->period_ns = occasion->period_ns;
	ifp_hypercube_start(&aligner->cube, occasion->epoch);
	*wishes = aligner->cube.wishes;
	return aligner->cube.edge_count;
}

static bool online_sample(
	struct ifp_aligner *aligner, uint32_t wish, const struct ifp_round_trip *trip)
{
	return ifp_edge_add(aligner->cube.edges + wish, trip);
}

static uint32_t usable_edges(const struct ifp_hypercube *cube, struct ifp_epoch_edge *edges)
{
	uint32_t count = 0;

	for (uint32_t e = 0; e < cube->edge_count; e++) {
		const struct ifp_clock_edge *edge = cube->edges + e;

		if (ifp_edge_usable(edge))
			edges[count++] =
				(struct ifp_epoch_edge){edge->client, edge->server, edge, false};
	}
	return count;
}

static int online_settle(struct ifp_aligner *aligner)
{
	uint32_t nodes = aligner->cube.node_count;
	IFP_CLEANUP_FREE struct ifp_epoch_edge *edges =
		calloc(aligner->cube.edge_count + 1, sizeof(*edges));
	IFP_CLEANUP_FREE struct ifp_graph_node *found = calloc(nodes, sizeof(*found));
	IFP_CLEANUP_FREE double *rates = calloc(nodes, sizeof(*rates));
	struct ifp_epoch epoch = {
		.edges = edges, .node_count = nodes, .drift_ppm = IFP_CLOCK_DRIFT_PPM};

	if (!edges || !found || !rates)
		return -ENOMEM;
	for (uint32_t i = 0; i < nodes; i++)
		rates[i] = ifp_servo_rate(aligner->servos[i]);
	epoch.edge_count = usable_edges(&aligner->cube, edges);
	if (ifp_epoch_solve(&epoch, rates, found))
		return -ENOMEM;
	for (uint32_t i = 1; i < nodes; i++) {
		ifp_local_ns local = {epoch.at_ns + found[i].offset_ns};

		if (found[i].connected)
			ifp_servo_observe(
				aligner->servos[i], local, found[i].offset_ns, aligner->period_ns);
	}
	return 0;
}

static ifp_global_ns online_map(
	const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local)
{
	return ifp_servo_global(aligner->servos[node], local);
}

const struct ifp_aligner_ops ifp_aligner_online = {
	.name = "infprof, online",
	.idea = "hypercube, intervals and least squares at each exchange; a servo in between",
	.when = IFP_ALIGNED_ALWAYS,
	.new = online_new,
	.free = online_free,
	.wishes = online_wishes,
	.sample = online_sample,
	.settle = online_settle,
	.map = online_map,
};
