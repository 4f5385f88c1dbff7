/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/epoch.h"

#include "clocksync/estimate/deviation.h"
#include "clocksync/estimate/edge.h"
#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static void fill(const struct ifp_epoch *epoch, struct ifp_graph_edge *edges)
{
	for (uint32_t e = 0; e < epoch->edge_count; e++) {
		const struct ifp_epoch_edge *edge = epoch->edges + e;

		edges[e] = (struct ifp_graph_edge){
			.from = edge->from,
			.to = edge->to,
			.low_ns = edge->measured->low_ns,
			.high_ns = edge->measured->high_ns,
		};
	}
}

/* When an edge was measured, on the reference's clock as the client's offset gives it. */
static int64_t moment(const struct ifp_epoch_edge *edge, const struct ifp_graph_node *nodes)
{
	const struct ifp_clock_edge *m = edge->measured;

	return m->best_t1_ns + (m->best_t4_ns - m->best_t1_ns) / 2 - nodes[edge->from].offset_ns;
}

/* The middle between the first and the last edge that is connected to the reference. */
static int64_t common_moment(const struct ifp_epoch *epoch, const struct ifp_graph_node *nodes)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (uint32_t e = 0; e < epoch->edge_count; e++) {
		int64_t at = moment(epoch->edges + e, nodes);

		if (!nodes[epoch->edges[e].from].connected)
			continue;
		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	return first <= last ? first + (last - first) / 2 : 0;
}

/* Carries one edge from the moment when it was measured to the common one. */
static void carry(const struct ifp_epoch *epoch, uint32_t e, const struct ifp_graph_node *nodes,
	const double *rates, struct ifp_graph_edge *edge)
{
	const struct ifp_graph_node *client = nodes + edge->from;
	int64_t away_ns = epoch->at_ns - moment(epoch->edges + e, nodes);
	double rate = rates[edge->to] - rates[edge->from];
	int64_t middle_ns = edge->low_ns + (edge->high_ns - edge->low_ns) / 2;

	edge->middle_ns = middle_ns + llround(rate * (double)away_ns);
	/* the moment itself is known as well as the client's offset is */
	away_ns = (away_ns < 0 ? -away_ns : away_ns) + (client->high_ns - client->offset_ns);
	edge->low_ns -= ifp_drift_ns(away_ns, epoch->drift_ppm);
	edge->high_ns += ifp_drift_ns(away_ns, epoch->drift_ppm);
	if (edge->middle_ns < edge->low_ns)
		edge->middle_ns = edge->low_ns;
	if (edge->middle_ns > edge->high_ns)
		edge->middle_ns = edge->high_ns;
}

int ifp_epoch_solve(struct ifp_epoch *epoch, const double *rates, struct ifp_graph_node *nodes)
{
	IFP_CLEANUP_FREE struct ifp_graph_edge *edges =
		calloc(epoch->edge_count + 1, sizeof(*edges));
	struct ifp_graph graph = {edges, epoch->edge_count, epoch->node_count};

	if (!edges)
		return -ENOMEM;
	fill(epoch, edges);
	ifp_graph_tree(&graph, nodes);
	epoch->at_ns = common_moment(epoch, nodes);
	for (uint32_t e = 0; e < epoch->edge_count; e++) {
		if (nodes[edges[e].from].connected)
			carry(epoch, e, nodes, rates, edges + e);
	}
	if (ifp_graph_solve(&graph, nodes))
		return -ENOMEM;
	if (epoch->sigmas_ns && ifp_graph_deviation(&graph, nodes, epoch->sigmas_ns))
		return -ENOMEM;
	epoch->rejected = 0;
	for (uint32_t e = 0; e < epoch->edge_count; e++) {
		epoch->rejected += edges[e].rejected;
		epoch->edges[e].used = !edges[e].rejected && nodes[edges[e].from].connected;
	}
	return 0;
}
