/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/track.h"

#include "clocksync/estimate/edge.h"

#include <stdlib.h>
#include <string.h>

/* No two clocks drift faster than this; what does is no clock, and sums must not overflow. */
#define STEEPEST_PPM 1000000

/* Offsets are drawn out no farther. */
#define OFFSET_LIMIT_NS (INT64_C(1) << 62)

void ifp_track_add(struct ifp_track *track, const struct ifp_track_point *point)
{
	if (!track->count || point->global_ns > track->points[track->count - 1].global_ns)
		track->points[track->count++] = *point;
}

/* Narrows one interval to the cone from another point. */
static void narrow(
	struct ifp_track_point *point, const struct ifp_track_point *other, int64_t drift_ppm)
{
	int64_t drift_ns = ifp_drift_ns(point->global_ns - other->global_ns, drift_ppm);

	if (point->low_ns < other->low_ns - drift_ns)
		point->low_ns = other->low_ns - drift_ns;
	if (point->high_ns > other->high_ns + drift_ns)
		point->high_ns = other->high_ns + drift_ns;
}

/* The ppm with which the offset moved between the contradicting neighbours, rounded up. */
static int64_t steepest_ppm(const struct ifp_track *track)
{
	int64_t steepest = 0;

	for (uint32_t i = 1; i < track->count; i++) {
		const struct ifp_track_point *p = track->points + i;
		__int128 rise = (__int128)p->offset_ns - p[-1].offset_ns;
		__int128 run = (__int128)p->global_ns - p[-1].global_ns;
		__int128 ppm = ((rise < 0 ? -rise : rise) * 1000000 + run - 1) / run;

		if (ppm > steepest)
			steepest = ppm > STEEPEST_PPM ? STEEPEST_PPM : (int64_t)ppm;
	}
	return steepest;
}

static bool consistent(const struct ifp_track *track)
{
	for (uint32_t i = 0; i < track->count; i++) {
		if (track->points[i].low_ns > track->points[i].high_ns)
			return false;
	}
	return true;
}

int64_t ifp_track_tighten(struct ifp_track *track)
{
	struct ifp_track tight = *track;
	size_t bytes = track->count * sizeof(*track->points);

	if (track->count < 2)
		return 0;
	tight.points = malloc(bytes);
	if (!tight.points) /* the wider intervals are certified as well */
		return 0;
	memcpy(tight.points, track->points, bytes);
	for (uint32_t i = 1; i < tight.count; i++)
		narrow(tight.points + i, tight.points + i - 1, tight.drift_ppm);
	for (uint32_t i = tight.count - 1; i > 0; i--)
		narrow(tight.points + i - 1, tight.points + i, tight.drift_ppm);
	if (!consistent(&tight)) {
		free(tight.points);
		return steepest_ppm(track);
	}
	for (uint32_t i = 0; i < tight.count; i++) {
		struct ifp_track_point *p = tight.points + i;

		if (p->offset_ns < p->low_ns)
			p->offset_ns = p->low_ns;
		if (p->offset_ns > p->high_ns)
			p->offset_ns = p->high_ns;
	}
	memcpy(track->points, tight.points, bytes);
	free(tight.points);
	return 0;
}

double ifp_track_rate(const struct ifp_track *track)
{
	const struct ifp_track_point *first = track->points, *last = first + track->count - 1;

	if (track->count < 2)
		return 0;
	return (double)(last->offset_ns - first->offset_ns) /
	       (double)(last->global_ns - first->global_ns);
}

/* Where a point lies on the axis that is asked for. */
static int64_t position(const struct ifp_track_point *point, bool local)
{
	return local ? point->global_ns + point->offset_ns : point->global_ns;
}

/* The last point that is not later than x; the first when all are later. */
static uint32_t point_before(const struct ifp_track *track, int64_t x, bool local)
{
	uint32_t low = 0, high = track->count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (position(track->points + middle, local) <= x)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The line's value at x, a moment of the reference's clock or a reading of the clock itself. */
static int64_t offset_at(const struct ifp_track *track, int64_t x, bool local)
{
	const struct ifp_track_point *anchor, *from, *to;
	__int128 run, rise, product;
	uint32_t i;

	if (!track->count)
		return 0;
	i = point_before(track, x, local);
	anchor = from = track->points + i;
	to = from + 1;
	if (i + 1 == track->count || x < position(from, local)) {
		from = track->points;
		to = track->points + track->count - 1;
	}
	run = (__int128)position(to, local) - position(from, local);
	rise = (__int128)to->offset_ns - from->offset_ns;
	if (run <= 0)
		return anchor->offset_ns;
	product = ((__int128)x - position(anchor, local)) * rise;
	product += product < 0 ? -run / 2 : run / 2;
	product = anchor->offset_ns + product / run;
	return product > OFFSET_LIMIT_NS    ? OFFSET_LIMIT_NS
	       : product < -OFFSET_LIMIT_NS ? -OFFSET_LIMIT_NS
					    : (int64_t)product;
}

int64_t ifp_track_offset(const struct ifp_track *track, int64_t local_ns)
{
	return offset_at(track, local_ns, true);
}

int64_t ifp_track_bound(const struct ifp_track *track, int64_t global_ns)
{
	struct ifp_track_point here = {.global_ns = global_ns};
	uint32_t i;
	__int128 above, below;

	if (!track->count)
		return 0;
	i = point_before(track, global_ns, false);
	here.low_ns = INT64_MIN;
	here.high_ns = INT64_MAX;
	narrow(&here, track->points + i, track->drift_ppm);
	if (i + 1 < track->count)
		narrow(&here, track->points + i + 1, track->drift_ppm);
	here.offset_ns = offset_at(track, global_ns, false);
	above = (__int128)here.high_ns - here.offset_ns;
	below = (__int128)here.offset_ns - here.low_ns;
	above = above > below ? above : below;
	return above > INT64_MAX ? INT64_MAX : (int64_t)above;
}

static void take_bound(const struct ifp_track *track, int64_t at_ns, int64_t *most)
{
	int64_t bound_ns = ifp_track_bound(track, at_ns);

	if (bound_ns > *most)
		*most = bound_ns;
}

/*
 * Where the cone that opens from a meets the one that closes on b: at the distance d from a with
 * end_a + drift * d = end_b + drift * (length - d).
 */
static int64_t apex(int64_t end_a, int64_t end_b, int64_t length_ns, int64_t drift_ppm)
{
	__int128 d =
		drift_ppm ? (((__int128)end_b - end_a) * 1000000 / drift_ppm + length_ns) / 2 : 0;

	return d < 0 ? 0 : d > length_ns ? length_ns : (int64_t)d;
}

/* The distance is linear between the ends, the points, and the apexes of the two cones. */
int64_t ifp_track_bound_max(const struct ifp_track *track, int64_t from_ns, int64_t to_ns)
{
	int64_t most = 0;

	take_bound(track, from_ns, &most);
	take_bound(track, to_ns, &most);
	for (uint32_t i = 0; i < track->count; i++) {
		const struct ifp_track_point *a = track->points + i, *b = a + 1;
		int64_t moments[3] = {a->global_ns, a->global_ns, a->global_ns};

		if (i + 1 < track->count) {
			int64_t length = b->global_ns - a->global_ns;

			moments[1] += apex(a->high_ns, b->high_ns, length, track->drift_ppm);
			moments[2] += apex(-a->low_ns, -b->low_ns, length, track->drift_ppm);
		}
		for (int k = 0; k < 3; k++) {
			if (moments[k] >= from_ns && moments[k] <= to_ns)
				take_bound(track, moments[k], &most);
		}
	}
	return most;
}
