/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of one lane that overlap partly: neither apart nor one within the other. A timeline cannot
 * draw them in one row. Files are in no order, so the slices are held until they can be sorted:
 * 16 bytes each, and beyond a limit those held are settled and forgotten, so memory does not grow
 * with the file. Private to collector/import.
 */
#pragma once

#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IFP_IMPORT_OVERLAPS_MAX_SLICES 262144u /* held at a time */
#define IFP_IMPORT_OVERLAPS_MAX_LANES 4096u    /* further ones are not looked at */

struct ifp_import_extent {
	int64_t start_ns, end_ns;
};

struct ifp_import_overlap_lane {
	uint64_t hash;
	struct ifp_import_extent *extents;
	uint32_t count;
	size_t capacity;
};

/* {0} is empty. */
struct ifp_import_overlaps {
	struct ifp_import_overlap_lane *lanes;
	uint32_t lane_count;
	size_t lane_capacity;
	uint32_t *slots; /* by hash: lane + 1; 0 = free */
	uint32_t held;	 /* slices of all lanes */
	uint64_t found;	 /* slices that begin within an earlier one and end behind it */
	bool partial;	 /* there may be more: a limit was reached */
};

/* A slice, of which an end before its start counts as its start. 0 or -ENOMEM. */
int ifp_import_overlaps_add(struct ifp_import_overlaps *overlaps, const struct ifp_event *slice);

/* Counts those among the slices held, and forgets these: found is complete then. 0 or -ENOMEM. */
int ifp_import_overlaps_settle(struct ifp_import_overlaps *overlaps);

void ifp_import_overlaps_free(struct ifp_import_overlaps *overlaps);
