/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/track.h"

#include "clocksync/estimate/edge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A machine that stood still for 11 days while another went on for a second looks like this. What
 * is steeper is no clock, and sums must not overflow.
 */
#define STEEPEST_PPM INT64_C(1000000000000)

void ifp_track_add(struct ifp_track *track, const struct ifp_track_point *point)
{
	if (!track->count || point->global_ns > track->points[track->count - 1].global_ns)
		track->points[track->count++] = *point;
}

int ifp_track_merge(const struct ifp_track *track, const struct ifp_track_point *more,
	uint32_t count, struct ifp_track *out)
{
	struct ifp_track merged = *track;
	uint32_t i = 0, k = 0;

	merged.points = calloc((size_t)track->count + count + 1, sizeof(*merged.points));
	if (!merged.points)
		return -ENOMEM;
	merged.count = 0;
	while (i < track->count || k < count) {
		bool old = i < track->count &&
			   (k == count || track->points[i].global_ns <= more[k].global_ns);

		ifp_track_add(&merged, old ? track->points + i++ : more + k++);
	}
	*out = merged;
	return 0;
}

void ifp_track_narrow(
	const struct ifp_track_point *from, int64_t global_ns, int64_t drift_ppm, int64_t limits[2])
{
	int64_t drift_ns = ifp_drift_ns(global_ns - from->global_ns, drift_ppm);

	if (limits[0] < from->low_ns - drift_ns)
		limits[0] = from->low_ns - drift_ns;
	if (limits[1] > from->high_ns + drift_ns)
		limits[1] = from->high_ns + drift_ns;
}

/* Narrows one interval to the cone from another point. */
static void narrow(
	struct ifp_track_point *point, const struct ifp_track_point *other, int64_t drift_ppm)
{
	int64_t limits[2] = {point->low_ns, point->high_ns};

	ifp_track_narrow(other, point->global_ns, drift_ppm, limits);
	point->low_ns = limits[0];
	point->high_ns = limits[1];
}

/* The ppm with which the offset moved between the contradicting neighbours, rounded up. */
static int64_t steepest_ppm(const struct ifp_track *track)
{
	int64_t steepest = 1; /* where the intervals contradict each other, but not the offsets */

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
	memcpy(track->points, tight.points, bytes);
	free(tight.points);
	return 0;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
	return x < low ? low : x > high ? high : x;
}

void ifp_track_confine(struct ifp_track *track)
{
	double steepest = (double)track->drift_ppm * 1e-6;

	for (uint32_t i = 0; i < track->count; i++) {
		struct ifp_track_point *p = track->points + i;

		if (i) {
			/* rounded down: the line between the two must not be steeper */
			__int128 run = (__int128)p->global_ns - p[-1].global_ns;
			__int128 reach = run * track->drift_ppm / 1000000;
			int64_t reach_ns = reach > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)reach;

			p->offset_ns = clamp(p->offset_ns, p[-1].offset_ns - reach_ns,
				p[-1].offset_ns + reach_ns);
		}
		p->offset_ns = clamp(p->offset_ns, p->low_ns, p->high_ns);
		p->rate = p->rate > steepest ? steepest : p->rate < -steepest ? -steepest : p->rate;
	}
}

static double slope(const struct ifp_track_point *a, const struct ifp_track_point *b)
{
	return (double)((__int128)b->offset_ns - a->offset_ns) /
	       (double)((__int128)b->global_ns - a->global_ns);
}

double ifp_track_rate(const struct ifp_track *track)
{
	const struct ifp_track_point *first = track->points, *last = first + track->count - 1;

	if (track->count < 2)
		return 0;
	return slope(first, last);
}

void ifp_track_join(struct ifp_track *track)
{
	for (uint32_t i = 0; i < track->count; i++) {
		struct ifp_track_point *p = track->points + i;
		const struct ifp_track_point *before = i ? p - 1 : p;
		const struct ifp_track_point *after = i + 1 < track->count ? p + 1 : p;

		p->rate = before == after ? 0 : slope(before, after);
	}
}
