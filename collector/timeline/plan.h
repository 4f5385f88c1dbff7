/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large a picture is at each level, and the last level at which it fits. Elements are added
 * with what they take, at most; the sums of a whole run need no memory but this.
 */
#pragma once

#include "collector/timeline/levels.h"

#include <stdint.h>

/* What the picture may take; 0 = no limit. */
struct ifp_budget {
	uint64_t bytes;
	uint64_t events; /* slices, folds, instants, counters, ends of arrows */
};

struct ifp_size {
	int64_t bytes, events;
};

struct ifp_plan {
	struct ifp_size always;			/* at every level */
	struct ifp_size steps[IFP_LEVEL_COUNT]; /* what a level takes more than the one before */
};

static inline void ifp_size_add(struct ifp_size *to, struct ifp_size size)
{
	to->bytes += size.bytes;
	to->events += size.events;
}

/* An element that is there from level first up to, not including, end. */
static inline void ifp_plan_add(
	struct ifp_plan *plan, uint16_t first, uint16_t end, struct ifp_size size)
{
	if (first >= end)
		return;
	ifp_size_add(&plan->steps[first], size);
	if (end < IFP_LEVEL_COUNT)
		ifp_size_add(&plan->steps[end], (struct ifp_size){-size.bytes, -size.events});
}

void ifp_plan_merge(struct ifp_plan *plan, const struct ifp_plan *other);

/*
 * *level: the last one with which the picture fits; *size: what it takes there. -E2BIG when none
 * does: *size is the least that it takes.
 */
int ifp_plan_choose(const struct ifp_plan *plan, const struct ifp_budget *budget, uint16_t *level,
	struct ifp_size *size);
