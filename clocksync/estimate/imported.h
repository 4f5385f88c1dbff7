/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of traces that were recorded without infprof, placed by their collectives: the line that
 * these give takes the place of the tuples that nobody has read, and turns the stamps of the trace
 * into a RAW of which only the certified limits are left to say. Private to clocksync/estimate.
 */
#pragma once

#include "clocksync/estimate/instances.h"
#include "clocksync/estimate/solution.h"

/*
 * For a solution whose reference is unmeasured: sets what it can align. instances, empty before,
 * are what it was aligned by, and the caller's to free, also on failure, which is -ENOMEM only.
 */
int ifp_imported_solve(struct ifp_clock_solution *solution, const struct ifp_clock_rank *ranks,
	struct ifp_instances *instances);
