/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange: its edges were measured one after the other, over microseconds to seconds. They
 * are brought to one moment, the middle of the exchange: the intervals widen by the assumed drift,
 * the best guesses follow the rates where these are known. Then the graph is solved.
 */
#pragma once

#include "clocksync/estimate/graph.h"
#include "trace/archive/clock_samples.h"

#include <stdbool.h>
#include <stdint.h>

/* An edge between nodes, oriented from client to server. */
struct ifp_epoch_edge {
	uint32_t from, to;
	const struct ifp_clock_edge *measured;
	bool used; /* written: connected to the reference and not rejected */
};

struct ifp_epoch {
	struct ifp_epoch_edge *edges;
	uint32_t edge_count;
	uint32_t node_count;
	int64_t drift_ppm; /* the assumption */
	double *sigmas_ns; /* written where not NULL: per node (estimate/deviation.h) */
	int64_t at_ns;	   /* written: the moment on the reference's clock */
	uint32_t rejected; /* written: number of edges */
};

/*
 * nodes has room for node_count entries. rates: drift of every node against the reference in ns
 * per ns. -ENOMEM only.
 */
int ifp_epoch_solve(struct ifp_epoch *epoch, const double *rates, struct ifp_graph_node *nodes);
