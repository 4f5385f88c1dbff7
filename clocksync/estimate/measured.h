/* SPDX-License-Identifier: Apache-2.0 */
/* From all edges of a run to a track per node. Private to clocksync/estimate. */
#pragma once

#include "clocksync/estimate/epoch.h"
#include "clocksync/estimate/solution.h"

/*
 * The usable edges between different nodes, by epoch. Empty when there are none; edges is owned by
 * the caller.
 */
int ifp_measured_collect(const struct ifp_clock_rank *ranks,
	const struct ifp_clock_solution *solution, struct ifp_epoch_edge **edges, uint32_t *count);

/*
 * Fills track, method, epochs and over_mpi of every node that is connected to node 0, and the
 * solution's rejected_edges and drift_ppm. -ENOMEM only.
 */
int ifp_measured_solve(
	struct ifp_clock_solution *solution, struct ifp_epoch_edge *edges, uint32_t count);
