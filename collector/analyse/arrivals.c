/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/arrivals.h"

#include "collector/analyse/matching.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

static int compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t ifp_median(int64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_int64);
	if (count % 2)
		return values[count / 2];
	return values[count / 2 - 1] + (values[count / 2] - values[count / 2 - 1]) / 2;
}

int64_t ifp_arrival_lateness(
	const int64_t *arrival_ns, uint32_t rank_count, uint32_t rank, int64_t *scratch_ns)
{
	size_t n = 0;

	for (uint32_t r = 0; r < rank_count; r++) {
		if (r != rank)
			scratch_ns[n++] = arrival_ns[r];
	}
	return arrival_ns[rank] - ifp_median(scratch_ns, n);
}

uint32_t ifp_index_of_largest(const int64_t *values, uint32_t count)
{
	uint32_t largest = 0;

	for (uint32_t i = 1; i < count; i++) {
		if (values[i] > values[largest])
			largest = i;
	}
	return largest;
}

static int add_step(struct ifp_arrivals *arrivals, uint64_t step, struct ifp_arrival_step **added)
{
	struct ifp_arrival_step *place = &arrivals->steps[arrivals->step_count];

	place->step = step;
	place->name = 0;
	place->arrival_ns =
		ifp_arena_alloc(&arrivals->arena, arrivals->rank_count * sizeof(int64_t));
	if (!place->arrival_ns)
		return ifp_fail(-ENOMEM, "compare arrivals");
	arrivals->step_count++;
	*added = place;
	return 0;
}

/* The arrivals while they are collected. */
struct collector {
	struct ifp_arrivals *out;
	int64_t *row_ns; /* scratch, by rank */
	int64_t *scratch_ns;
};

/* Adds the arrivals at that collective of the step where the last rank was latest. */
static int add_worst(void *context, const struct ifp_matched_step *matched)
{
	struct collector *c = context;
	struct ifp_arrivals *out = c->out;
	struct ifp_arrival_step *step;
	int64_t worst_ns = INT64_MIN;
	size_t worst = 0;
	int err;

	for (size_t k = 0; k < matched->count; k++) {
		int64_t late_ns;

		for (uint32_t r = 0; r < out->rank_count; r++)
			c->row_ns[r] = matched->first[r][k].start_ns;
		late_ns = ifp_arrival_lateness(c->row_ns, out->rank_count,
			ifp_index_of_largest(c->row_ns, out->rank_count), c->scratch_ns);
		if (late_ns > worst_ns) {
			worst_ns = late_ns;
			worst = k;
		}
	}
	err = add_step(out, matched->step, &step);
	if (err < 0)
		return err;
	step->name = matched->first[0][worst].name;
	for (uint32_t r = 0; r < out->rank_count; r++)
		step->arrival_ns[r] = matched->first[r][worst].start_ns;
	return 0;
}

int ifp_arrivals_at_collectives(
	const struct ifp_rank_times *ranks, uint32_t rank_count, struct ifp_arrivals *out)
{
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals arrivals = {.rank_count = rank_count};
	struct collector c = {.out = &arrivals};
	int err;

	if (rank_count < 2) {
		*out = (struct ifp_arrivals){.rank_count = rank_count};
		return 0;
	}
	/* a matched step takes at least one collective of every rank */
	arrivals.steps = ifp_arena_alloc(
		&arrivals.arena, (ranks[0].collective_count + 1) * sizeof(*arrivals.steps));
	c.row_ns = ifp_arena_alloc(&arrivals.arena, rank_count * sizeof(*c.row_ns));
	c.scratch_ns = ifp_arena_alloc(&arrivals.arena, rank_count * sizeof(*c.scratch_ns));
	if (!arrivals.steps || !c.row_ns || !c.scratch_ns)
		return ifp_fail(-ENOMEM, "compare arrivals");
	err = ifp_match_steps(ranks, rank_count, add_worst, &c, &arrivals.steps_skipped);
	if (err < 0)
		return err;
	*out = arrivals;
	arrivals = (struct ifp_arrivals){0};
	return 0;
}

/* Moves every rank to its mark of this step; false when one of them has none. */
static bool seek_marks(
	const struct ifp_rank_times *ranks, size_t *position, uint32_t rank_count, uint64_t step)
{
	for (uint32_t r = 0; r < rank_count; r++) {
		const struct ifp_rank_times *rank = &ranks[r];

		while (position[r] < rank->mark_count && rank->marks[position[r]].step < step)
			position[r]++;
		if (position[r] == rank->mark_count || rank->marks[position[r]].step != step)
			return false;
	}
	return true;
}

static int add_marks(const struct ifp_rank_times *ranks, const size_t *position, uint64_t number,
	struct ifp_arrivals *out)
{
	struct ifp_arrival_step *step;
	int err = add_step(out, number, &step);

	for (uint32_t r = 0; !err && r < out->rank_count; r++)
		step->arrival_ns[r] = ranks[r].marks[position[r]].end_ns;
	return err;
}

int ifp_arrivals_at_marks(const struct ifp_rank_times *ranks, uint32_t rank_count,
	uint32_t max_steps, struct ifp_arrivals *out)
{
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals arrivals = {.rank_count = rank_count};
	size_t count = rank_count < 2 ? 0 : ranks[0].mark_count;
	size_t stride = max_steps && count > max_steps ? (count + max_steps - 1) / max_steps : 1;
	size_t *position;
	int err = 0;

	arrivals.steps =
		ifp_arena_alloc(&arrivals.arena, (count / stride + 1) * sizeof(*arrivals.steps));
	position = ifp_arena_alloc(&arrivals.arena, rank_count * sizeof(*position));
	if (!arrivals.steps || !position)
		return ifp_fail(-ENOMEM, "compare step marks");
	for (uint32_t r = 0; r < rank_count; r++)
		position[r] = 0;
	for (size_t i = 0; !err && i < count; i += stride) {
		uint64_t step = ranks[0].marks[i].step;

		if (seek_marks(ranks, position, rank_count, step))
			err = add_marks(ranks, position, step, &arrivals);
		else
			arrivals.steps_skipped++;
	}
	if (err < 0)
		return err;
	*out = arrivals;
	arrivals = (struct ifp_arrivals){0};
	return 0;
}

void ifp_arrivals_free(struct ifp_arrivals *arrivals)
{
	ifp_arena_free(&arrivals->arena);
	*arrivals = (struct ifp_arrivals){0};
}
