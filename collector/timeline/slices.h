/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slices of one rank that go into one file, arranged so that they can be drawn: on each
 * sub-lane any two of them nest or lie apart. Slices of one lane that overlap partly go to further
 * sub-lanes of it. What finds none of them is crowded.
 */
#pragma once

#include "collector/timeline/lanes.h"
#include "core/cleanup.h"

#include <stddef.h>
#include <stdint.h>

#define IFP_SLICE_NONE UINT32_MAX

struct ifp_slice {
	int64_t start_ns, dur_ns;
	uint32_t lane;
	uint32_t event;	  /* index in the rank's events; IFP_SLICE_NONE = a step */
	uint32_t look;	  /* of that event, which is far larger than a slice; 0 = not known */
	uint32_t step;	  /* index of the step that it is, or (in analysis files) belongs to */
	uint32_t sublane; /* IFP_SLICE_NONE: crowded, all sub-lanes are taken at that time */
	/*
	 * The slice around this one on its sub-lane, IFP_SLICE_NONE = none. Of a crowded one, it is
	 * crowded, too (crowd.h).
	 */
	uint32_t parent;
	uint64_t external; /* "External id" in analysis files; 0 = none */
};

struct ifp_slices {
	struct ifp_slice *items;
	uint32_t count;
	size_t capacity;
	uint32_t crowded; /* how many have no sub-lane */
};

/* Room for so many more. 0 or -ENOMEM. */
int ifp_slices_reserve(struct ifp_slices *slices, uint64_t more);

int ifp_slices_add(struct ifp_slices *slices, const struct ifp_slice *slice);

/*
 * Sorts by lane, start and falling length, finds the sub-lanes, and tells the lanes what they
 * hold. 0 or -ENOMEM.
 */
int ifp_slices_arrange(struct ifp_slices *slices, struct ifp_lanes *lanes);

static inline bool ifp_slice_is_crowded(const struct ifp_slice *slice)
{
	return slice->sublane == IFP_SLICE_NONE;
}

/* The innermost slice of a lane that is open at a moment (its end counts in); IFP_SLICE_NONE. */
uint32_t ifp_slices_at(
	const struct ifp_slices *slices, const struct ifp_lane_row *row, int64_t at_ns);

/* The same for moments of a lane that come in order: *before is 0 for the first of them. */
uint32_t ifp_slices_at_next(const struct ifp_slices *slices, const struct ifp_lane_row *row,
	int64_t at_ns, uint32_t *before);

void ifp_slices_free(struct ifp_slices *slices);

#define IFP_CLEANUP_SLICES IFP_CLEANUP(ifp_slices_free)
