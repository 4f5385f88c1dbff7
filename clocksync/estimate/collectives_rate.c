/* SPDX-License-Identifier: Apache-2.0 */
/* What certified limits of an offset say of its rate. */
#include "clocksync/estimate/collectives.h"

#include "core/time.h"

#include <math.h>

#define UNLIMITED (INT64_MAX / 4)
#define UNROUNDED_NS IFP_NS_PER_MS /* within which a rounded offset tells a rate */

/* Slopes, ns per ns. */
struct slopes {
	double least, most;
};

/* From any low limit to any later high one, and the other way round, the offset could have moved.
 */
static void look_behind(const struct ifp_aligned_rank *rank, uint32_t i, struct slopes *slopes)
{
	const struct ifp_trend_point *p = rank->trend.points;

	for (uint32_t k = i + 1; k <= p[i].piece_last; k++) {
		double span_ns = (double)(p[k].at_ns - p[i].at_ns);

		if (rank->high_ns[k] < UNLIMITED && rank->low_ns[i] > -UNLIMITED)
			slopes->most = fmin(slopes->most,
				(double)(rank->high_ns[k] - rank->low_ns[i]) / span_ns);
		if (rank->low_ns[k] > -UNLIMITED && rank->high_ns[i] < UNLIMITED)
			slopes->least = fmax(slopes->least,
				(double)(rank->low_ns[k] - rank->high_ns[i]) / span_ns);
	}
}

static void take(struct slopes *slopes, double slope)
{
	slopes->least = fmin(slopes->least, slope);
	slopes->most = fmax(slopes->most, slope);
}

/* What the line's own rates differ by. */
static double bend_of(const struct ifp_trend *trend)
{
	struct slopes slopes = {INFINITY, -INFINITY};

	for (uint32_t i = 0; i < trend->count; i++) {
		const struct ifp_trend_point *p = &trend->points[i];

		take(&slopes, p->rate);
		if (i < p->piece_last && p[1].at_ns - p->at_ns > UNROUNDED_NS)
			take(&slopes, (double)(p[1].offset_ns - p->offset_ns) /
					      (double)(p[1].at_ns - p->at_ns));
	}
	return trend->count ? slopes.most - slopes.least : 0;
}

int64_t ifp_collectives_rate_off(const struct ifp_aligned_rank *rank)
{
	struct slopes slopes = {-1, 1};
	double off;

	for (uint32_t i = 0; i < rank->trend.count; i++)
		look_behind(rank, i, &slopes);
	off = fmax(fmax(slopes.most, -slopes.least), 0) + bend_of(&rank->trend);
	return (int64_t)ceil(fmin(off * 1e6, IFP_RATE_UNKNOWN));
}
