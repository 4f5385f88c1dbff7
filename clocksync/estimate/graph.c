/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/graph.h"

#include "clocksync/estimate/least_squares.h"
#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What rounding the least-squares solution to whole nanoseconds may add to a difference. */
#define ROUNDING_NS 1

/* After that many solutions all contradicting edges are rejected at once: time stays bounded. */
#define MAX_SOLUTIONS 64

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

/* By how much the estimate lies outside the edge's interval; 0 = inside. */
static double violation(
	const struct ifp_graph_edge *edge, const struct ifp_graph_node *nodes, const double *x)
{
	double difference = x[edge->to] - x[edge->from];
	double low = (double)(edge->low_ns - base(edge, nodes)) - ROUNDING_NS;
	double high = (double)(edge->high_ns - base(edge, nodes)) + ROUNDING_NS;

	return difference < low ? low - difference : difference > high ? difference - high : 0;
}

/* How much an edge contradicts, in half widths; 0 = not at all. */
static double contradiction(
	const struct ifp_graph_edge *edge, const struct ifp_graph_node *nodes, const double *x)
{
	return in_use(edge, nodes) ? violation(edge, nodes, x) / (double)half_width(edge) : 0;
}

/*
 * Rejects the edge that contradicts most, and those elsewhere in the graph that contradict at
 * least half as much and most among their neighbours: a false edge draws its neighbours along, but
 * far away false edges do not need a solution of their own each. Or all. False = none does.
 */
static bool reject(struct ifp_graph *graph, const struct ifp_graph_node *nodes, const double *x,
	double *worst_at, bool all)
{
	double most = 0;

	memset(worst_at, 0, graph->node_count * sizeof(*worst_at));
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		const struct ifp_graph_edge *edge = graph->edges + e;
		double much = contradiction(edge, nodes, x);

		worst_at[edge->from] = fmax(worst_at[edge->from], much);
		worst_at[edge->to] = fmax(worst_at[edge->to], much);
		most = fmax(most, much);
	}
	for (uint32_t e = 0; most > 0 && e < graph->edge_count; e++) {
		struct ifp_graph_edge *edge = graph->edges + e;
		double much = contradiction(edge, nodes, x);
		bool first = much >= worst_at[edge->from] && much >= worst_at[edge->to];

		if (much > 0 && (all || (first && much >= most / 2)))
			edge->rejected = true;
	}
	return most > 0;
}

/*
 * Shortest paths: high[to] <= high[from] + high(edge), high[from] <= high[to] - low(edge), and the
 * mirror image for low. The estimate fits every interval, so there is no negative loop and the
 * rounds end by themselves.
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
	IFP_CLEANUP_FREE double *worst_at = calloc(graph->node_count, sizeof(*worst_at));
	uint32_t rejections = 0;

	if (!x || !worst_at)
		return -ENOMEM;
	for (uint32_t e = 0; e < graph->edge_count; e++)
		graph->edges[e].rejected = false;
	do {
		ifp_graph_tree(graph, nodes);
		if (estimate(graph, nodes, x))
			return -ENOMEM;
	} while (reject(graph, nodes, x, worst_at, rejections++ >= MAX_SOLUTIONS));
	certify(graph, nodes);
	for (uint32_t i = 0; i < graph->node_count; i++)
		place(nodes + i, x[i]);
	return 0;
}
