/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/leeway.h"

#include "clocksync/estimate/edge.h"
#include "clocksync/estimate/moves.h"
#include "core/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Lines, limits and moves are rounded to nanoseconds, each by itself. */
#define ROUNDING_NS 4

#define MILLION 1000000

/* The steepest that the line can be at and between points (track_at.c), in ppm, rounded up. */
static int64_t steepest_ppm(const struct ifp_track *track)
{
	double allowed = (double)track->drift_ppm * 1e-6, steepest = 0;

	for (uint32_t i = 0; i < track->count; i++) {
		const struct ifp_track_point *p = &track->points[i];
		double line, middle;

		steepest = fmax(steepest, fabs(p->rate));
		if (i + 1 == track->count)
			break;
		line = (double)((__int128)p[1].offset_ns - p->offset_ns) /
		       (double)((__int128)p[1].global_ns - p->global_ns);
		middle = 3 * line - p->rate - p[1].rate;
		steepest = fmax(steepest, fabs(line));
		if (fabs(middle) <= allowed)
			steepest = fmax(steepest, fabs(middle));
	}
	return (int64_t)ceil(fmin(steepest, 0.1) * MILLION);
}

/*
 * The limit is looked up at the moment that is moved to; until there it may rise with the drift,
 * before that the move may have been larger by what it gave way.
 */
static int64_t room(const struct ifp_track *track, int64_t line_ns)
{
	struct ifp_track_state here = ifp_track_at(track, line_ns);
	int64_t room_ns = here.offset_ns - here.low_ns;

	if (room_ns > IFP_MOVE_MOST_NS)
		room_ns = IFP_MOVE_MOST_NS;
	room_ns -= ifp_drift_ns(room_ns, 3 * track->drift_ppm) + ROUNDING_NS;
	return room_ns > 0 ? room_ns : 0;
}

/* What a move may be so that it has given way to most_ns later_ns later. */
static int64_t before(const struct ifp_leeway *leeway, int64_t most_ns, int64_t later_ns)
{
	__int128 earlier = most_ns + (__int128)later_ns * leeway->decay_ppm / MILLION;

	return earlier > IFP_MOVE_MOST_NS ? IFP_MOVE_MOST_NS : (int64_t)earlier;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int ifp_leeway_make(const struct ifp_track *track, struct ifp_leeway *out)
{
	struct ifp_leeway leeway = {.track = track};

	leeway.most_ns = calloc(track->count + 1u, sizeof(*leeway.most_ns));
	if (!leeway.most_ns)
		return -ENOMEM;
	leeway.decay_ppm = track->drift_ppm + steepest_ppm(track);
	leeway.decay_ppm = leeway.decay_ppm < 1 ? 1 : smaller(leeway.decay_ppm, MILLION / 2);
	for (uint32_t i = track->count; i-- > 0;) {
		const struct ifp_track_point *p = &track->points[i];

		leeway.most_ns[i] = room(track, p->global_ns);
		if (i + 1 < track->count)
			leeway.most_ns[i] =
				smaller(leeway.most_ns[i], before(&leeway, leeway.most_ns[i + 1],
								   p[1].global_ns - p->global_ns));
	}
	*out = leeway;
	return 0;
}

void ifp_leeway_free(struct ifp_leeway *leeway)
{
	free(leeway->most_ns);
	*leeway = (struct ifp_leeway){0};
}

/* The first point behind a moment; count = none. */
static uint32_t point_behind(const struct ifp_track *track, int64_t at_ns)
{
	return IFP_ARRAY_LOWER_BOUND(i, track->count, track->points[i].global_ns <= at_ns);
}

int64_t ifp_leeway_at(const struct ifp_leeway *leeway, int64_t line_ns)
{
	const struct ifp_track *track = leeway->track;
	uint32_t next = point_behind(track, line_ns);
	int64_t most_ns;

	if (!track->count)
		return 0;
	most_ns = room(track, line_ns);
	if (next < track->count)
		most_ns = smaller(most_ns, before(leeway, leeway->most_ns[next],
						   track->points[next].global_ns - line_ns));
	return most_ns;
}

/* Whether the region's lower end jumps between a point and the one before. */
static bool begins_anew(const struct ifp_track *track, uint32_t i)
{
	const struct ifp_track_point *p = &track->points[i], *q = p - 1;
	__int128 rise = (__int128)p->low_ns - q->low_ns;
	int64_t drift_ns = ifp_drift_ns(p->global_ns - q->global_ns, track->drift_ppm);

	return rise > drift_ns || rise < -drift_ns;
}

int64_t ifp_leeway_since(const struct ifp_leeway *leeway, int64_t from_ns, int64_t to_ns)
{
	const struct ifp_track *track = leeway->track;

	for (uint32_t i = point_behind(track, to_ns); i-- > 1;) {
		if (track->points[i].global_ns <= from_ns)
			break;
		if (begins_anew(track, i))
			return track->points[i].global_ns;
	}
	return from_ns;
}
