/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slices of a lane that find none of its sub-lanes, arranged as if it had as many as they need:
 * each goes to the first further one where it is apart from, or inside, what is open there. They
 * are not drawn there, but what is around one tells which of its time has been counted already.
 *
 * Thousands may be open at once: finding a place takes the logarithm of their number.
 */
#pragma once

#include "collector/timeline/slices.h"
#include "core/cleanup.h"

#include <stdint.h>

/* {0} has no sub-lane yet. */
struct ifp_crowd {
	struct ifp_crowd_ends
		*ends;	 /* of what is open: a heap-shaped tree, sub-lanes are its leaves */
	uint32_t *top;	 /* by sub-lane: the innermost open slice */
	uint32_t leaves; /* a power of two, or 0 */
};

/* Before the first slice of a lane. */
void ifp_crowd_begin(struct ifp_crowd *crowd);

/* The next slice of the lane, by start and falling length. Sets its parent. 0 or -ENOMEM. */
int ifp_crowd_place(struct ifp_crowd *crowd, struct ifp_slices *slices, uint32_t i);

void ifp_crowd_free(struct ifp_crowd *crowd);

#define IFP_CLEANUP_CROWD IFP_CLEANUP(ifp_crowd_free)
