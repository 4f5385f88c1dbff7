/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/graph.h"

#include "clocksync/estimate/contradiction.h"
#include "clocksync/estimate/least_squares.h"
#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What rounding the least-squares solution to whole nanoseconds may add to a difference. */
#define ROUNDING_NS 1

/* After that many solutions all contradicting edges are rejected at once: time stays bounded. */
#define MAX_SOLUTIONS 16

/* Intervals are whole nanoseconds, and solutions end with some error. */
#define LEAST_CONTRADICTION_NS 2

/* Sums along a path beyond this are no clocks. */
#define OFFSET_LIMIT_NS (INT64_C(1) << 61)

static int64_t half_width(const struct ifp_graph_edge *edge)
{
	return (edge->high_ns - edge->low_ns) / 2 + 1;
}

/* Reaches b from a over an edge with the given middle, when that is closer than before. */
static bool reach(const struct ifp_graph_node *a, struct ifp_graph_node *b, int64_t middle_ns,
	int64_t half_ns)
{
	int64_t width_ns = a->connected ? a->high_ns - a->offset_ns + half_ns : INT64_MAX;
	__int128 offset = (__int128)a->offset_ns + middle_ns;

	if (!a->connected || (b->connected && b->high_ns - b->offset_ns <= width_ns) ||
		offset > OFFSET_LIMIT_NS || offset < -OFFSET_LIMIT_NS || width_ns > OFFSET_LIMIT_NS)
		return false;
	b->connected = true;
	b->offset_ns = (int64_t)offset;
	b->low_ns = b->offset_ns - width_ns;
	b->high_ns = b->offset_ns + width_ns;
	return true;
}

void ifp_graph_tree(const struct ifp_graph *graph, struct ifp_graph_node *nodes)
{
	bool changed = true;

	memset(nodes, 0, graph->node_count * sizeof(*nodes));
	nodes[0].connected = true;
	for (uint32_t round = 0; changed && round < graph->node_count; round++) {
		changed = false;
		for (uint32_t e = 0; e < graph->edge_count; e++) {
			const struct ifp_graph_edge *edge = graph->edges + e;
			struct ifp_graph_node *from = nodes + edge->from, *to = nodes + edge->to;
			int64_t middle = edge->low_ns + (edge->high_ns - edge->low_ns) / 2;

			if (edge->rejected)
				continue;
			changed |= reach(from, to, middle, half_width(edge));
			changed |= reach(to, from, -middle, half_width(edge));
		}
	}
}

/* An edge relative to the offsets that the tree gave: small numbers. */
static int64_t base(const struct ifp_graph_edge *edge, const struct ifp_graph_node *nodes)
{
	return nodes[edge->to].offset_ns - nodes[edge->from].offset_ns;
}

static bool in_use(const struct ifp_graph_edge *edge, const struct ifp_graph_node *nodes)
{
	return !edge->rejected && nodes[edge->from].connected && nodes[edge->to].connected;
}

static int estimate(const struct ifp_graph *graph, const struct ifp_graph_node *nodes, double *x)
{
	IFP_CLEANUP_FREE struct ifp_difference *differences =
		calloc(graph->edge_count + 1, sizeof(*differences));
	uint32_t count = 0;

	if (!differences)
		return -ENOMEM;
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		const struct ifp_graph_edge *edge = graph->edges + e;

		if (in_use(edge, nodes))
			differences[count++] = (struct ifp_difference){edge->from, edge->to,
				(double)(edge->middle_ns - base(edge, nodes)),
				(double)half_width(edge)};
	}
	return ifp_least_squares(differences, count, graph->node_count, IFP_REWEIGHTINGS, x);
}

/* Whether the estimate leaves the edge's interval. */
static bool violated(
	const struct ifp_graph_edge *edge, const struct ifp_graph_node *nodes, const double *x)
{
	double difference = x[edge->to] - x[edge->from];
	double low = (double)(edge->low_ns - base(edge, nodes)) - ROUNDING_NS;
	double high = (double)(edge->high_ns - base(edge, nodes)) + ROUNDING_NS;

	return in_use(edge, nodes) && (difference < low || difference > high);
}

static bool any_violated(
	const struct ifp_graph *graph, const struct ifp_graph_node *nodes, const double *x)
{
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		if (violated(graph->edges + e, nodes, x))
			return true;
	}
	return false;
}

/*
 * Rejects the edge that contradicts most, and those elsewhere in the graph that contradict at
 * least half as much and most among their neighbours: a false edge draws its neighbours along, but
 * far away false edges do not need a solution of their own each. Or all. False = none does.
 */
static bool reject_worst(
	struct ifp_graph *graph, const double *excess_ns, double *worst_at, bool all)
{
	double most = 0;

	memset(worst_at, 0, graph->node_count * sizeof(*worst_at));
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		const struct ifp_graph_edge *edge = graph->edges + e;

		worst_at[edge->from] = fmax(worst_at[edge->from], excess_ns[e]);
		worst_at[edge->to] = fmax(worst_at[edge->to], excess_ns[e]);
		most = fmax(most, excess_ns[e]);
	}
	if (most < LEAST_CONTRADICTION_NS)
		return false;
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		struct ifp_graph_edge *edge = graph->edges + e;
		double much = excess_ns[e];
		bool first = much >= worst_at[edge->from] && much >= worst_at[edge->to];

		if (all ? much > 0 : first && much >= most / 2)
			edge->rejected = true;
	}
	return true;
}

/* 1 when edges were rejected and the rest is to be solved again, 0 when not, -ENOMEM. */
static int reject(
	struct ifp_graph *graph, const struct ifp_graph_node *nodes, const double *x, bool all)
{
	IFP_CLEANUP_FREE double *excess_ns = calloc(graph->edge_count + 1, sizeof(*excess_ns));
	IFP_CLEANUP_FREE double *best = calloc(graph->node_count, sizeof(*best));
	IFP_CLEANUP_FREE double *worst_at = calloc(graph->node_count, sizeof(*worst_at));

	if (!any_violated(graph, nodes, x))
		return 0;
	if (!excess_ns || !best || !worst_at)
		return -ENOMEM;
	memcpy(best, x, graph->node_count * sizeof(*best));
	if (ifp_graph_contradictions(graph, nodes, best, excess_ns))
		return -ENOMEM;
	return reject_worst(graph, excess_ns, worst_at, all);
}

/*
 * Shortest paths: high[to] <= high[from] + high(edge), high[from] <= high[to] - low(edge), and the
 * mirror image for low. There are offsets that fit every interval that is left, so there is no
 * negative loop and the rounds end by themselves.
 */
static bool relax(const struct ifp_graph_edge *edge, struct ifp_graph_node *nodes)
{
	struct ifp_graph_node *from = nodes + edge->from, *to = nodes + edge->to;
	int64_t low_ns = edge->low_ns - ROUNDING_NS, high_ns = edge->high_ns + ROUNDING_NS;
	bool changed = false;

	if (to->high_ns > from->high_ns + high_ns) {
		to->high_ns = from->high_ns + high_ns;
		changed = true;
	}
	if (from->high_ns > to->high_ns - low_ns) {
		from->high_ns = to->high_ns - low_ns;
		changed = true;
	}
	if (to->low_ns < from->low_ns + low_ns) {
		to->low_ns = from->low_ns + low_ns;
		changed = true;
	}
	if (from->low_ns < to->low_ns - high_ns) {
		from->low_ns = to->low_ns - high_ns;
		changed = true;
	}
	return changed;
}

/* The tree's intervals are implied by the edges, too: a start from which few rounds are left. */
static void certify(const struct ifp_graph *graph, struct ifp_graph_node *nodes)
{
	bool changed = true;

	for (uint32_t round = 0; changed && round < graph->node_count; round++) {
		changed = false;
		for (uint32_t e = 0; e < graph->edge_count; e++) {
			if (in_use(graph->edges + e, nodes))
				changed |= relax(graph->edges + e, nodes);
		}
	}
}

static void place(struct ifp_graph_node *node, double residual_ns)
{
	node->offset_ns += llround(residual_ns);
	if (node->offset_ns < node->low_ns)
		node->offset_ns = node->low_ns;
	if (node->offset_ns > node->high_ns)
		node->offset_ns = node->high_ns;
}

int ifp_graph_solve(struct ifp_graph *graph, struct ifp_graph_node *nodes)
{
	IFP_CLEANUP_FREE double *x = calloc(graph->node_count, sizeof(*x));
	uint32_t solutions = 0;
	int rejected;

	if (!x)
		return -ENOMEM;
	for (uint32_t e = 0; e < graph->edge_count; e++)
		graph->edges[e].rejected = false;
	do {
		ifp_graph_tree(graph, nodes);
		if (estimate(graph, nodes, x))
			return -ENOMEM;
		rejected = reject(graph, nodes, x, solutions++ >= MAX_SOLUTIONS);
	} while (rejected > 0);
	if (rejected < 0)
		return rejected;
	certify(graph, nodes);
	for (uint32_t i = 0; i < graph->node_count; i++)
		place(nodes + i, x[i]);
	return 0;
}
