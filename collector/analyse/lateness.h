/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is one rank late again and again, or is it noise? Pure functions on arrivals.
 *
 * Lateness of a rank in a step: its arrival minus the median of the other ranks' arrivals. The
 * candidate is the rank with the largest mean lateness (one step counts for no more than twice
 * what the last ranks are usually late by, so that a single hiccup does not decide). It is late
 * when all of this holds:
 *
 * 1. Significance. Were all ranks alike, then within a step their arrivals could be exchanged.
 *    A permutation test over the steps (P. Good, "Permutation, Parametric and Bootstrap Tests of
 *    Hypotheses", 3rd ed., ch. 3) on the largest mean lateness of any rank gives p <= 0.01. By its
 *    maximum over ranks the test accounts for having looked at all of them. The least p that R
 *    ranks and S steps can give is R^(1-S): with fewer steps nothing can be told.
 * 2. Regularity. It is the last one in 80 % of the steps or more.
 * 3. Size. Its median gap to the second last exceeds the median spread of the other ranks, and
 *    max(2, 16 / R x N / S) times the median deviation of that gap (N = the least number of steps
 *    of 1.): it stands out of the noise of the ranks and of its own. (1) and (2) alone would name a
 *    rank whose noise lasts for several steps. The fewer ranks there are, the less their spread
 *    says, and the steadier it has to be; the more steps agree, the less each has to say.
 */
#pragma once

#include "collector/analyse/arrivals.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_lateness {
	bool enough_steps; /* nothing else can be true without */
	bool late;	   /* the candidate is late: 1, 2 and 3 hold */
	uint32_t candidate;
	uint32_t earliest, middle; /* with the smallest and the median mean lateness */
	int64_t late_ns;	   /* its median lateness */
	uint32_t steps_late;	   /* steps in which it was the last */
	double p;		   /* of 1.; 1 when it was not tested */
	/* Of 3.: medians of its gap to the second last and of the others' spread, and the median
	 * deviation of the gap. Of a candidate that meets 2. */
	int64_t gap_ns, others_ns, deviation_ns;
	bool more_steps_tell; /* not late, but it might be with more steps that are like these */
	int64_t spread_min_ns;	   /* last minus first arrival, over the steps */
	int64_t spread_max_ns;
	uint32_t most_last;	/* in so many steps was the rank last that was it most often */
	bool another_each_time; /* no rank was the last in two steps on end */
};

/* Steps that the test needs for this many ranks (>= 2): the least S with R^(1-S) <= 0.01. */
uint32_t ifp_lateness_steps_needed(uint32_t rank_count);

/* Whether being the last in so many of the steps meets 2. */
bool ifp_lateness_regular(uint32_t steps_late, uint32_t steps);

/* At least one step, two ranks. The same input always gives the same answer. -ENOMEM. */
int ifp_lateness_test(const struct ifp_arrivals *arrivals, struct ifp_lateness *out);
