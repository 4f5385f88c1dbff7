/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the offsets of a solved graph are from the truth, to be expected: never a certificate.
 *
 * What an edge's best guess is off by shows in the loops: the median misfit of all edges, in units
 * of their half widths, says how many half widths an edge errs by. How that adds up along the
 * paths to a node is tried out: the graph is solved for edges that err at random by as much.
 * A graph with hardly a loop shows nothing: every offset in an interval is equally likely then.
 */
#pragma once

#include "clocksync/estimate/graph.h"

/*
 * sigmas_ns: room for node_count entries; 0 for node 0 and those that are not connected. For the
 * nodes that ifp_graph_solve() has written. -ENOMEM only.
 */
int ifp_graph_deviation(
	const struct ifp_graph *graph, const struct ifp_graph_node *nodes, double *sigmas_ns);
