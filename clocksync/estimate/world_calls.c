/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/world_calls.h"

#include "clocksync/estimate/edge.h"
#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points that calls add to one track: fewer where there are many clocks. */
#define MOST_POINTS 4096u
#define MOST_POINTS_OF_ALL (1u << 20)
#define FEWEST_POINTS 64u

/* A point is added where it leaves at most this much of the width that was known there, in percent.
 */
#define WORTH_PERCENT 80

/* A stamp is the true reading rounded down. */
#define ROUNDING_NS 1

void ifp_world_calls_free(struct ifp_world_calls *calls)
{
	free(calls->items);
	*calls = (struct ifp_world_calls){0};
}

static int compare_seen(const void *a, const void *b)
{
	const struct ifp_world_call *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static bool is_call(const struct ifp_clock_collective *c)
{
	return c->group == IFP_WORLD_CALLS_GROUP && c->step > 0 && c->exit_ns >= c->enter_ns;
}

static size_t append_rank(const struct ifp_clock_samples *samples, struct ifp_world_call *out)
{
	size_t count = 0;

	for (uint32_t i = 0; samples && i < samples->collective_count; i++) {
		const struct ifp_clock_collective *c = &samples->collectives[i];

		if (is_call(c))
			out[count++] =
				(struct ifp_world_call){c->step, c->kind, c->enter_ns, c->exit_ns};
	}
	return count;
}

/* Of ranks that share a clock, those with the same number become one; none if their orders differ.
 */
static size_t unite(struct ifp_world_call *items, size_t count, uint64_t *strange)
{
	size_t kept = 0;

	for (size_t i = 0, next; i < count; i = next) {
		struct ifp_world_call all = items[i];
		bool same = true;

		for (next = i + 1; next < count && items[next].number == all.number; next++) {
			const struct ifp_world_call *other = &items[next];

			same = same && other->order == all.order;
			all.enter_ns =
				other->enter_ns > all.enter_ns ? other->enter_ns : all.enter_ns;
			all.exit_ns = other->exit_ns < all.exit_ns ? other->exit_ns : all.exit_ns;
		}
		if (same)
			items[kept++] = all;
		else
			++*strange;
	}
	return kept;
}

int ifp_world_calls_list(const struct ifp_clock_solution *solution,
	const struct ifp_clock_rank *ranks, uint32_t node, struct ifp_world_calls *out)
{
	size_t room = 1;

	for (uint32_t r = 0; r < solution->rank_count; r++)
		if (solution->node_of_rank[r] == node && ranks[r].samples && !ranks[r].unmeasured)
			room += ranks[r].samples->collective_count;
	out->count = 0;
	out->items = calloc(room, sizeof(*out->items));
	if (!out->items)
		return -ENOMEM;
	for (uint32_t r = 0; r < solution->rank_count; r++)
		if (solution->node_of_rank[r] == node && !ranks[r].unmeasured)
			out->count += append_rank(ranks[r].samples, out->items + out->count);
	qsort(out->items, out->count, sizeof(*out->items), compare_seen);
	out->count = unite(out->items, out->count, &out->strange);
	return 0;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * The offset's interval at the moment when the reference left the call. The other's stamps were
 * taken at other moments, which its offset tells as far as it is known: the clocks drift meanwhile.
 */
static struct ifp_track_point interval_of(const struct ifp_track *track,
	const struct ifp_world_call *reference, const struct ifp_world_call *other)
{
	int64_t at_ns = reference->exit_ns;
	struct ifp_track_state known = ifp_track_at(track, at_ns);
	int64_t since_enter_ns = larger(distance(at_ns, other->enter_ns - known.low_ns),
		distance(at_ns, other->enter_ns - known.high_ns));
	int64_t since_exit_ns = larger(distance(at_ns, other->exit_ns - known.low_ns),
		distance(at_ns, other->exit_ns - known.high_ns));
	struct ifp_track_point point = {.global_ns = at_ns,
		.offset_ns = known.offset_ns,
		.rate = known.rate,
		.sigma_ns = known.sigma_ns,
		.rate_sigma = (double)track->drift_ppm * 1000 / sqrt(3)};

	point.low_ns = other->enter_ns - reference->exit_ns - ROUNDING_NS -
		       ifp_drift_ns(since_enter_ns, track->drift_ppm);
	point.high_ns = other->exit_ns - reference->enter_ns + ROUNDING_NS +
			ifp_drift_ns(since_exit_ns, track->drift_ppm);
	return point;
}

/* Stamps that clocks cannot have given, also from archives: differences must not overflow. */
static bool plausible(const struct ifp_world_call *s)
{
	const int64_t limit_ns = INT64_C(1) << 58;

	return s->enter_ns > -limit_ns && s->enter_ns < limit_ns && s->exit_ns > -limit_ns &&
	       s->exit_ns < limit_ns;
}

/* Whether the point narrows what is known there by enough, by the track and the point before it. */
static bool is_worth_it(const struct ifp_track *track, const struct ifp_track_point *before,
	const struct ifp_track_point *point)
{
	struct ifp_track_state known = ifp_track_at(track, point->global_ns);
	int64_t limits[2] = {known.low_ns, known.high_ns}, width_ns;

	if (before)
		ifp_track_narrow(before, point->global_ns, track->drift_ppm, limits);
	width_ns = limits[1] - limits[0];
	ifp_track_narrow(point, point->global_ns, track->drift_ppm, limits);
	return limits[1] - limits[0] <= width_ns / 100 * WORTH_PERCENT;
}

/* The calls that both have, thinned to most of them. */
struct common {
	const struct ifp_world_calls *reference, *other;
	size_t i, k;
	uint64_t strange; /* of one number, but not the same call */
};

static bool next_common(struct common *c, const struct ifp_world_call **reference,
	const struct ifp_world_call **other)
{
	while (c->i < c->reference->count && c->k < c->other->count) {
		*reference = &c->reference->items[c->i];
		*other = &c->other->items[c->k];
		c->i += (*reference)->number <= (*other)->number;
		c->k += (*other)->number <= (*reference)->number;
		if ((*reference)->number == (*other)->number &&
			(*reference)->order == (*other)->order && plausible(*reference) &&
			plausible(*other))
			return true;
		c->strange += (*reference)->number == (*other)->number;
	}
	return false;
}

static size_t count_common(const struct ifp_world_calls *reference,
	const struct ifp_world_calls *other, uint64_t *strange)
{
	struct common c = {.reference = reference, .other = other};
	const struct ifp_world_call *a, *b;
	size_t count = 0;

	while (next_common(&c, &a, &b))
		count++;
	*strange = reference->strange + other->strange + c.strange;
	return count;
}

static size_t find_points(const struct ifp_track *track, struct common c, size_t common_count,
	size_t most, struct ifp_track_point *out)
{
	size_t step = common_count / most + 1, count = 0, n = 0;
	const struct ifp_world_call *a, *b;

	while (next_common(&c, &a, &b)) {
		struct ifp_track_point point;

		if (n++ % step)
			continue;
		point = interval_of(track, a, b);
		if (is_worth_it(track, count ? &out[count - 1] : NULL, &point) &&
			(!count || point.global_ns > out[count - 1].global_ns))
			out[count++] = point;
	}
	return count;
}

/* A sigma beyond what certainly holds is no more than half of that. */
static void limit_sigmas(struct ifp_track *track)
{
	for (uint32_t i = 0; i < track->count; i++) {
		struct ifp_track_point *p = track->points + i;
		double uniform_ns = (double)(p->high_ns - p->low_ns) / 2 / sqrt(3);

		p->sigma_ns = p->sigma_ns > uniform_ns ? uniform_ns : p->sigma_ns;
	}
}

static bool certain(const struct ifp_track *track)
{
	for (uint32_t i = 0; i < track->count; i++)
		if (track->points[i].low_ns > track->points[i].high_ns)
			return false;
	return true;
}

/* Where the points of a track are in a wider one. */
static void find_places(
	const struct ifp_track *track, const struct ifp_track *wider, uint32_t *places)
{
	for (uint32_t i = 0, n = 0; i < track->count; n++)
		if (wider->points[n].global_ns == track->points[i].global_ns)
			places[i++] = n;
}

/* *contradict where they leave nothing that could be true: the track stays as it was. */
static int add_points(struct ifp_clock_node *node, const struct ifp_track_point *added,
	uint32_t added_count, bool *contradict)
{
	IFP_CLEANUP_FREE uint32_t *places = calloc(node->track.count, sizeof(*places));
	struct ifp_track wider;

	if (!places || ifp_track_merge(&node->track, added, added_count, &wider))
		return -ENOMEM;
	find_places(&node->track, &wider, places);
	if (ifp_track_tighten(&wider) || !certain(&wider)) {
		*contradict = true;
		free(wider.points);
		return 0;
	}
	ifp_track_confine(&wider);
	limit_sigmas(&wider);
	node->exchanges = IFP_TAKE_PTR(places);
	node->exchange_count = node->track.count;
	free(node->track.points);
	node->track = wider;
	return 0;
}

static int narrow_node(struct ifp_clock_solution *solution, const struct ifp_clock_rank *ranks,
	const struct ifp_world_calls *reference, uint32_t i)
{
	IFP_CLEANUP(ifp_world_calls_free) struct ifp_world_calls other = {0};
	IFP_CLEANUP_FREE struct ifp_track_point *points = NULL;
	struct ifp_clock_node *node = &solution->nodes[i];
	size_t most = MOST_POINTS_OF_ALL / solution->node_count, common_count, count;
	struct common common = {.reference = reference};
	bool contradict = false;
	int err;

	if (!node->track.count || node->method == IFP_CLOCK_UNALIGNED)
		return 0;
	if (ifp_world_calls_list(solution, ranks, i, &other))
		return -ENOMEM;
	if (!other.count)
		return 0;
	most = most > MOST_POINTS ? MOST_POINTS : most < FEWEST_POINTS ? FEWEST_POINTS : most;
	points = calloc(most + 1, sizeof(*points));
	if (!points)
		return -ENOMEM;
	common.other = &other;
	common_count = count_common(reference, &other, &node->calls.unmatched);
	count = find_points(&node->track, common, common_count, most, points);
	err = count ? add_points(node, points, (uint32_t)count, &contradict) : 0;
	node->calls.contradicting = contradict ? common_count : 0;
	return err;
}

int ifp_world_calls_narrow(struct ifp_clock_solution *solution, const struct ifp_clock_rank *ranks)
{
	IFP_CLEANUP(ifp_world_calls_free) struct ifp_world_calls reference = {0};
	int err = ifp_world_calls_list(solution, ranks, 0, &reference);

	for (uint32_t i = 1; !err && reference.count && i < solution->node_count; i++)
		err = narrow_node(solution, ranks, &reference, i);
	return err;
}
