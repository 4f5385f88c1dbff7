/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/slices.h"

#include "collector/timeline/crowd.h"
#include "core/array.h"

#include <errno.h>
#include <stdlib.h>

int ifp_slices_reserve(struct ifp_slices *slices, uint64_t more)
{
	return IFP_ARRAY_RESERVE(slices->items, slices->capacity, slices->count, more, "slices");
}

int ifp_slices_add(struct ifp_slices *slices, const struct ifp_slice *slice)
{
	int err = IFP_ARRAY_RESERVE(slices->items, slices->capacity, slices->count, 1, "slices");

	if (!err)
		slices->items[slices->count++] = *slice;
	return err;
}

static int compare_number(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* A step goes around everything that has its extent; otherwise the order of the events stays. */
static int compare(const void *left, const void *right)
{
	const struct ifp_slice *a = left, *b = right;
	int result = compare_number(a->lane, b->lane);

	if (!result)
		result = compare_number(a->start_ns, b->start_ns);
	if (!result)
		result = compare_number(b->dur_ns, a->dur_ns);
	if (!result)
		result = compare_number(b->event == IFP_SLICE_NONE, a->event == IFP_SLICE_NONE);
	return result ? result : compare_number(a->event, b->event);
}

static int64_t end_of(const struct ifp_slice *slice)
{
	return slice->start_ns + slice->dur_ns;
}

/*
 * Puts slice i on the first sub-lane where it is apart from, or inside, what is open there; false
 * when there is none.
 */
static bool place(struct ifp_slices *slices, uint32_t i, uint32_t *top, uint32_t *sublanes)
{
	struct ifp_slice *slice = &slices->items[i];

	for (uint32_t k = 0; k < IFP_MAX_SUBLANES; k++) {
		if (k == *sublanes) {
			top[k] = IFP_SLICE_NONE;
			++*sublanes;
		}
		while (top[k] != IFP_SLICE_NONE &&
			end_of(&slices->items[top[k]]) <= slice->start_ns)
			top[k] = slices->items[top[k]].parent;
		if (top[k] == IFP_SLICE_NONE || end_of(&slices->items[top[k]]) >= end_of(slice)) {
			slice->sublane = k;
			slice->parent = top[k];
			top[k] = i;
			return true;
		}
	}
	slice->sublane = IFP_SLICE_NONE;
	return false;
}

static bool is_sorted(const struct ifp_slices *slices)
{
	for (uint32_t i = 1; i < slices->count; i++)
		if (compare(&slices->items[i - 1], &slices->items[i]) > 0)
			return false;
	return true;
}

/*
 * By lane, otherwise as they are: events come by start and length, so that is mostly all there is
 * to sort. Without memory for it they stay as they are, too.
 */
static void part_lanes(struct ifp_slices *slices, uint32_t lane_count)
{
	IFP_CLEANUP_FREE uint32_t *next = calloc(lane_count + 1u, sizeof(*next));
	struct ifp_slice *parted = calloc(slices->count + 1u, sizeof(*parted));

	if (!next || !parted) {
		free(parted);
		return;
	}
	for (uint32_t i = 0; i < slices->count; i++)
		next[slices->items[i].lane + 1]++;
	for (uint32_t lane = 0; lane < lane_count; lane++)
		next[lane + 1] += next[lane];
	for (uint32_t i = 0; i < slices->count; i++)
		parted[next[slices->items[i].lane]++] = slices->items[i];
	free(slices->items);
	slices->items = parted;
	slices->capacity = slices->count + 1u;
}

/* The slices of a lane, from the first one on. */
static int arrange_lane(struct ifp_slices *slices, struct ifp_lane_row *row, uint32_t first,
	struct ifp_crowd *crowd)
{
	uint32_t top[IFP_MAX_SUBLANES], i, lane = slices->items[first].lane;
	int err = 0;

	row->first_slice = first;
	row->sublanes = 0;
	row->crowded = 0;
	for (i = first; i < slices->count && slices->items[i].lane == lane && !err; i++) {
		if (place(slices, i, top, &row->sublanes))
			continue;
		if (!row->crowded++)
			ifp_crowd_begin(crowd);
		err = ifp_crowd_place(crowd, slices, i);
	}
	row->slice_count = i - first;
	slices->crowded += row->crowded;
	return err;
}

int ifp_slices_arrange(struct ifp_slices *slices, struct ifp_lanes *lanes)
{
	IFP_CLEANUP_CROWD struct ifp_crowd crowd = {0};
	int err = 0;

	slices->crowded = 0;
	part_lanes(slices, lanes->count);
	if (!is_sorted(slices))
		qsort(slices->items, slices->count, sizeof(*slices->items), compare);
	for (uint32_t i = 0; i < slices->count && !err;) {
		struct ifp_lane_row *row = &lanes->rows[slices->items[i].lane];

		err = arrange_lane(slices, row, i, &crowd);
		i += row->slice_count;
	}
	return err;
}

/* The last slice of the lane that starts at or before the moment; slice_count when none does. */
static uint32_t last_started(
	const struct ifp_slices *slices, const struct ifp_lane_row *row, int64_t at_ns)
{
	uint32_t low = IFP_ARRAY_LOWER_BOUND(
		i, row->slice_count, slices->items[row->first_slice + i].start_ns <= at_ns);

	return low ? low - 1 : row->slice_count;
}

/* The innermost slice around the moment: slice i of the lane, or one around that. */
static uint32_t open_at(const struct ifp_slices *slices, uint32_t i, int64_t at_ns)
{
	while (i != IFP_SLICE_NONE && end_of(&slices->items[i]) < at_ns)
		i = slices->items[i].parent;
	return i;
}

uint32_t ifp_slices_at(
	const struct ifp_slices *slices, const struct ifp_lane_row *row, int64_t at_ns)
{
	uint32_t i = last_started(slices, row, at_ns);

	return i == row->slice_count ? IFP_SLICE_NONE
				     : open_at(slices, row->first_slice + i, at_ns);
}

uint32_t ifp_slices_at_next(const struct ifp_slices *slices, const struct ifp_lane_row *row,
	int64_t at_ns, uint32_t *before)
{
	const struct ifp_slice *items = slices->items + row->first_slice;

	while (*before < row->slice_count && items[*before].start_ns <= at_ns)
		++*before;
	return *before ? open_at(slices, row->first_slice + *before - 1, at_ns) : IFP_SLICE_NONE;
}

void ifp_slices_free(struct ifp_slices *slices)
{
	free(slices->items);
	*slices = (struct ifp_slices){0};
}
