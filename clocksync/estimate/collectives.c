/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/collectives.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_READINGS 3u
#define READINGS_MOST 8192u /* of one rank; evenly chosen beyond */

/*
 * How far from each other the ends of one operation may lie systematically: this share of the time
 * that it takes when nobody waits. Measured on two GPUs: 1 us of 14 us, 2 of 32, 8.5 of 118.
 */
#define BIAS_SHARE 0.1
#define BIAS_LEAST_NS 100.0

#define RATE_LIMIT 0.01

#define UNKNOWN IFP_INSTANCE_UNPLACED

struct aligner {
	const struct ifp_instances *instances;
	uint32_t rank_count, reference;
	struct ifp_aligned_rank *ranks;
	/* By instance, as the sources of the level saw it: when it ended, and when the last of them
	 * came. UNKNOWN where it has no source. */
	int64_t *at_ns, *last_ns;
	double *bias_ns;  /* by instance */
	int64_t *scratch; /* by rank */
	/* of the rank at hand */
	struct ifp_trend_reading *readings;
	const struct ifp_instance **of;
	uint32_t count;
};

uint32_t ifp_trend_point_before(const struct ifp_trend *trend, int64_t at_ns)
{
	uint32_t behind = IFP_ARRAY_LOWER_BOUND(i, trend->count, trend->points[i].at_ns <= at_ns);

	return behind ? behind - 1 : 0;
}

int64_t ifp_trend_offset(const struct ifp_trend *trend, int64_t at_ns)
{
	const struct ifp_trend_point *p, *q;
	uint32_t before = ifp_trend_point_before(trend, at_ns);
	double rate;

	if (!trend->count)
		return 0;
	p = &trend->points[before];
	q = p + 1;
	rate = p->rate;
	if (before + 1 < trend->count && at_ns > p->at_ns) {
		if (!q->stepped)
			rate = (double)(q->offset_ns - p->offset_ns) /
			       (double)(q->at_ns - p->at_ns);
		else if (q->at_ns - at_ns < at_ns - p->at_ns)
			return q->offset_ns - llround(q->rate * (double)(q->at_ns - at_ns));
	}
	return p->offset_ns + llround(rate * (double)(at_ns - p->at_ns));
}

static int compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Whether this rank is a source of time for those that are aligned next. */
static bool is_source(const struct aligner *a, uint32_t rank, uint32_t level)
{
	return rank == a->reference || (a->ranks[rank].aligned && a->ranks[rank].level < level);
}

static bool was_set(const struct ifp_trend *trend)
{
	return trend->count && trend->points[0].piece_last + 1 < trend->count;
}

/* Whether the operation has a source whose clock was never set: those with one may mislead. */
static bool has_steady_source(
	const struct aligner *a, const struct ifp_instance *instance, uint32_t level)
{
	const struct ifp_instance_part *parts = a->instances->parts + instance->first;

	for (uint32_t i = 0; i < instance->count; i++) {
		if (is_source(a, parts[i].rank, level) && !was_set(&a->ranks[parts[i].rank].trend))
			return true;
	}
	return false;
}

/*
 * When the sources of an operation ended it, in the median, and when the last of them came. Their
 * own time is near enough to job time to ask for the offset, once it has been taken off.
 */
static void look_at(struct aligner *a, uint32_t k, uint32_t level)
{
	const struct ifp_instance *instance = &a->instances->items[k];
	const struct ifp_instance_part *parts = a->instances->parts + instance->first;
	bool steady = has_steady_source(a, instance, level);
	uint32_t n = 0;

	a->at_ns[k] = a->last_ns[k] = UNKNOWN;
	if (!instance->joint)
		return;
	for (uint32_t i = 0; i < instance->count; i++) {
		const struct ifp_trend *trend = &a->ranks[parts[i].rank].trend;
		int64_t at_ns = parts[i].exit_ns, came_ns;

		if (!is_source(a, parts[i].rank, level) || (steady && was_set(trend)))
			continue;
		at_ns -= ifp_trend_offset(trend, at_ns);
		a->scratch[n++] = parts[i].exit_ns - ifp_trend_offset(trend, at_ns);
		came_ns = parts[i].enter_ns - ifp_trend_offset(trend, at_ns);
		a->last_ns[k] = came_ns > a->last_ns[k] ? came_ns : a->last_ns[k];
	}
	if (!n)
		return;
	qsort(a->scratch, n, sizeof(*a->scratch), compare_int64);
	a->at_ns[k] = a->scratch[n / 2];
}

static void look_at_all(struct aligner *a, uint32_t level)
{
	for (uint32_t k = 0; k < a->instances->count; k++)
		look_at(a, k, level);
}

static int compare_parts(const void *a, const void *b)
{
	const struct ifp_instance_part *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

static const struct ifp_instance_part *part_of(
	const struct aligner *a, const struct ifp_instance *instance, uint32_t rank)
{
	struct ifp_instance_part key = {.rank = rank};

	return bsearch(&key, a->instances->parts + instance->first, instance->count, sizeof(key),
		compare_parts);
}

/* What the operation takes when nobody waits: nobody's part of it is shorter. */
static double bias_of(const struct aligner *a, const struct ifp_instance *instance)
{
	const struct ifp_instance_part *parts = a->instances->parts + instance->first;
	int64_t least_ns = INT64_MAX;

	for (uint32_t i = 0; i < instance->count; i++) {
		int64_t ns = parts[i].exit_ns - parts[i].enter_ns;

		least_ns = ns < least_ns ? ns : least_ns;
	}
	return fmax(BIAS_SHARE * (double)least_ns, BIAS_LEAST_NS);
}

struct by_time {
	struct ifp_trend_reading reading;
	const struct ifp_instance *of;
};

static int compare_by_time(const void *a, const void *b)
{
	const struct by_time *x = a, *y = b;

	if (x->reading.at_ns != y->reading.at_ns)
		return x->reading.at_ns < y->reading.at_ns ? -1 : 1;
	return (x->of > y->of) - (x->of < y->of);
}

struct frequency {
	uint64_t kind;
	uint32_t count, number;
};

static int compare_kinds(const void *a, const void *b)
{
	const struct frequency *x = a, *y = b;

	return (x->kind > y->kind) - (x->kind < y->kind);
}

static int compare_frequencies(const void *a, const void *b)
{
	const struct frequency *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return compare_kinds(a, b);
}

/* Numbers the kinds of the rank's readings, the most frequent first. */
static int number_kinds(struct aligner *a)
{
	IFP_CLEANUP_FREE struct frequency *seen = calloc(a->count + 1u, sizeof(*seen));
	uint32_t n = 0;

	if (!seen)
		return ifp_fail(-ENOMEM, "align %u collectives", a->count);
	for (uint32_t i = 0; i < a->count; i++)
		seen[i].kind = a->of[i]->kind;
	qsort(seen, a->count, sizeof(*seen), compare_kinds);
	for (uint32_t i = 0; i < a->count; i++) {
		if (!n || seen[n - 1].kind != seen[i].kind)
			seen[n++] = (struct frequency){.kind = seen[i].kind};
		seen[n - 1].count++;
	}
	qsort(seen, n, sizeof(*seen), compare_frequencies);
	for (uint32_t i = 0; i < n; i++)
		seen[i].number = i;
	qsort(seen, n, sizeof(*seen), compare_kinds);
	for (uint32_t i = 0; i < a->count; i++) {
		struct frequency key = {.kind = a->of[i]->kind};
		const struct frequency *found = bsearch(&key, seen, n, sizeof(key), compare_kinds);

		a->readings[i].kind = found->number;
	}
	return 0;
}

/* Every operation that the rank has in common with a source, by time. */
static int read_rank(struct aligner *a, uint32_t rank)
{
	IFP_CLEANUP_FREE struct by_time *all = calloc(a->instances->count + 1u, sizeof(*all));
	uint32_t n = 0, stride;

	if (!all)
		return ifp_fail(-ENOMEM, "align %u collectives", a->instances->count);
	for (uint32_t k = 0; k < a->instances->count; k++) {
		const struct ifp_instance *instance = &a->instances->items[k];
		const struct ifp_instance_part *part = part_of(a, instance, rank);

		if (!part || a->at_ns[k] == UNKNOWN)
			continue;
		all[n].of = instance;
		all[n++].reading = (struct ifp_trend_reading){.at_ns = a->at_ns[k],
			.offset_ns = part->exit_ns - a->at_ns[k],
			.scale_ns = a->bias_ns[k]};
	}
	qsort(all, n, sizeof(*all), compare_by_time);
	stride = (n + READINGS_MOST - 1) / READINGS_MOST;
	a->count = 0;
	for (uint32_t i = 0; i < n; i += stride, a->count++) {
		a->readings[a->count] = all[i].reading;
		a->of[a->count] = all[i].of;
	}
	a->ranks[rank].instances = n;
	return number_kinds(a);
}

/* Who came last to each operation, the rank or a source, by the line at hand. */
static void find_sides(struct aligner *a, uint32_t rank)
{
	const struct ifp_trend *trend = &a->ranks[rank].trend;

	for (uint32_t i = 0; i < a->count; i++) {
		int64_t came_ns = part_of(a, a->of[i], rank)->enter_ns -
				  ifp_trend_offset(trend, a->readings[i].at_ns);

		a->readings[i].side = came_ns > a->last_ns[a->of[i] - a->instances->items] ? 1 : -1;
	}
}

/* No clock runs one in a hundred too fast: what seems to comes from wrong partners. */
static bool is_clock(const struct ifp_trend *trend)
{
	for (uint32_t i = 0; i < trend->count; i++) {
		if (!(fabs(trend->points[i].rate) < RATE_LIMIT))
			return false;
	}
	return true;
}

static int align_rank(struct aligner *a, uint32_t rank, uint32_t level)
{
	struct ifp_aligned_rank *aligned = &a->ranks[rank];
	int err = read_rank(a, rank);

	if (err || a->count < LEAST_READINGS)
		return err;
	err = ifp_trend_fit_roughly(a->readings, a->count, &aligned->trend);
	if (err)
		return err;
	find_sides(a, rank);
	ifp_trend_free(&aligned->trend);
	err = ifp_trend_fit(a->readings, a->count, &aligned->trend);
	aligned->aligned = !err && is_clock(&aligned->trend);
	if (!aligned->aligned) /* the next level tries again */
		ifp_trend_free(&aligned->trend);
	aligned->level = level;
	return err;
}

/* Aligns all that can be by the ranks of lower levels; *found: whether any could. */
static int align_level(struct aligner *a, uint32_t level, bool *found)
{
	int err = 0;

	*found = false;
	look_at_all(a, level);
	for (uint32_t r = 0; r < a->rank_count && !err; r++) {
		if (r == a->reference || a->ranks[r].aligned)
			continue;
		err = align_rank(a, r, level);
		*found = *found || a->ranks[r].aligned;
	}
	return err;
}

static int align(struct aligner *a)
{
	bool found = true;
	uint32_t level = 1;
	int err = 0;

	for (uint32_t k = 0; k < a->instances->count; k++)
		a->bias_ns[k] = bias_of(a, &a->instances->items[k]);

	for (; found && !err; level++)
		err = align_level(a, level, &found);
	if (err)
		return err;
	look_at_all(a, level);
	return ifp_collectives_certify(
		a->instances, a->at_ns, a->rank_count, a->reference, a->ranks);
}

int ifp_collectives_align(const struct ifp_instances *instances, uint32_t rank_count,
	uint32_t reference, struct ifp_aligned_rank *out)
{
	size_t n = instances->count + 1u;
	IFP_CLEANUP_FREE int64_t *at_ns = calloc(2 * n, sizeof(*at_ns));
	IFP_CLEANUP_FREE double *bias_ns = calloc(n, sizeof(*bias_ns));
	IFP_CLEANUP_FREE int64_t *scratch = calloc(rank_count + 1u, sizeof(*scratch));
	IFP_CLEANUP_FREE struct ifp_trend_reading *readings =
		calloc(READINGS_MOST + 1, sizeof(*readings));
	IFP_CLEANUP_FREE const struct ifp_instance **of = calloc(READINGS_MOST + 1, sizeof(*of));
	struct aligner a = {.instances = instances,
		.rank_count = rank_count,
		.reference = reference,
		.ranks = out,
		.at_ns = at_ns,
		.last_ns = at_ns + n,
		.bias_ns = bias_ns,
		.scratch = scratch,
		.readings = readings,
		.of = of};

	if (!at_ns || !bias_ns || !scratch || !readings || !of)
		return ifp_fail(-ENOMEM, "align %u collectives", instances->count);
	return align(&a);
}

void ifp_aligned_ranks_free(struct ifp_aligned_rank *ranks, uint32_t rank_count)
{
	for (uint32_t r = 0; ranks && r < rank_count; r++) {
		ifp_trend_free(&ranks[r].trend);
		free(ranks[r].low_ns);
		free(ranks[r].high_ns);
	}
	free(ranks);
}
