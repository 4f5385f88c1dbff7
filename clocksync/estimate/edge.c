/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/edge.h"

/*
 * A stamp is the true reading rounded down to a nanosecond: a difference of two is off by less
 * than one.
 */
#define ROUNDING_NS 1

/* Nine years in nanoseconds: beyond the uptime of any machine, and sums of a few still fit. */
#define STAMP_LIMIT_NS (INT64_C(1) << 58)

/* Farther apart than any two plausible stamps; sums of some of these fit 64 bits. */
#define MOST_DRIFT_NS (INT64_C(1) << 60)

int64_t ifp_drift_ns(int64_t span_ns, int64_t drift_ppm)
{
	__int128 span = span_ns < 0 ? -(__int128)span_ns : span_ns;
	__int128 drift = (span * drift_ppm + 999999) / 1000000;

	return drift > MOST_DRIFT_NS ? MOST_DRIFT_NS : (int64_t)drift;
}

static bool plausible(int64_t ns)
{
	return ns > -STAMP_LIMIT_NS && ns < STAMP_LIMIT_NS;
}

static bool trip_usable(const struct ifp_round_trip *trip)
{
	return plausible(trip->t1_ns) && plausible(trip->t2_ns) && plausible(trip->t3_ns) &&
	       plausible(trip->t4_ns) && trip->t4_ns >= trip->t1_ns && trip->t3_ns >= trip->t2_ns &&
	       trip->t4_ns - trip->t1_ns >= trip->t3_ns - trip->t2_ns;
}

void ifp_edge_start(struct ifp_clock_edge *edge)
{
	edge->round_trips = 0;
	edge->low_ns = INT64_MIN;
	edge->high_ns = INT64_MAX;
	edge->best_t1_ns = edge->best_t2_ns = edge->best_t3_ns = edge->best_t4_ns = 0;
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void set_best(struct ifp_clock_edge *edge, const struct ifp_round_trip *trip)
{
	edge->best_t1_ns = trip->t1_ns;
	edge->best_t2_ns = trip->t2_ns;
	edge->best_t3_ns = trip->t3_ns;
	edge->best_t4_ns = trip->t4_ns;
}

bool ifp_edge_add(struct ifp_clock_edge *edge, const struct ifp_round_trip *trip)
{
	int64_t low_ns, high_ns, apart_ns, own_ns;
	bool best;

	if (!trip_usable(trip))
		return false;
	low_ns = trip->t3_ns - trip->t4_ns - ROUNDING_NS;
	high_ns = trip->t2_ns - trip->t1_ns + ROUNDING_NS;
	own_ns = ifp_drift_ns(trip->t4_ns - trip->t1_ns, IFP_CLOCK_DRIFT_PPM);
	if (edge->round_trips++ == 0) {
		set_best(edge, trip);
		edge->low_ns = low_ns - own_ns;
		edge->high_ns = high_ns + own_ns;
		return true;
	}
	apart_ns = ifp_drift_ns(
		max64(trip->t4_ns, edge->best_t4_ns) - min64(trip->t1_ns, edge->best_t1_ns),
		IFP_CLOCK_DRIFT_PPM);
	best = (trip->t4_ns - trip->t1_ns) - (trip->t3_ns - trip->t2_ns) <
	       (edge->best_t4_ns - edge->best_t1_ns) - (edge->best_t3_ns - edge->best_t2_ns);
	if (best) { /* what is known so far moves to the new moment */
		set_best(edge, trip);
		edge->low_ns = max64(edge->low_ns - apart_ns, low_ns - own_ns);
		edge->high_ns = min64(edge->high_ns + apart_ns, high_ns + own_ns);
	} else {
		edge->low_ns = max64(edge->low_ns, low_ns - apart_ns);
		edge->high_ns = min64(edge->high_ns, high_ns + apart_ns);
	}
	return best;
}

bool ifp_edge_usable(const struct ifp_clock_edge *edge)
{
	struct ifp_round_trip best = {
		edge->best_t1_ns, edge->best_t2_ns, edge->best_t3_ns, edge->best_t4_ns};

	return edge->round_trips > 0 && edge->client != edge->server && trip_usable(&best) &&
	       plausible(edge->low_ns) && plausible(edge->high_ns) && edge->low_ns <= edge->high_ns;
}
