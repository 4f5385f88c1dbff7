/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets of many clocks against one, from intervals between pairs of them, at one moment.
 *
 * Nodes are clocks, node 0 is the reference. An edge says: offset(to) - offset(from) lies in
 * [low, high], and middle is the best guess. Two answers come out for every node:
 *   estimate   weighted least squares over all edges, weight 1 / half width^2, with Huber's
 *              weights against outliers: paths share the load, asymmetries average out;
 *   certificate  the tightest interval that the edges imply, by shortest paths (Bellman-Ford).
 * Where no offsets satisfy all intervals some edge lies: the worst of each neighbourhood
 * (contradiction.h) is rejected and the rest solved again. So there are offsets that satisfy every
 * interval that is left, and the estimate of every node lies in its own certified interval.
 * Pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ifp_graph_edge {
	uint32_t from, to;
	int64_t low_ns, high_ns;
	int64_t middle_ns; /* within [low, high] */
	bool rejected;	   /* written by ifp_graph_solve() */
};

struct ifp_graph_node {
	bool connected; /* to node 0; nothing else is set when not */
	int64_t offset_ns;
	int64_t low_ns, high_ns; /* low <= offset <= high */
};

struct ifp_graph {
	struct ifp_graph_edge *edges;
	uint32_t edge_count;
	uint32_t node_count; /* at least 1 */
};

/*
 * First look: every node by the path from node 0 whose half widths sum up to the least.
 * nodes has room for node_count entries.
 */
void ifp_graph_tree(const struct ifp_graph *graph, struct ifp_graph_node *nodes);

/* The full solution. -ENOMEM only. */
int ifp_graph_solve(struct ifp_graph *graph, struct ifp_graph_node *nodes);
