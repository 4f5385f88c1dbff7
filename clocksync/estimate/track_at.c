/* SPDX-License-Identifier: Apache-2.0 */
/* A track looked at: the line, its certified region and its sigma at a moment. */
#include "clocksync/estimate/edge.h"
#include "clocksync/estimate/track.h"
#include "core/array.h"
#include "core/time.h"

#include <math.h>

/* Offsets are drawn out no farther. */
#define OFFSET_LIMIT_NS (INT64_C(1) << 62)

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

static double slope(const struct ifp_track_point *from, const struct ifp_track_point *to)
{
	return (double)((__int128)to->offset_ns - from->offset_ns) /
	       (double)((__int128)to->global_ns - from->global_ns);
}

/*
 * By how much the rates at the two ends of a stretch differ from its straight line. The cubic's
 * slope lies between the two rates and 3 * line - rate - rate (its Bezier points): where these are
 * steeper than clocks drift, the stretch stays straight.
 */
static bool bent(const struct ifp_track *track, const struct ifp_track_point *from, double *at_from,
	double *at_to)
{
	const struct ifp_track_point *to = from + 1;
	double line = slope(from, to), steepest = (double)track->drift_ppm * 1e-6;
	double middle = 3 * line - from->rate - to->rate;

	if (!(fabs(middle) <= steepest && fabs(from->rate) <= steepest &&
		    fabs(to->rate) <= steepest))
		return false;
	*at_from = from->rate - line;
	*at_to = to->rate - line;
	return true;
}

static int64_t limited(__int128 offset)
{
	return offset > OFFSET_LIMIT_NS	   ? OFFSET_LIMIT_NS
	       : offset < -OFFSET_LIMIT_NS ? -OFFSET_LIMIT_NS
					   : (int64_t)offset;
}

/* Straight on from a point, with its rate. On the clock's own axis a rate r is r / (1 + r). */
static int64_t beyond(const struct ifp_track_point *point, int64_t x, bool local)
{
	double rate = local ? point->rate / (1 + point->rate) : point->rate;
	double rise = rate * (double)((__int128)x - position(point, local));

	if (!(fabs(rise) < (double)OFFSET_LIMIT_NS))
		return rise > 0 ? OFFSET_LIMIT_NS : -OFFSET_LIMIT_NS;
	return limited((__int128)point->offset_ns + llround(rise));
}

/* Between point i and the next: the straight line exactly, and what the cubic adds to it. */
static int64_t between(const struct ifp_track *track, uint32_t i, int64_t x, bool local)
{
	const struct ifp_track_point *from = track->points + i, *to = from + 1;
	__int128 run = (__int128)position(to, local) - position(from, local);
	__int128 done = (__int128)x - position(from, local);
	__int128 product = done * ((__int128)to->offset_ns - from->offset_ns);
	double at_from, at_to, u;

	if (run <= 0)
		return from->offset_ns;
	product += product < 0 ? -run / 2 : run / 2;
	product = from->offset_ns + product / run;
	if (bent(track, from, &at_from, &at_to)) {
		u = (double)done / (double)run;
		product += llround((double)run * u * (1 - u) * (at_from * (1 - u) - at_to * u));
	}
	return limited(product);
}

/* The line's value at x, a moment of the reference's clock or a reading of the clock itself. */
static int64_t offset_at(const struct ifp_track *track, int64_t x, bool local)
{
	uint32_t i;

	if (!track->count)
		return 0;
	i = point_before(track, x, local);
	if (i + 1 == track->count || x < position(track->points + i, local))
		return beyond(track->points + i, x, local);
	return between(track, i, x, local);
}

int64_t ifp_track_line(const struct ifp_track *track, int64_t local_ns)
{
	return offset_at(track, local_ns, true);
}

int64_t ifp_track_offset(const struct ifp_track *track, int64_t local_ns)
{
	int64_t offset_ns = ifp_track_line(track, local_ns);

	return offset_ns - ifp_moves_at(&track->moves, local_ns - offset_ns);
}

static double rate_at(const struct ifp_track *track, uint32_t i, int64_t global_ns)
{
	const struct ifp_track_point *from = track->points + i;
	double at_from, at_to, u;

	if (global_ns < from->global_ns || i + 1 == track->count)
		return from->rate;
	if (!bent(track, from, &at_from, &at_to))
		return slope(from, from + 1);
	u = (double)(global_ns - from->global_ns) / (double)(from[1].global_ns - from->global_ns);
	return slope(from, from + 1) + at_from * (1 - u) * (1 - 3 * u) + at_to * u * (3 * u - 2);
}

/*
 * Between two points whose offsets and rates are known the offset of a clock whose rate walks at
 * random has the variance wander * (a * b / (a + b))^3 / 3; beyond the last, wander * t^3 / 3. What
 * is not known of the rates is carried there by the cubic, as if both erred independently.
 */
static double sigma_at(const struct ifp_track *track, uint32_t i, int64_t global_ns)
{
	const struct ifp_track_point *from = track->points + i;
	double t = (double)((__int128)global_ns - from->global_ns) / IFP_NS_PER_S, u, reach;

	if (t < 0 || i + 1 == track->count)
		return sqrt(from->sigma_ns * from->sigma_ns +
			    t * t * (from->rate_sigma * from->rate_sigma) +
			    track->wander * fabs(t * t * t) / 3);
	u = t / ((double)((__int128)from[1].global_ns - from->global_ns) / IFP_NS_PER_S);
	reach = t * (1 - u);
	return sqrt((1 - u) * from->sigma_ns * from->sigma_ns +
		    u * from[1].sigma_ns * from[1].sigma_ns +
		    pow(reach * (1 - u) * from->rate_sigma, 2) +
		    pow(reach * u * from[1].rate_sigma, 2) + track->wander * pow(reach, 3) / 3);
}

struct ifp_track_state ifp_track_at(const struct ifp_track *track, int64_t global_ns)
{
	struct ifp_track_state state = {0};
	int64_t limits[2] = {INT64_MIN, INT64_MAX}, line_ns;
	uint32_t i;

	if (!track->count)
		return state;
	i = point_before(track, global_ns, false);
	ifp_track_narrow(track->points + i, global_ns, track->drift_ppm, limits);
	if (i + 1 < track->count)
		ifp_track_narrow(track->points + i + 1, global_ns, track->drift_ppm, limits);
	line_ns = ifp_moves_origin(&track->moves, global_ns);
	state.offset_ns = offset_at(track, line_ns, false) + (line_ns - global_ns);
	state.low_ns = limits[0];
	state.high_ns = limits[1];
	state.rate = rate_at(track, i, global_ns);
	state.sigma_ns = sigma_at(track, i, global_ns);
	return state;
}

/*
 * Who maps a reading of the clock errs in the moment by as much as in the offset, and meanwhile
 * the offset drifts on: the distance is widened by that, and by the rounding of both.
 */
int64_t ifp_track_bound(const struct ifp_track *track, int64_t global_ns)
{
	struct ifp_track_state here;
	__int128 above, below;

	if (!track->count)
		return 0;
	here = ifp_track_at(track, global_ns);
	above = (__int128)here.high_ns - here.offset_ns;
	below = (__int128)here.offset_ns - here.low_ns;
	above = above > below ? above : below;
	above = above > INT64_MAX ? INT64_MAX : above;
	above += ifp_drift_ns((int64_t)above, track->drift_ppm);
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

static void take_moment(
	const struct ifp_track *track, int64_t at_ns, const int64_t stretch_ns[2], int64_t *most)
{
	if (at_ns >= stretch_ns[0] && at_ns <= stretch_ns[1])
		take_bound(track, at_ns, most);
}

/* Lifts and what they leave are steeper than the cones: the distance turns at their ends only. */
static void take_moves(const struct ifp_track *track, const int64_t stretch_ns[2], int64_t *most)
{
	const struct ifp_moves *moves = &track->moves;
	uint32_t low = IFP_ARRAY_LOWER_BOUND(i, moves->count,
		ifp_lift_gone_ns(&moves->lifts[i], moves->decay_ppm) < stretch_ns[0]);

	for (; low < moves->count && moves->lifts[low].start_ns <= stretch_ns[1]; low++) {
		const struct ifp_lift *lift = &moves->lifts[low];

		take_moment(track, lift->start_ns + lift->from_ns, stretch_ns, most);
		take_moment(track, lift->end_ns + lift->to_ns, stretch_ns, most);
		take_moment(track, ifp_lift_gone_ns(lift, moves->decay_ppm), stretch_ns, most);
	}
}

/*
 * The line is nowhere steeper than the cones, so the distance between them only grows or only
 * shrinks between the ends, the points, and the apexes of the two cones.
 */
int64_t ifp_track_bound_max(const struct ifp_track *track, int64_t from_ns, int64_t to_ns)
{
	int64_t most = 0, stretch_ns[2] = {from_ns, to_ns};

	take_bound(track, from_ns, &most);
	take_bound(track, to_ns, &most);
	take_moves(track, stretch_ns, &most);
	for (uint32_t i = 0; i < track->count; i++) {
		const struct ifp_track_point *a = track->points + i, *b = a + 1;
		int64_t moments[3] = {a->global_ns, a->global_ns, a->global_ns};

		if (i + 1 < track->count) {
			int64_t length = b->global_ns - a->global_ns;

			moments[1] += apex(a->high_ns, b->high_ns, length, track->drift_ppm);
			moments[2] += apex(-a->low_ns, -b->low_ns, length, track->drift_ppm);
		}
		for (int k = 0; k < 3; k++)
			take_moment(track, moments[k], stretch_ns, &most);
	}
	return most;
}

static void take_sigma(const struct ifp_track *track, int64_t at_ns, double *most)
{
	double sigma_ns = ifp_track_at(track, at_ns).sigma_ns;

	if (sigma_ns > *most)
		*most = sigma_ns;
}

double ifp_track_sigma_max(const struct ifp_track *track, int64_t from_ns, int64_t to_ns)
{
	double most = 0;

	take_sigma(track, from_ns, &most);
	take_sigma(track, to_ns, &most);
	for (uint32_t i = 0; i < track->count; i++) {
		int64_t at_ns = track->points[i].global_ns;
		int64_t middle_ns = i + 1 < track->count
					    ? at_ns + (track->points[i + 1].global_ns - at_ns) / 2
					    : at_ns;

		if (at_ns >= from_ns && at_ns <= to_ns)
			take_sigma(track, at_ns, &most);
		if (middle_ns >= from_ns && middle_ns <= to_ns)
			take_sigma(track, middle_ns, &most);
	}
	return most;
}
