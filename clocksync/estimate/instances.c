/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/instances.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define SHARE_OF_SHORTER 3u /* a third of the shorter series must have a counterpart */
#define LEAST_IN_COMMON 3u
#define SHIFTS_EACH_WAY 4096 /* around what the wall clock says */
#define SAMPLES_MOST 256u    /* pairs of neighbours that are compared for one shift */
#define STRAY_SHARE 2	     /* most must be of the same step, where both traces know it */
#define WRONG_SHARE 16u	     /* one in so many may be another operation */
#define EQUALLY_GOOD 3	     /* times the least spread, from many pairs of neighbours */
#define MANY_PAIRS 16	     /* with so many it is twice that: the median of few says little */
#define SPREAD_FLOOR_NS 2000 /* of a program as regular as that all shifts are alike */

/*
 * Of stamps: nine years before 0, and the year 2043. Others are none, and sums and differences of
 * three of these fit 64 bits.
 */
#define EARLIEST_NS (-(INT64_C(1) << 58))
#define LATEST_NS (INT64_C(1) << 61)

/* The collectives of one rank in one group. */
struct series {
	uint64_t group;
	uint32_t rank, members;
	const struct ifp_clock_collective **items;
	uint32_t count;
	int64_t shift; /* its item i stands beside item i + shift of the group's first series */
	bool matched;
};

struct entry {
	uint64_t group;
	uint32_t rank;
	const struct ifp_clock_collective *item;
};

struct candidate {
	int64_t shift, spread_ns;
	uint32_t pairs; /* that spread_ns is the median of */
	int64_t steps;	/* of SAMPLES_MOST, in another step */
	int64_t apart_ns;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->item > y->item) - (x->item < y->item); /* by time within a rank */
}

static int compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t magnitude(int64_t x)
{
	return x == INT64_MIN ? INT64_MAX : x < 0 ? -x : x;
}

static int64_t difference(int64_t a, int64_t b)
{
	int64_t d;

	return __builtin_sub_overflow(a, b, &d) ? INT64_MAX : d;
}

static int64_t median(int64_t *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), compare_int64);
	return values[count / 2];
}

/* The part of lead that other overlaps when it is shifted: from first, count of them. */
static uint32_t overlap(
	const struct series *lead, const struct series *other, int64_t shift, uint32_t *first)
{
	int64_t from = shift < 0 ? 0 : shift, to = (int64_t)other->count + shift;

	if (to > (int64_t)lead->count)
		to = (int64_t)lead->count;
	*first = from < to ? (uint32_t)from : 0;
	return from < to ? (uint32_t)(to - from) : 0;
}

/* Few enough of the overlapping ones are other operations. */
static bool same_operations(const struct series *lead, const struct series *other, int64_t shift,
	uint32_t first, uint32_t count)
{
	uint32_t wrong = 0, stride = (count + SAMPLES_MOST - 1) / SAMPLES_MOST, seen = 0;

	for (uint32_t k = 0; k < count; k += stride, seen++) {
		wrong += lead->items[first + k]->kind != other->items[first + k - shift]->kind;
		if (wrong > count / stride / WRONG_SHARE)
			return false;
	}
	return true;
}

static struct candidate judge(const struct series *lead, const struct series *other, int64_t shift,
	uint32_t first, uint32_t count)
{
	int64_t spread[SAMPLES_MOST], apart[SAMPLES_MOST], steps = 0;
	uint32_t stride = (count - 1 + SAMPLES_MOST - 1) / SAMPLES_MOST, n = 0;

	for (uint32_t k = 0; k + 1 < count; k += stride, n++) {
		const struct ifp_clock_collective *const *a = lead->items + first + k;
		const struct ifp_clock_collective *const *b = other->items + first + k - shift;

		apart[n] = difference(b[0]->exit_ns, a[0]->exit_ns);
		spread[n] = magnitude(difference(difference(b[1]->exit_ns, b[0]->exit_ns),
			difference(a[1]->exit_ns, a[0]->exit_ns)));
		if (a[0]->step && b[0]->step && a[0]->step != b[0]->step)
			steps++;
		apart[n] = magnitude(apart[n]);
	}
	return (struct candidate){
		shift, median(spread, n), n, steps * SAMPLES_MOST / n, median(apart, n)};
}

/* The shift at which both series end at the same moment of the wall clock. */
static int64_t shift_by_wall_clock(const struct series *lead, const struct series *other)
{
	int64_t at_ns = other->items[other->count / 2]->exit_ns;
	uint32_t low = IFP_ARRAY_LOWER_BOUND(i, lead->count, lead->items[i]->exit_ns < at_ns);

	return (int64_t)low - other->count / 2;
}

static bool better(const struct candidate *a, const struct candidate *b)
{
	if (a->steps != b->steps)
		return a->steps < b->steps;
	return a->apart_ns < b->apart_ns;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Whether it agrees as well as the best, for all that so few pairs can tell. */
static bool is_as_good(const struct candidate *c, const struct candidate *closest)
{
	int64_t pairs = c->pairs < closest->pairs ? c->pairs : closest->pairs;
	int64_t floor_ns =
		closest->spread_ns < SPREAD_FLOOR_NS ? SPREAD_FLOOR_NS : closest->spread_ns;

	return c->spread_ns / EQUALLY_GOOD / (pairs + MANY_PAIRS) * pairs <= floor_ns;
}

static int find_candidates(
	const struct series *lead, const struct series *other, struct candidate *candidates)
{
	uint32_t shorter = lead->count < other->count ? lead->count : other->count;
	uint32_t least = shorter / SHARE_OF_SHORTER;
	int64_t centre = shift_by_wall_clock(lead, other), from, to;
	int count = 0;

	if (least < LEAST_IN_COMMON)
		least = LEAST_IN_COMMON;
	/* others have less in common */
	from = larger(centre - SHIFTS_EACH_WAY, (int64_t)least - other->count);
	to = smaller(centre + SHIFTS_EACH_WAY, (int64_t)lead->count - least);
	for (int64_t s = from; s <= to; s++) {
		uint32_t first, common = overlap(lead, other, s, &first);

		if (common >= least && same_operations(lead, other, s, first, common))
			candidates[count++] = judge(lead, other, s, first, common);
	}
	return count;
}

/* Whether another is as good, and wall clocks that are as far apart cannot tell which. */
static bool has_rival(const struct candidate *candidates, int count, const struct candidate *best,
	const struct candidate *closest)
{
	for (int i = 0; i < count; i++) {
		const struct candidate *c = &candidates[i];

		if (c != best && is_as_good(c, closest) && c->steps == best->steps &&
			c->apart_ns / 2 <= best->apart_ns)
			return true;
	}
	return false;
}

static const struct candidate *choose(const struct candidate *candidates, int count)
{
	const struct candidate *best = NULL, *closest = candidates;

	for (int i = 1; i < count; i++) {
		if (candidates[i].spread_ns < closest->spread_ns)
			closest = &candidates[i];
	}
	for (int i = 0; i < count; i++) {
		if (is_as_good(&candidates[i], closest) && (!best || better(&candidates[i], best)))
			best = &candidates[i];
	}
	/* most of another step: what they really have in common is too little to be seen */
	if (!best || best->steps > (int64_t)SAMPLES_MOST / STRAY_SHARE ||
		has_rival(candidates, count, best, closest))
		return NULL;
	return best;
}

static int match_series(const struct series *lead, struct series *other)
{
	IFP_CLEANUP_FREE struct candidate *candidates =
		calloc(2 * SHIFTS_EACH_WAY + 1, sizeof(*candidates));
	const struct candidate *best;

	if (!candidates)
		return ifp_fail(-ENOMEM, "compare collectives");
	best = choose(candidates, find_candidates(lead, other, candidates));
	other->matched = best != NULL;
	other->shift = best ? best->shift : 0;
	return 0;
}

/* The part of a series that stands beside item i of the lead; NULL = none. */
static const struct ifp_clock_collective *beside(
	const struct series *lead, const struct series *series, uint32_t i)
{
	int64_t k = (int64_t)i - series->shift;

	if (!series->matched || k < 0 || k >= (int64_t)series->count ||
		series->items[k]->kind != lead->items[i]->kind ||
		series->items[k]->exit_ns < series->items[k]->enter_ns)
		return NULL;
	return series->items[k];
}

static bool waits(const struct ifp_clock_collective *c)
{
	return c->role == IFP_CLOCK_WITH_ALL || c->role == IFP_CLOCK_WAITS;
}

static bool is_awaited(const struct ifp_clock_collective *c)
{
	return c->role == IFP_CLOCK_WITH_ALL || c->role == IFP_CLOCK_AWAITED;
}

/* A group that is not here as a whole is used as well: what holds for all holds for some. */
static void take_group(const struct series *series, uint32_t count, struct ifp_instances *out)
{
	for (uint32_t i = 0; i < series->count; i++) {
		struct ifp_instance *instance = &out->items[out->count];

		*instance = (struct ifp_instance){
			series->items[i]->kind, out->part_count, 0, .joint = true};
		for (uint32_t s = 0; s < count; s++) {
			const struct ifp_clock_collective *part = beside(series, series + s, i);

			if (!part)
				continue;
			out->parts[instance->first + instance->count++] =
				(struct ifp_instance_part){series[s].rank, is_awaited(part),
					waits(part), part->enter_ns, part->exit_ns};
			instance->joint = instance->joint && part->role == IFP_CLOCK_WITH_ALL;
		}
		if (instance->count < 2)
			continue;
		out->part_count += instance->count;
		out->count++;
	}
}

static int match_groups(struct series *series, uint32_t count, struct ifp_instances *out)
{
	int err = 0;

	for (uint32_t first = 0, end; first < count && !err; first = end) {
		series[first].matched = true;
		for (end = first + 1;
			end < count && series[end].group == series[first].group && !err; end++)
			err = match_series(&series[first], &series[end]);
		if (!err)
			take_group(series + first, end - first, out);
	}
	return err;
}

static bool is_plausible(const struct ifp_clock_collective *c)
{
	return c->enter_ns > EARLIEST_NS && c->enter_ns < LATEST_NS && c->exit_ns > EARLIEST_NS &&
	       c->exit_ns < LATEST_NS;
}

static size_t collect(const struct ifp_clock_rank *ranks, uint32_t count, struct entry *entries)
{
	size_t n = 0;

	for (uint32_t r = 0; r < count; r++) {
		const struct ifp_clock_samples *samples = ranks[r].samples;

		for (uint32_t i = 0; ranks[r].unmeasured && i < samples->collective_count; i++) {
			if (!is_plausible(&samples->collectives[i]))
				continue;
			if (entries)
				entries[n] = (struct entry){
					samples->collectives[i].group, r, &samples->collectives[i]};
			n++;
		}
	}
	return n;
}

/* Entries that are sorted, cut into series; items has room for all. */
static uint32_t cut(const struct entry *entries, size_t total, struct series *series,
	const struct ifp_clock_collective **items)
{
	uint32_t count = 0;

	for (size_t i = 0; i < total; i++) {
		items[i] = entries[i].item;
		if (!i || entries[i].group != entries[i - 1].group ||
			entries[i].rank != entries[i - 1].rank)
			series[count++] = (struct series){.group = entries[i].group,
				.rank = entries[i].rank,
				.items = items + i};
		series[count - 1].count++;
	}
	return count;
}

int ifp_instances_match(
	const struct ifp_clock_rank *ranks, uint32_t count, struct ifp_instances *out)
{
	IFP_CLEANUP(ifp_instances_free) struct ifp_instances instances = {0};
	size_t total = collect(ranks, count, NULL);
	IFP_CLEANUP_FREE struct entry *entries = calloc(total + 1, sizeof(*entries));
	IFP_CLEANUP_FREE struct series *series = calloc(total + 1, sizeof(*series));
	IFP_CLEANUP_FREE const struct ifp_clock_collective **items =
		calloc(total + 1, sizeof(*items));
	int err;

	instances.items = calloc(total + 1, sizeof(*instances.items));
	instances.parts = calloc(total + 1, sizeof(*instances.parts));
	if (!entries || !series || !items || !instances.items || !instances.parts)
		return ifp_fail(-ENOMEM, "compare %zu collectives", total);
	collect(ranks, count, entries);
	if (total)
		qsort(entries, total, sizeof(*entries), compare_entries);
	err = match_groups(series, cut(entries, total, series, items), &instances);
	if (err)
		return err;
	*out = instances;
	instances = (struct ifp_instances){0};
	return 0;
}

void ifp_instances_free(struct ifp_instances *instances)
{
	free(instances->items);
	free(instances->parts);
	*instances = (struct ifp_instances){0};
}
