/* SPDX-License-Identifier: Apache-2.0 */
/* What both of our methods (aligner.h) do at an exchange: measure the edges of the plan. */
#pragma once

#include "clocksync/estimate/aligner.h"
#include "trace/archive/clock_samples.h"

/* As the agents do it (clocksync/exchange/ping_measure.c). */
#define IFP_HYPERCUBE_TRIPS 32
#define IFP_HYPERCUBE_PATIENCE 8

struct ifp_hypercube {
	uint32_t node_count, edge_count;
	struct ifp_aligner_wish *wishes; /* owned; one per edge */
	struct ifp_clock_edge *edges;	 /* owned; of the running exchange, ranks are nodes */
};

/* -ENOMEM. */
int ifp_hypercube_new(uint32_t nodes, struct ifp_hypercube *out);
void ifp_hypercube_free(struct ifp_hypercube *cube);

/* Begins an exchange: all edges are without a round trip. */
void ifp_hypercube_start(struct ifp_hypercube *cube, uint32_t epoch);
