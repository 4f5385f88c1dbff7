/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much later a clock's times may be moved so that its offset stays in the certified region: at
 * a moment, and ever after while the move gives way. Private to clocksync/estimate.
 */
#pragma once

#include "clocksync/estimate/track.h"

struct ifp_leeway {
	const struct ifp_track *track; /* borrowed; no points: may not be moved at all */
	int64_t *most_ns;	       /* by point, owned */
	/*
	 * As fast as a move must give way at least to stay in the region by itself: the region's
	 * end may rise with the assumed drift while the line falls with a rate of its own.
	 */
	int64_t decay_ppm;
};

/* -ENOMEM only. Free with ifp_leeway_free(). */
int ifp_leeway_make(const struct ifp_track *track, struct ifp_leeway *out);
void ifp_leeway_free(struct ifp_leeway *leeway);

/* The largest move at a moment of the line; 0 = none. */
int64_t ifp_leeway_at(const struct ifp_leeway *leeway, int64_t line_ns);

/*
 * The last moment between the two at which the region begins anew (the clock was set there);
 * from_ns when there is none. Since then the largest move has grown by no more than decay_ppm of
 * the time.
 */
int64_t ifp_leeway_since(const struct ifp_leeway *leeway, int64_t from_ns, int64_t to_ns);
