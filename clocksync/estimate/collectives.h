/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of traces that were recorded without infprof, aligned by what their ranks did together.
 * Pure: matched collectives in, an offset with sigma and certified limits for each rank out.
 *
 * In an operation of all with all nobody ends before the last one has begun: enter_j <= exit_i in
 * true time, for all ranks i and j of it; in a broadcast, a reduce or a send for some of them. That
 * certifies: around the estimated line the true offset lies within limits that each operation
 * narrows, and that open with the assumed drift away from it; what is known of one rank bounds the
 * next, until nothing changes. The line itself comes from the ends of the operations of all with
 * all (trend.h): they lie within microseconds of each other, which the certificate does not know.
 *
 * Assumed is that a clock's rates at any two moments differ by IFP_CLOCK_DRIFT_PPM at most, and
 * that it is not set by less than trend.h can see. How far the line's rate is off is certified,
 * too: an estimate from few operations errs by more than its sigma says. Private to
 * clocksync/estimate.
 */
#pragma once

#include "clocksync/estimate/instances.h"
#include "clocksync/estimate/trend.h"

/* A rank's clock: offset = its stamps minus those of the reference. */
struct ifp_aligned_rank {
	struct ifp_trend trend;	   /* owned */
	int64_t *low_ns, *high_ns; /* owned; by point: the true offset minus the line's */
	int64_t drift_ppm;	   /* around the line: off_ppm + wander_ppm, once both are known */
	int64_t off_ppm;	   /* that a clock without wander may run off the line, certified */
	int64_t wander_ppm;	   /* that its rate may differ by at two moments, assumed */
	uint32_t instances;	   /* that it was aligned by */
	uint32_t level;		   /* 1: by the reference itself, 2: by such ranks, ... */
	bool aligned;		   /* false for the reference, too */
	bool contradicted;	   /* its operations cannot be what they were taken for */
};

/* out: rank_count of them, zeroed. -ENOMEM only. */
int ifp_collectives_align(const struct ifp_instances *instances, uint32_t rank_count,
	uint32_t reference, struct ifp_aligned_rank *out);
void ifp_aligned_ranks_free(struct ifp_aligned_rank *ranks, uint32_t rank_count);

/* The last point that is not later than a moment of job time; the first when all are. */
uint32_t ifp_trend_point_before(const struct ifp_trend *trend, int64_t at_ns);

/* The line's offset at a moment of job time, by the piece that the moment is in or nearest to. */
int64_t ifp_trend_offset(const struct ifp_trend *trend, int64_t at_ns);

/* at_ns of an instance of which no rank is aligned, or that does not end at one moment. */
#define IFP_INSTANCE_UNPLACED INT64_MIN

/*
 * The certificate's part of it (collectives_bound.c): at_ns by instance, when it ended in job time.
 * Fills limits and drift_ppm of the aligned ranks, and takes back the alignment of those that
 * contradict themselves.
 */
int ifp_collectives_certify(const struct ifp_instances *instances, const int64_t *at_ns,
	uint32_t rank_count, uint32_t reference, struct ifp_aligned_rank *ranks);

/*
 * By how many ppm a clock without wander may run off the line, which may be bent: from limits at
 * two points of one piece (collectives_rate.c). IFP_RATE_UNKNOWN at most.
 */
#define IFP_RATE_UNKNOWN 1000000
int64_t ifp_collectives_rate_off(const struct ifp_aligned_rank *rank);
