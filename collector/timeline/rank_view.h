/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank, loaded to be drawn: its events in job time, its lanes with their names, its steps.
 * Events whose time cannot be (a stamp of 0, garbage) are not among them: one alone would stretch
 * the axis over decades. All others lie so near to the run that sums of times do not overflow.
 * Halves of slices are joined (halves.h): of their kinds only those are here whose other half is
 * missing.
 */
#pragma once

#include "collector/store/run.h"
#include "collector/timeline/lanes.h"
#include "collector/timeline/steps.h"
#include "core/arena.h"

#include <stdint.h>

struct ifp_rank_view {
	const struct ifp_run_rank *rank;
	struct ifp_rank_events loaded;
	uint64_t misplaced; /* events left out for their time */
	uint32_t *lane_of;  /* row of each event's lane */
	struct ifp_lanes lanes;
	struct ifp_steps steps;
	struct ifp_arena texts; /* of slices made of halves */
};

/* Rank i of the run, by its place, not its number. */
int ifp_rank_view_load(struct ifp_run *run, uint32_t i, struct ifp_rank_view *view);
/* The same as ifp_run_read_events() is to ifp_run_load_events(). */
int ifp_rank_view_read(struct ifp_run *run, uint32_t i,
	bool (*wants_args)(const struct ifp_event *look), struct ifp_rank_view *view);
void ifp_rank_view_free(struct ifp_rank_view *view);

#define IFP_CLEANUP_RANK_VIEW IFP_CLEANUP(ifp_rank_view_free)

/* What Kineto writes about itself, not about the program: marks of its window. */
bool ifp_rank_view_is_frame(const struct ifp_event *event);
