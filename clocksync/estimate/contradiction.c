/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/contradiction.h"

#include "clocksync/estimate/least_squares.h"
#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Projections onto the intervals and back, at most, and the progress that is worth another. */
#define ROUNDS 60
#define PROGRESS 0.01

/* What rounding the offsets to whole nanoseconds may add to a difference. */
#define ROUNDING_NS 1

/* By how much a difference of offsets leaves an edge's interval: above > 0, below < 0. */
static double leaves(
	const struct ifp_graph_edge *edge, const struct ifp_graph_node *nodes, const double *x)
{
	int64_t base_ns = nodes[edge->to].offset_ns - nodes[edge->from].offset_ns;
	double difference = x[edge->to] - x[edge->from];
	double low = (double)(edge->low_ns - base_ns) - ROUNDING_NS;
	double high = (double)(edge->high_ns - base_ns) + ROUNDING_NS;

	return difference < low ? difference - low : difference > high ? difference - high : 0;
}

/* Writes the excesses, and what would bring each edge back into its interval. */
static double project(const struct ifp_graph *graph, const struct ifp_graph_node *nodes,
	const double *x, double *excess_ns, struct ifp_difference *differences, uint32_t *count)
{
	double sum = 0;

	*count = 0;
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		const struct ifp_graph_edge *edge = graph->edges + e;
		double beyond;

		excess_ns[e] = 0;
		if (edge->rejected || !nodes[edge->from].connected || !nodes[edge->to].connected)
			continue;
		beyond = leaves(edge, nodes, x);
		excess_ns[e] = fabs(beyond);
		sum += beyond * beyond;
		differences[(*count)++] = (struct ifp_difference){
			.from = edge->from, .to = edge->to, .value_ns = -beyond, .sigma_ns = 1};
	}
	return sum;
}

int ifp_graph_contradictions(const struct ifp_graph *graph, const struct ifp_graph_node *nodes,
	double *x, double *excess_ns)
{
	IFP_CLEANUP_FREE struct ifp_difference *differences =
		calloc(graph->edge_count + 1, sizeof(*differences));
	IFP_CLEANUP_FREE double *step = calloc(graph->node_count, sizeof(*step));
	double sum, last = HUGE_VAL;
	uint32_t count;

	if (!differences || !step)
		return -ENOMEM;
	sum = project(graph, nodes, x, excess_ns, differences, &count);
	for (int i = 0; i < ROUNDS && sum > 0 && sum < last * (1 - PROGRESS); i++) {
		last = sum;
		if (ifp_least_squares(differences, count, graph->node_count, 0, step))
			return -ENOMEM;
		for (uint32_t k = 0; k < graph->node_count; k++)
			x[k] += step[k];
		sum = project(graph, nodes, x, excess_ns, differences, &count);
	}
	return 0;
}
