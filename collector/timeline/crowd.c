/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/crowd.h"

#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_LEAVES 64u
/* Of a sub-lane with nothing open: there is room for any slice, and nothing to close. */
#define NOTHING_NS INT64_MAX

/* When the innermost open slices end, of all sub-lanes below a node of the tree. */
struct ifp_crowd_ends {
	int64_t first_ns, last_ns;
};

static int64_t end_of(const struct ifp_slice *slice)
{
	return slice->start_ns + slice->dur_ns;
}

void ifp_crowd_begin(struct ifp_crowd *crowd)
{
	for (uint32_t i = 0; i < 2 * crowd->leaves; i++)
		crowd->ends[i] = (struct ifp_crowd_ends){NOTHING_NS, NOTHING_NS};
	for (uint32_t i = 0; i < crowd->leaves; i++)
		crowd->top[i] = IFP_SLICE_NONE;
}

/* The node from those below it. */
static void sum_up(struct ifp_crowd *crowd, uint32_t node)
{
	const struct ifp_crowd_ends *left = &crowd->ends[2 * node], *right = left + 1;

	crowd->ends[node] = (struct ifp_crowd_ends){
		left->first_ns < right->first_ns ? left->first_ns : right->first_ns,
		left->last_ns > right->last_ns ? left->last_ns : right->last_ns,
	};
}

static void set_top(
	struct ifp_crowd *crowd, const struct ifp_slices *slices, uint32_t sublane, uint32_t top)
{
	int64_t end_ns = top == IFP_SLICE_NONE ? NOTHING_NS : end_of(&slices->items[top]);
	uint32_t node = crowd->leaves + sublane;

	crowd->top[sublane] = top;
	crowd->ends[node] = (struct ifp_crowd_ends){end_ns, end_ns};
	while (node /= 2)
		sum_up(crowd, node);
}

/* Twice as many sub-lanes: the new ones are free. */
static int grow(struct ifp_crowd *crowd, const struct ifp_slices *slices)
{
	IFP_CLEANUP_CROWD struct ifp_crowd more = {
		.leaves = crowd->leaves ? 2 * crowd->leaves : FIRST_LEAVES};

	more.ends = calloc(2 * (size_t)more.leaves, sizeof(*more.ends));
	more.top = calloc(more.leaves, sizeof(*more.top));
	if (!more.ends || !more.top)
		return ifp_fail(-ENOMEM, "out of memory for %u slices that overlap", more.leaves);
	ifp_crowd_begin(&more);
	for (uint32_t i = 0; i < crowd->leaves; i++)
		set_top(&more, slices, i, crowd->top[i]);
	ifp_crowd_free(crowd);
	*crowd = more;
	more = (struct ifp_crowd){0};
	return 0;
}

/* What has ended at the moment is open no more. */
static void close_before(struct ifp_crowd *crowd, const struct ifp_slices *slices, int64_t at_ns)
{
	while (crowd->leaves && crowd->ends[1].first_ns <= at_ns) {
		uint32_t node = 1, top;

		while (node < crowd->leaves)
			node = 2 * node + (crowd->ends[2 * node].first_ns > at_ns);
		top = crowd->top[node - crowd->leaves];
		while (top != IFP_SLICE_NONE && end_of(&slices->items[top]) <= at_ns)
			top = slices->items[top].parent;
		set_top(crowd, slices, node - crowd->leaves, top);
	}
}

int ifp_crowd_place(struct ifp_crowd *crowd, struct ifp_slices *slices, uint32_t i)
{
	struct ifp_slice *slice = &slices->items[i];
	uint32_t node = 1;

	close_before(crowd, slices, slice->start_ns);
	while (!crowd->leaves || crowd->ends[1].last_ns < end_of(slice)) {
		int err = grow(crowd, slices);

		if (err)
			return err;
	}
	while (node < crowd->leaves)
		node = 2 * node + (crowd->ends[2 * node].last_ns < end_of(slice));
	slice->parent = crowd->top[node - crowd->leaves];
	set_top(crowd, slices, node - crowd->leaves, i);
	return 0;
}

void ifp_crowd_free(struct ifp_crowd *crowd)
{
	free(crowd->ends);
	free(crowd->top);
	*crowd = (struct ifp_crowd){0};
}
