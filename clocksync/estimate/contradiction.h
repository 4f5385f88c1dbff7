/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which edges of a graph lie. Intervals that contradict each other can not all hold: the offsets
 * are looked for that leave them by as little as possible, all edges alike, however narrow their
 * intervals are. The edge that lies has the largest part of it, because the others that go through
 * its nodes agree with each other.
 */
#pragma once

#include "clocksync/estimate/graph.h"

/*
 * By how many nanoseconds the offsets nodes[].offset_ns + x[] leave each edge's interval, at the
 * least possible sum of squares; all 0 when there are offsets that every interval holds. x is the
 * place to start from, and changed. Rejected and unconnected edges count as 0. -ENOMEM only.
 */
int ifp_graph_contradictions(const struct ifp_graph *graph, const struct ifp_graph_node *nodes,
	double *x, double *excess_ns);
