/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/arrivals.h"

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

/* The collectives of one step of one rank. */
struct span {
	const struct ifp_collective *first;
	size_t count;
};

static struct span span_at(const struct ifp_rank_times *rank, size_t position)
{
	struct span span = {rank->collectives + position, 0};

	while (position + span.count < rank->collective_count &&
		span.first[span.count].step == span.first->step)
		span.count++;
	return span;
}

static bool same_names(const struct span *spans, uint32_t rank_count)
{
	for (uint32_t r = 1; r < rank_count; r++) {
		if (spans[r].count != spans[0].count)
			return false;
		for (size_t k = 0; k < spans[0].count; k++) {
			if (spans[r].first[k].name != spans[0].first[k].name)
				return false;
		}
	}
	return true;
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

/* Working memory of one matching. */
struct matcher {
	const struct ifp_rank_times *ranks;
	size_t *position; /* by rank: of the first collective (mark) not looked at */
	struct span *spans;
	int64_t *row_ns;
	int64_t *scratch_ns;
};

/* Adds the arrivals at that collective of the spans where the last rank was latest. */
static int add_worst(struct matcher *m, struct ifp_arrivals *out)
{
	struct ifp_arrival_step *step;
	int64_t worst_ns = INT64_MIN;
	size_t worst = 0;
	int err;

	for (size_t k = 0; k < m->spans[0].count; k++) {
		int64_t late_ns;

		for (uint32_t r = 0; r < out->rank_count; r++)
			m->row_ns[r] = m->spans[r].first[k].start_ns;
		late_ns = ifp_arrival_lateness(m->row_ns, out->rank_count,
			ifp_index_of_largest(m->row_ns, out->rank_count), m->scratch_ns);
		if (late_ns > worst_ns) {
			worst_ns = late_ns;
			worst = k;
		}
	}
	err = add_step(out, m->spans[0].first->step, &step);
	if (err < 0)
		return err;
	step->name = m->spans[0].first[worst].name;
	for (uint32_t r = 0; r < out->rank_count; r++)
		step->arrival_ns[r] = m->spans[r].first[worst].start_ns;
	return 0;
}

/* Lowest step that any rank still has a collective of; false when there is none. */
static bool next_step(const struct matcher *m, uint32_t rank_count, uint64_t *step)
{
	bool any = false;

	for (uint32_t r = 0; r < rank_count; r++) {
		const struct ifp_rank_times *rank = &m->ranks[r];

		if (m->position[r] == rank->collective_count)
			continue;
		if (!any || rank->collectives[m->position[r]].step < *step)
			*step = rank->collectives[m->position[r]].step;
		any = true;
	}
	return any;
}

static int match_step(struct matcher *m, uint64_t step, struct ifp_arrivals *out)
{
	bool everywhere = true;

	for (uint32_t r = 0; r < out->rank_count; r++) {
		const struct ifp_rank_times *rank = &m->ranks[r];

		m->spans[r] = (struct span){0};
		if (m->position[r] < rank->collective_count &&
			rank->collectives[m->position[r]].step == step)
			m->spans[r] = span_at(rank, m->position[r]);
		m->position[r] += m->spans[r].count;
		everywhere = everywhere && m->spans[r].count;
	}
	if (everywhere && same_names(m->spans, out->rank_count))
		return add_worst(m, out);
	out->steps_skipped++;
	return 0;
}

static int matcher_init(
	struct matcher *m, const struct ifp_rank_times *ranks, struct ifp_arrivals *out)
{
	size_t n = out->rank_count;

	m->ranks = ranks;
	m->position = ifp_arena_alloc(&out->arena, n * sizeof(*m->position));
	m->spans = ifp_arena_alloc(&out->arena, n * sizeof(*m->spans));
	m->row_ns = ifp_arena_alloc(&out->arena, n * sizeof(*m->row_ns));
	m->scratch_ns = ifp_arena_alloc(&out->arena, n * sizeof(*m->scratch_ns));
	if (!m->position || !m->spans || !m->row_ns || !m->scratch_ns)
		return ifp_fail(-ENOMEM, "compare arrivals");
	for (size_t r = 0; r < n; r++)
		m->position[r] = 0;
	return 0;
}

int ifp_arrivals_at_collectives(
	const struct ifp_rank_times *ranks, uint32_t rank_count, struct ifp_arrivals *out)
{
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals arrivals = {.rank_count = rank_count};
	struct matcher m;
	uint64_t step = 0;
	int err;

	if (rank_count < 2) {
		*out = (struct ifp_arrivals){.rank_count = rank_count};
		return 0;
	}
	/* a matched step takes at least one collective of every rank */
	arrivals.steps = ifp_arena_alloc(
		&arrivals.arena, (ranks[0].collective_count + 1) * sizeof(*arrivals.steps));
	if (!arrivals.steps)
		return ifp_fail(-ENOMEM, "compare arrivals");
	err = matcher_init(&m, ranks, &arrivals);
	while (!err && next_step(&m, rank_count, &step))
		err = match_step(&m, step, &arrivals);
	if (err < 0)
		return err;
	*out = arrivals;
	arrivals = (struct ifp_arrivals){0};
	return 0;
}

/* Moves every rank to its mark of this step; false when one of them has none. */
static bool seek_marks(struct matcher *m, uint32_t rank_count, uint64_t step)
{
	for (uint32_t r = 0; r < rank_count; r++) {
		const struct ifp_rank_times *rank = &m->ranks[r];

		while (m->position[r] < rank->mark_count && rank->marks[m->position[r]].step < step)
			m->position[r]++;
		if (m->position[r] == rank->mark_count || rank->marks[m->position[r]].step != step)
			return false;
	}
	return true;
}

static int add_marks(struct matcher *m, uint64_t number, struct ifp_arrivals *out)
{
	struct ifp_arrival_step *step;
	int err = add_step(out, number, &step);

	for (uint32_t r = 0; !err && r < out->rank_count; r++)
		step->arrival_ns[r] = m->ranks[r].marks[m->position[r]].end_ns;
	return err;
}

int ifp_arrivals_at_marks(const struct ifp_rank_times *ranks, uint32_t rank_count,
	uint32_t max_steps, struct ifp_arrivals *out)
{
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals arrivals = {.rank_count = rank_count};
	size_t count = rank_count < 2 ? 0 : ranks[0].mark_count;
	size_t stride = max_steps && count > max_steps ? (count + max_steps - 1) / max_steps : 1;
	struct matcher m;
	int err;

	arrivals.steps =
		ifp_arena_alloc(&arrivals.arena, (count / stride + 1) * sizeof(*arrivals.steps));
	if (!arrivals.steps)
		return ifp_fail(-ENOMEM, "compare step marks");
	err = matcher_init(&m, ranks, &arrivals);
	for (size_t i = 0; !err && i < count; i += stride) {
		if (seek_marks(&m, rank_count, ranks[0].marks[i].step))
			err = add_marks(&m, ranks[0].marks[i].step, &arrivals);
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
