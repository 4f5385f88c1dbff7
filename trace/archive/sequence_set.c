/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/sequence_set.h"

#include "core/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Place of the rank, or the one where it belongs. */
static uint32_t find_rank(const struct ifp_sequence_set *set, uint32_t rank)
{
	return IFP_ARRAY_LOWER_BOUND(i, set->count, set->ranks[i].rank < rank);
}

/* Number of ranges that start at or before the sequence number. */
static uint32_t ranges_up_to(const struct ifp_sequence_rank *of, uint64_t sequence)
{
	return IFP_ARRAY_LOWER_BOUND(i, of->count, of->ranges[i].first <= sequence);
}

static int add_rank(struct ifp_sequence_set *set, uint32_t at, uint32_t rank)
{
	int err = IFP_ARRAY_RESERVE(
		set->ranks, set->capacity, set->count, 1, "ranks with sequence numbers");

	if (err)
		return err;
	memmove(set->ranks + at + 1, set->ranks + at, (set->count - at) * sizeof(*set->ranks));
	set->ranks[at] = (struct ifp_sequence_rank){.rank = rank};
	set->count++;
	return 0;
}

/* Room for two more ranges: one for an addition, one for taking it out of a range's middle. */
static int reserve_ranges(struct ifp_sequence_rank *of)
{
	return IFP_ARRAY_RESERVE(
		of->ranges, of->capacity, of->count, 2, "ranges of sequence numbers");
}

static void insert_range(struct ifp_sequence_rank *of, uint32_t at, struct ifp_sequence_range range)
{
	memmove(of->ranges + at + 1, of->ranges + at, (of->count - at) * sizeof(range));
	of->ranges[at] = range;
	of->count++;
}

static void delete_range(struct ifp_sequence_rank *of, uint32_t at)
{
	of->count--;
	memmove(of->ranges + at, of->ranges + at + 1, (of->count - at) * sizeof(*of->ranges));
}

int ifp_sequence_set_add(
	struct ifp_sequence_set *set, uint32_t rank, uint64_t sequence, bool *added)
{
	uint32_t at = find_rank(set, rank);
	struct ifp_sequence_rank *of;
	uint32_t next;
	bool touches_before, touches_next;
	int err = 0;

	if (at == set->count || set->ranks[at].rank != rank)
		err = add_rank(set, at, rank);
	if (!err)
		err = reserve_ranges(&set->ranks[at]);
	if (err)
		return err;
	of = &set->ranks[at];
	next = ranges_up_to(of, sequence);
	*added = !next || of->ranges[next - 1].last < sequence;
	if (!*added)
		return 0;
	touches_before = next && of->ranges[next - 1].last == sequence - 1;
	touches_next = next < of->count && of->ranges[next].first - 1 == sequence;
	if (touches_before && touches_next) {
		of->ranges[next - 1].last = of->ranges[next].last;
		delete_range(of, next);
	} else if (touches_before) {
		of->ranges[next - 1].last = sequence;
	} else if (touches_next) {
		of->ranges[next].first = sequence;
	} else {
		insert_range(of, next, (struct ifp_sequence_range){sequence, sequence});
	}
	return 0;
}

void ifp_sequence_set_remove(struct ifp_sequence_set *set, uint32_t rank, uint64_t sequence)
{
	struct ifp_sequence_rank *of = &set->ranks[find_rank(set, rank)];
	uint32_t at = ranges_up_to(of, sequence) - 1;
	struct ifp_sequence_range *range = &of->ranges[at];

	if (range->first == range->last) {
		delete_range(of, at);
	} else if (range->first == sequence) {
		range->first++;
	} else if (range->last == sequence) {
		range->last--;
	} else {
		insert_range(of, at + 1, (struct ifp_sequence_range){sequence + 1, range->last});
		of->ranges[at].last = sequence - 1;
	}
}

uint64_t ifp_sequence_set_contiguous(const struct ifp_sequence_set *set, uint32_t rank)
{
	uint32_t at = find_rank(set, rank);
	const struct ifp_sequence_rank *of;

	if (at == set->count || set->ranks[at].rank != rank)
		return 0;
	of = &set->ranks[at];
	return of->count && of->ranges[0].first == 1 ? of->ranges[0].last : 0;
}

void ifp_sequence_set_free(struct ifp_sequence_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		free(set->ranks[i].ranges);
	free(set->ranks);
	*set = (struct ifp_sequence_set){0};
}
