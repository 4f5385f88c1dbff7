/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One clock's offset to the reference over the run: a point per exchange, with the rate there; a
 * cubic through the points and their rates in between (what the mean of an integrated random walk
 * is), straight on outside. offset = the clock minus the reference.
 *
 * Around the line lies the certified region: from every point's interval the offset can move away
 * with the assumed drift at most, so at any moment it lies in all the cones that open from the
 * points. Once the points are tightened against each other, the nearest two decide. The line runs
 * inside the region: no stretch of it is steeper than the assumed drift. Where causality asks for
 * it, times are moved later than the line puts them, inside the region, too (causality.h).
 */
#pragma once

#include "clocksync/estimate/moves.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_track_point {
	int64_t global_ns; /* the reference's clock */
	int64_t offset_ns;
	int64_t low_ns, high_ns; /* certified */
	double rate;		 /* ns of offset per ns of time */
	/* Estimated standard deviations of the offset, and of the rate in ns per s. */
	double sigma_ns, rate_sigma;
};

/* Points by rising time. No points: the reference's own clock. */
struct ifp_track {
	struct ifp_track_point *points; /* owned */
	uint32_t count;
	int64_t drift_ppm;
	double wander; /* variance that the rate gains per second, (ns/s)^2/s: for sigma in between
			*/
	struct ifp_moves moves; /* owned; none while points are added or changed */
};

/* What is known at a moment. */
struct ifp_track_state {
	int64_t offset_ns; /* with the move */
	int64_t low_ns, high_ns;
	double rate; /* of the line: moves are no drift */
	double sigma_ns;
};

/*
 * Adds a point (room must be there); one at a moment that is not later than the last is left out.
 */
void ifp_track_add(struct ifp_track *track, const struct ifp_track_point *point);

/*
 * Lets every point's interval shrink to what its neighbours' cones allow. 0, or, when two points
 * contradict each other under the assumed drift, the ppm that the offset really moved with
 * between them (rounded up); the points are untouched then.
 */
int64_t ifp_track_tighten(struct ifp_track *track);

/* Ends of an interval that says nothing: farther off than clocks are, and sums of them fit. */
#define IFP_TRACK_UNBOUNDED_NS (INT64_C(1) << 60)

/*
 * A track with more points among its own, for what else tells of the clock: by rising time, with an
 * interval (IFP_TRACK_UNBOUNDED_NS to both sides when nothing is certified) and a sigma. At equal
 * moments its own stay. To be followed by ifp_track_tighten() and ifp_track_confine(). *out owns
 * its points and is untouched on failure, which is -ENOMEM.
 */
int ifp_track_merge(const struct ifp_track *track, const struct ifp_track_point *more,
	uint32_t count, struct ifp_track *out);

/* Narrows limits = {low, high} of the offset at global_ns to the cone that opens from a point. */
void ifp_track_narrow(const struct ifp_track_point *from, int64_t global_ns, int64_t drift_ppm,
	int64_t limits[2]);

/*
 * Brings the line into the certified region: offsets into their intervals and no farther apart
 * than the assumed drift allows, rates to no more than it. For tightened points.
 */
void ifp_track_confine(struct ifp_track *track);

/* Every point's rate from its neighbours alone; for tracks that nothing better is known of. */
void ifp_track_join(struct ifp_track *track);

/* Mean slope, ns of offset per ns of time; 0 with fewer than two points. */
double ifp_track_rate(const struct ifp_track *track);

/* The offset at a reading of the clock itself; the line's alone, without the move. */
int64_t ifp_track_offset(const struct ifp_track *track, int64_t local_ns);
int64_t ifp_track_line(const struct ifp_track *track, int64_t local_ns);

/* All that is known at a moment of the reference's clock. */
struct ifp_track_state ifp_track_at(const struct ifp_track *track, int64_t global_ns);

/* Largest distance of the certified region from the line, at a moment and over a stretch. */
int64_t ifp_track_bound(const struct ifp_track *track, int64_t global_ns);
int64_t ifp_track_bound_max(const struct ifp_track *track, int64_t from_ns, int64_t to_ns);

/* Largest sigma over a stretch, as it is at its ends, at the points and half way between them. */
double ifp_track_sigma_max(const struct ifp_track *track, int64_t from_ns, int64_t to_ns);
