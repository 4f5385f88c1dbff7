/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks of values that nobody recorded, but that follow from what was: of each rank
 *
 *	"GPU 0 busy"		 the part of each interval in which some kernel runs
 *	"collectives in flight"	 bytes that the rank has put into the collectives that are open
 *	"GPU 0 memory"		 what the allocator has given out, by its "[memory]" instants
 *
 * and of the whole run "skew of collectives" (links.h). Points are few, however long the run is
 * (samples.h): a track has at most IFP_COUNTERS_MOST_POINTS, those of many ranks fewer, so that all
 * together stay about as many.
 */
#pragma once

#include "collector/store/run.h"
#include "collector/timeline/samples.h"

#include <stdint.h>

#define IFP_COUNTERS_MOST_POINTS 400u
#define IFP_COUNTERS_LEAST_POINTS 50u
#define IFP_COUNTERS_POINTS_OF_ALL 51200u /* of one kind of track */

struct ifp_counter {
	char name[48];
	const char *unit;      /* what the values are called: "percent", "bytes" */
	unsigned int decimals; /* that the values have: 0, or 3 for thousandths */
	struct ifp_samples samples;
};

/* {0} is empty. */
struct ifp_counters {
	struct ifp_counter *items;
	uint32_t count;
	size_t capacity;
};

/* That a track of one of so many ranks may have. */
uint32_t ifp_counters_most_points(uint32_t ranks);

/* Takes over the samples; -ENOMEM leaves them with the caller. */
int ifp_counters_add(struct ifp_counters *counters, const struct ifp_counter *counter);

/* Those of one rank, whose events are in order of time. */
int ifp_counters_compute(
	const struct ifp_rank_events *events, uint32_t max_points, struct ifp_counters *out);

void ifp_counters_free(struct ifp_counters *counters);

#define IFP_CLEANUP_COUNTERS IFP_CLEANUP(ifp_counters_free)
