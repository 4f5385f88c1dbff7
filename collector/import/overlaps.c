/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/overlaps.h"

#include "core/array.h"
#include "core/checksum.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS (2 * IFP_IMPORT_OVERLAPS_MAX_LANES) /* a power of two */

static uint64_t hash_of(const struct ifp_lane *lane)
{
	const uint64_t parts[] = {(uint64_t)lane->kind, (uint64_t)lane->pid, (uint64_t)lane->tid,
		lane->pid_text.len_bytes
			? ifp_checksum(lane->pid_text.ptr, lane->pid_text.len_bytes)
			: 0,
		lane->tid_text.len_bytes
			? ifp_checksum(lane->tid_text.ptr, lane->tid_text.len_bytes)
			: 0};

	return ifp_checksum(parts, sizeof(parts));
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
static int compare(const void *a, const void *b)
{
	const struct ifp_import_extent *left = a, *right = b;

	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return (left->end_ns < right->end_ns) - (left->end_ns > right->end_ns);
}

static bool is_sorted(const struct ifp_import_extent *extents, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (compare(&extents[i - 1], &extents[i]) > 0)
			return false;
	return true;
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

	if (!is_sorted(extents, count))
		qsort(extents, count, sizeof(*extents), compare);
	for (uint32_t i = 0; i < count; i++) {
		const struct ifp_import_extent slice = extents[i];

		while (open && extents[0].end_ns <= slice.start_ns)
			pop_end(extents, open--);
		found += open && extents[0].end_ns < slice.end_ns;
		push_end(extents, open++, slice.end_ns);
	}
	return found;
}

void ifp_import_overlaps_settle(struct ifp_import_overlaps *overlaps)
{
	for (uint32_t i = 0; i < overlaps->lane_count; i++) {
		struct ifp_import_overlap_lane *lane = &overlaps->lanes[i];

		overlaps->found += count_lane(lane->extents, lane->count);
		free(lane->extents); /* another lane may need the room next */
		*lane = (struct ifp_import_overlap_lane){.hash = lane->hash};
	}
	overlaps->held = 0;
}

int ifp_import_overlaps_add(struct ifp_import_overlaps *overlaps, const struct ifp_event *slice)
{
	struct ifp_import_overlap_lane *lane;
	int err;

	if (overlaps->held == IFP_IMPORT_OVERLAPS_MAX_SLICES) {
		ifp_import_overlaps_settle(overlaps);
		overlaps->partial = true;
	}
	err = find_lane(overlaps, &slice->lane, &lane);
	if (err)
		return err;
	if (!lane) {
		overlaps->partial = true;
		return 0;
	}
	err = IFP_ARRAY_RESERVE(lane->extents, lane->capacity, lane->count, 1, "slices of a lane");
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
