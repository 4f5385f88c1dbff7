/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/overlaps.h"

#include "core/array.h"
#include "core/checksum.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS (2 * IFP_IMPORT_OVERLAPS_MAX_LANES) /* a power of two */

static uint64_t mix(uint64_t sum, uint64_t number)
{
	sum = (sum ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ (sum >> 29);
}

/* Called for each slice: lanes without texts, most of all, take a few steps. */
static uint64_t hash_of(const struct ifp_lane *lane)
{
	uint64_t sum = mix(mix(mix(1, lane->kind), (uint64_t)lane->pid), (uint64_t)lane->tid);

	if (lane->pid_text.len_bytes)
		sum = mix(sum, ifp_checksum(lane->pid_text.ptr, lane->pid_text.len_bytes));
	if (lane->tid_text.len_bytes)
		sum = mix(sum + 1, ifp_checksum(lane->tid_text.ptr, lane->tid_text.len_bytes));
	return sum;
}

static int add_lane(struct ifp_import_overlaps *overlaps, uint64_t hash, uint32_t *slot)
{
	int err = IFP_ARRAY_RESERVE(overlaps->lanes, overlaps->lane_capacity, overlaps->lane_count,
		1, "lanes of a trace");

	if (err)
		return err;
	overlaps->lanes[overlaps->lane_count++] = (struct ifp_import_overlap_lane){.hash = hash};
	*slot = overlaps->lane_count;
	return 0;
}

/* *lane is NULL when the table is full. */
static int find_lane(struct ifp_import_overlaps *overlaps, const struct ifp_lane *place,
	struct ifp_import_overlap_lane **lane)
{
	uint64_t hash = hash_of(place);
	uint32_t i = (uint32_t)hash & (SLOTS - 1);
	int err;

	if (!overlaps->slots)
		overlaps->slots = calloc(SLOTS, sizeof(*overlaps->slots));
	if (!overlaps->slots)
		return ifp_fail(-ENOMEM, "no memory for the lanes of a trace");
	while (overlaps->slots[i] && overlaps->lanes[overlaps->slots[i] - 1].hash != hash)
		i = (i + 1) & (SLOTS - 1);
	*lane = NULL;
	if (!overlaps->slots[i]) {
		if (overlaps->lane_count == IFP_IMPORT_OVERLAPS_MAX_LANES)
			return 0;
		err = add_lane(overlaps, hash, &overlaps->slots[i]);
		if (err)
			return err;
	}
	*lane = &overlaps->lanes[overlaps->slots[i] - 1];
	return 0;
}

/* By start; of those that begin together, the longest goes around the others. */
static bool is_before(const struct ifp_import_extent *a, const struct ifp_import_extent *b)
{
	return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
}

/* Where the run that begins at first ends: up to there all are in order. */
static uint32_t end_of_run(const struct ifp_import_extent *extents, uint32_t first, uint32_t count)
{
	uint32_t i = first;

	while (i < count && (i == first || !is_before(&extents[i], &extents[i - 1])))
		i++;
	return i;
}

/* Merges each two runs that stand side by side. */
static void merge_runs(
	const struct ifp_import_extent *from, struct ifp_import_extent *to, uint32_t count)
{
	for (uint32_t first = 0; first < count;) {
		uint32_t middle = end_of_run(from, first, count);
		uint32_t end = end_of_run(from, middle, count);
		uint32_t left = first, right = middle;

		for (; first < end; first++)
			to[first] = left < middle && (right == end ||
							     !is_before(&from[right], &from[left]))
					    ? from[left++]
					    : from[right++];
	}
}

/*
 * A profiler writes a lane as a few sorted runs, one for each kind of event, so merging takes a few
 * passes.
 */
static int sort(struct ifp_import_overlap_lane *lane)
{
	struct ifp_import_extent *spare;

	if (end_of_run(lane->extents, 0, lane->count) == lane->count)
		return 0;
	spare = malloc(lane->count * sizeof(*spare));
	if (!spare)
		return ifp_fail(-ENOMEM, "sort %u slices", lane->count);
	while (end_of_run(lane->extents, 0, lane->count) < lane->count) {
		struct ifp_import_extent *unsorted = lane->extents;

		merge_runs(unsorted, spare, lane->count);
		lane->extents = spare;
		spare = unsorted;
	}
	free(spare);
	return 0;
}

/* heap[0] is the earliest of the ends that are open. */
static void push_end(struct ifp_import_extent *heap, uint32_t count, int64_t end_ns)
{
	uint32_t i = count;

	for (; i && heap[(i - 1) / 2].end_ns > end_ns; i = (i - 1) / 2)
		heap[i].end_ns = heap[(i - 1) / 2].end_ns;
	heap[i].end_ns = end_ns;
}

static void pop_end(struct ifp_import_extent *heap, uint32_t count)
{
	int64_t last_ns = heap[count - 1].end_ns;
	uint32_t i = 0;

	for (uint32_t child = 1; child < count; child = 2 * i + 1) {
		if (child + 1 < count && heap[child + 1].end_ns < heap[child].end_ns)
			child++;
		if (heap[child].end_ns >= last_ns)
			break;
		heap[i].end_ns = heap[child].end_ns;
		i = child;
	}
	heap[i].end_ns = last_ns;
}

/*
 * The ends that are open are never more than the slices before, so their heap takes the place of
 * these.
 */
static uint64_t count_lane(struct ifp_import_extent *extents, uint32_t count)
{
	uint64_t found = 0;
	uint32_t open = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct ifp_import_extent slice = extents[i];

		while (open && extents[0].end_ns <= slice.start_ns)
			pop_end(extents, open--);
		found += open && extents[0].end_ns < slice.end_ns;
		push_end(extents, open++, slice.end_ns);
	}
	return found;
}

int ifp_import_overlaps_settle(struct ifp_import_overlaps *overlaps)
{
	for (uint32_t i = 0; i < overlaps->lane_count; i++) {
		struct ifp_import_overlap_lane *lane = &overlaps->lanes[i];
		int err = sort(lane);

		if (err)
			return err;
		overlaps->found += count_lane(lane->extents, lane->count);
		free(lane->extents); /* another lane may need the room next */
		*lane = (struct ifp_import_overlap_lane){.hash = lane->hash};
	}
	overlaps->held = 0;
	return 0;
}

int ifp_import_overlaps_add(struct ifp_import_overlaps *overlaps, const struct ifp_event *slice)
{
	struct ifp_import_overlap_lane *lane;
	int err = 0;

	if (overlaps->held == IFP_IMPORT_OVERLAPS_MAX_SLICES) {
		overlaps->partial = true;
		err = ifp_import_overlaps_settle(overlaps);
	}
	if (!err)
		err = find_lane(overlaps, &slice->lane, &lane);
	if (err)
		return err;
	if (!lane) {
		overlaps->partial = true;
		return 0;
	}
	if (lane->count == lane->capacity)
		err = IFP_ARRAY_RESERVE(
			lane->extents, lane->capacity, lane->count, 1, "slices of a lane");
	if (err)
		return err;
	lane->extents[lane->count++] = (struct ifp_import_extent){
		slice->start, slice->dur > 0 ? slice->start + slice->dur : slice->start};
	overlaps->held++;
	return 0;
}

void ifp_import_overlaps_free(struct ifp_import_overlaps *overlaps)
{
	for (uint32_t i = 0; i < overlaps->lane_count; i++)
		free(overlaps->lanes[i].extents);
	free(overlaps->lanes);
	free(overlaps->slots);
	*overlaps = (struct ifp_import_overlaps){0};
}
