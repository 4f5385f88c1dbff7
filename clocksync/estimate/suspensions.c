/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/suspensions.h"

#include "clocksync/estimate/edge.h"
#include "clocksync/estimate/world_calls.h"
#include "core/array.h"
#include "core/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Moments and lengths from archives beyond this are none; sums must not overflow. */
#define LIMIT_NS (INT64_C(1) << 58)
#define MOST_GAPS 256u

/* An exchange takes no longer: its round trips may have been on both sides of a suspension. */
#define EXCHANGE_NS (3 * IFP_NS_PER_S)
#define EXCHANGE_OVER_MPI_NS (10 * IFP_NS_PER_S)

bool ifp_clock_identity_same(const struct ifp_clock_identity *a, const struct ifp_clock_identity *b)
{
	return a->boot_id[0] && a->time_namespace == b->time_namespace &&
	       !strncmp(a->boot_id, b->boot_id, sizeof(a->boot_id));
}

/* Where a gap is taken to lie. */
static int64_t middle_of(const struct ifp_clock_gap *gap)
{
	return gap->from_ns + (gap->to_ns - gap->from_ns) / 2;
}

int64_t ifp_clock_gaps_straight(const struct ifp_clock_gaps *gaps, int64_t raw_ns)
{
	int64_t slept_ns = 0;

	for (uint32_t i = 0; i < gaps->count && raw_ns >= middle_of(&gaps->items[i]); i++)
		slept_ns += gaps->items[i].slept_ns;
	if (slept_ns && raw_ns > INT64_MAX - slept_ns)
		return INT64_MAX;
	return raw_ns + slept_ns;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct ifp_clock_gaps_doubt ifp_clock_gaps_doubt(
	const struct ifp_clock_gaps *gaps, int64_t from_ns, int64_t to_ns)
{
	struct ifp_clock_gaps_doubt doubt = {0};
	int64_t before_ns = 0;

	for (uint32_t i = 0; i < gaps->count; i++) {
		const struct ifp_clock_gap *gap = &gaps->items[i];

		if (to_ns < gap->from_ns + before_ns)
			break;
		doubt.doubt_ns += gap->doubt_ns;
		if (from_ns <= gap->to_ns + before_ns + gap->slept_ns + gap->doubt_ns)
			doubt.slept_ns = larger(doubt.slept_ns, gap->slept_ns);
		before_ns += gap->slept_ns;
	}
	return doubt;
}

/* What is uncertain of a reading of RAW outside the gaps. */
static int64_t doubt_at(const struct ifp_clock_gaps *gaps, int64_t raw_ns)
{
	int64_t doubt_ns = 0;

	for (uint32_t i = 0; i < gaps->count && raw_ns > gaps->items[i].from_ns; i++)
		doubt_ns += gaps->items[i].doubt_ns;
	return doubt_ns;
}

/* Whether a stretch of RAW, and what lies within reach of it, touches a gap. */
static bool touches(
	const struct ifp_clock_gaps *gaps, int64_t from_ns, int64_t to_ns, int64_t reach_ns)
{
	for (uint32_t i = 0; i < gaps->count; i++)
		if ((__int128)to_ns + reach_ns > gaps->items[i].from_ns &&
			(__int128)from_ns - reach_ns < gaps->items[i].to_ns)
			return true;
	return false;
}

bool ifp_clock_gaps_touch_edge(const struct ifp_clock_gaps *client,
	const struct ifp_clock_gaps *server, const struct ifp_clock_edge *edge)
{
	int64_t reach_ns = edge->over_mpi ? EXCHANGE_OVER_MPI_NS : EXCHANGE_NS;

	return touches(client, edge->best_t1_ns, edge->best_t4_ns, reach_ns) ||
	       touches(server, edge->best_t2_ns, edge->best_t3_ns, reach_ns);
}

static bool plausible(const struct ifp_clock_suspension *s)
{
	return s->after_raw_ns > -LIMIT_NS && s->before_raw_ns < LIMIT_NS &&
	       s->after_raw_ns <= s->before_raw_ns && s->low_ns > 0 && s->low_ns <= s->high_ns &&
	       s->high_ns <= IFP_GAP_LONGEST_NS;
}

/* What one rank's agent has watched of its clock. */
struct watch {
	const struct ifp_clock_samples *samples;
	int64_t first_ns, last_ns;
};

struct gathering {
	struct ifp_clock_gaps *gaps;
	size_t capacity;
	struct watch *watches; /* of the clock's ranks so far; owned */
	uint32_t watch_count;
};

/*
 * Takes a suspension unless a rank that watched then has told of it. A window that reaches into
 * what another has watched without seeing it ends there.
 */
static int take(struct gathering *g, const struct ifp_clock_suspension *s)
{
	struct ifp_clock_gap gap = {.from_ns = s->after_raw_ns,
		.to_ns = s->before_raw_ns,
		.slept_ns = s->low_ns + (s->high_ns - s->low_ns) / 2,
		.doubt_ns = (s->high_ns - s->low_ns + 1) / 2};
	int err;

	for (uint32_t i = 0; i < g->watch_count; i++) {
		const struct watch *w = &g->watches[i];

		if (gap.from_ns >= w->first_ns && gap.to_ns <= w->last_ns)
			return 0;
		if (gap.from_ns < w->first_ns && gap.to_ns > w->first_ns && gap.to_ns <= w->last_ns)
			gap.to_ns = w->first_ns;
		if (gap.to_ns > w->last_ns && gap.from_ns < w->last_ns &&
			gap.from_ns >= w->first_ns)
			gap.from_ns = w->last_ns;
	}
	if (g->gaps->count == MOST_GAPS)
		return 0;
	err = IFP_ARRAY_RESERVE(g->gaps->items, g->capacity, g->gaps->count, 1, "suspensions");
	if (!err)
		g->gaps->items[g->gaps->count++] = gap;
	return err;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct ifp_clock_gap *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* All suspensions of the clock of ranks[of], from those of its ranks that have seen any. */
static int gather(const struct ifp_clock_rank *ranks, uint32_t count, uint32_t of,
	struct watch *watches, struct ifp_clock_gaps *gaps)
{
	struct gathering g = {.gaps = gaps, .watches = watches};

	for (uint32_t r = 0; r < count; r++) {
		const struct ifp_clock_samples *samples = ranks[r].samples;

		if (!samples || !samples->suspension_count || ranks[r].unmeasured ||
			!samples->tuple_count ||
			(r != of &&
				!ifp_clock_identity_same(&ranks[r].identity, &ranks[of].identity)))
			continue;
		for (uint32_t i = 0; i < samples->suspension_count; i++)
			if (plausible(&samples->suspensions[i]) &&
				take(&g, &samples->suspensions[i]))
				return -ENOMEM;
		g.watches[g.watch_count++] = (struct watch){samples, samples->tuples[0].raw_ns,
			samples->tuples[samples->tuple_count - 1].raw_ns};
	}
	if (gaps->count)
		qsort(gaps->items, gaps->count, sizeof(*gaps->items), compare_gaps);
	return 0;
}

static uint32_t straighten_tuples(const struct ifp_clock_samples *from,
	const struct ifp_clock_gaps *gaps, struct ifp_clock_tuple *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < from->tuple_count; i++) {
		struct ifp_clock_tuple tuple = from->tuples[i];

		if (touches(gaps, tuple.raw_ns, tuple.raw_ns, 0))
			continue;
		tuple.raw_ns = ifp_clock_gaps_straight(gaps, tuple.raw_ns);
		out[count++] = tuple;
	}
	return count;
}

static void move(const struct ifp_clock_gaps *gaps, int64_t *first_ns, int64_t *second_ns)
{
	*first_ns = ifp_clock_gaps_straight(gaps, *first_ns);
	*second_ns = ifp_clock_gaps_straight(gaps, *second_ns);
}

/* False for an edge that may have been measured while one of the machines was suspended. */
static bool straighten_edge(const struct ifp_clock_gaps *client,
	const struct ifp_clock_gaps *server, struct ifp_clock_edge *edge)
{
	int64_t doubt_ns = doubt_at(client, edge->best_t1_ns) + doubt_at(server, edge->best_t2_ns);
	int64_t client_ns = edge->best_t1_ns, server_ns = edge->best_t2_ns;

	if (ifp_clock_gaps_touch_edge(client, server, edge))
		return false;
	move(client, &edge->best_t1_ns, &edge->best_t4_ns);
	move(server, &edge->best_t2_ns, &edge->best_t3_ns);
	edge->low_ns += (edge->best_t2_ns - server_ns) - (edge->best_t1_ns - client_ns) - doubt_ns;
	edge->high_ns += (edge->best_t2_ns - server_ns) - (edge->best_t1_ns - client_ns) + doubt_ns;
	return true;
}

/* Calls of MPI, which have stamps of RAW; others have REALTIME's, which does not stand still. */
static uint32_t straighten_calls(const struct ifp_clock_samples *from,
	const struct ifp_clock_gaps *gaps, struct ifp_clock_collective *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < from->collective_count; i++) {
		struct ifp_clock_collective c = from->collectives[i];

		if (c.group == IFP_WORLD_CALLS_GROUP) {
			int64_t before_ns = doubt_at(gaps, c.enter_ns);
			int64_t after_ns = doubt_at(gaps, c.exit_ns);

			if (touches(gaps, c.enter_ns, c.enter_ns, 0) ||
				touches(gaps, c.exit_ns, c.exit_ns, 0))
				continue;
			move(gaps, &c.enter_ns, &c.exit_ns);
			c.enter_ns -= before_ns;
			c.exit_ns += after_ns;
		}
		out[count++] = c;
	}
	return count;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct ifp_straight_number *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

uint32_t ifp_straight_find(const struct ifp_straight_numbers *numbers, uint32_t rank)
{
	struct ifp_straight_number key = {.rank = rank};
	const struct ifp_straight_number *found =
		bsearch(&key, numbers->items, numbers->count, sizeof(key), compare_numbers);

	return found ? found->index : UINT32_MAX;
}

static void numbers_free(struct ifp_straight_numbers *numbers)
{
	free(numbers->items);
}

static const struct ifp_clock_gaps *gaps_of(const struct ifp_straight_ranks *straight,
	const struct ifp_straight_numbers *numbers, uint32_t rank)
{
	static const struct ifp_clock_gaps none;
	uint32_t index = ifp_straight_find(numbers, rank);

	return index == UINT32_MAX ? &none : &straight->gaps[index];
}

static int straighten_rank(struct ifp_straight_ranks *straight,
	const struct ifp_straight_numbers *numbers, const struct ifp_clock_samples *from,
	uint32_t r)
{
	struct ifp_clock_samples *to = &straight->samples[r];
	const struct ifp_clock_gaps *gaps = &straight->gaps[r];

	to->tuples = calloc((size_t)from->tuple_count + 1, sizeof(*to->tuples));
	to->edges = calloc((size_t)from->edge_count + 1, sizeof(*to->edges));
	to->collectives = calloc((size_t)from->collective_count + 1, sizeof(*to->collectives));
	if (!to->tuples || !to->edges || !to->collectives)
		return -ENOMEM;
	to->tuple_count = straighten_tuples(from, gaps, to->tuples);
	to->collective_count = straighten_calls(from, gaps, to->collectives);
	to->collectives_left_out = from->collectives_left_out;
	for (uint32_t i = 0; i < from->edge_count; i++) {
		struct ifp_clock_edge edge = from->edges[i];

		if (!ifp_edge_usable(&edge) ||
			straighten_edge(gaps_of(straight, numbers, edge.client),
				gaps_of(straight, numbers, edge.server), &edge))
			to->edges[to->edge_count++] = edge;
	}
	straight->own[r].samples = to;
	return 0;
}

/* All suspensions of all ranks' clocks. */
static int gather_all(
	struct ifp_straight_ranks *straight, const struct ifp_straight_numbers *numbers)
{
	IFP_CLEANUP_FREE struct watch *watches = calloc(straight->count, sizeof(*watches));
	int err = watches ? 0 : -ENOMEM;

	for (uint32_t r = 0; r < straight->count && !err; r++)
		if (!straight->ranks[r].unmeasured)
			err = gather(
				straight->ranks, straight->count, r, watches, &straight->gaps[r]);
	for (uint32_t r = 0; r < straight->count && !err; r++)
		err = ifp_clock_gaps_measure(straight, numbers, r);
	return err;
}

static int straighten_all(struct ifp_straight_ranks *straight)
{
	const struct ifp_clock_rank *ranks = straight->ranks;
	uint32_t count = straight->count;
	IFP_CLEANUP(numbers_free)
	struct ifp_straight_numbers numbers = {calloc(count, sizeof(*numbers.items)), count};

	straight->gaps = calloc(count, sizeof(*straight->gaps));
	straight->own = calloc(count, sizeof(*straight->own));
	straight->samples = calloc(count, sizeof(*straight->samples));
	if (!numbers.items || !straight->gaps || !straight->own || !straight->samples)
		return -ENOMEM;
	for (uint32_t r = 0; r < count; r++) {
		numbers.items[r] = (struct ifp_straight_number){ranks[r].rank, r};
		straight->own[r] = ranks[r];
	}
	qsort(numbers.items, count, sizeof(*numbers.items), compare_numbers);
	if (gather_all(straight, &numbers))
		return -ENOMEM;
	for (uint32_t r = 0; r < count; r++)
		if (ranks[r].samples && straighten_rank(straight, &numbers, ranks[r].samples, r))
			return -ENOMEM;
	straight->ranks = straight->own;
	return 0;
}

int ifp_straighten(
	const struct ifp_clock_rank *ranks, uint32_t count, struct ifp_straight_ranks *out)
{
	IFP_CLEANUP(ifp_straight_ranks_free)
	struct ifp_straight_ranks straight = {.ranks = ranks, .count = count};
	bool any = false;

	for (uint32_t r = 0; r < count; r++)
		any |= ranks[r].samples && ranks[r].samples->suspension_count;
	if (any && straighten_all(&straight))
		return -ENOMEM;
	*out = straight;
	straight = (struct ifp_straight_ranks){0};
	return 0;
}

void ifp_clock_gaps_free(struct ifp_clock_gaps *gaps, uint32_t count)
{
	for (uint32_t r = 0; gaps && r < count; r++)
		free(gaps[r].items);
	free(gaps);
}

void ifp_straight_ranks_free(struct ifp_straight_ranks *straight)
{
	ifp_clock_gaps_free(straight->gaps, straight->count);
	for (uint32_t r = 0; straight->samples && r < straight->count; r++)
		ifp_clock_samples_free(&straight->samples[r]);
	free(straight->samples);
	free(straight->own);
	*straight = (struct ifp_straight_ranks){0};
}
