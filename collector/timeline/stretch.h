/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stretch of a run's time, and where its steps lie: what people ask for by numbers of ranks and
 * steps.
 */
#pragma once

#include "collector/store/run.h"
#include "core/ranges.h"

#include <stdint.h>

struct ifp_stretch {
	int64_t from_ns, to_ns; /* since the run's base; to_ns is not in it */
};

/* All that can be. */
#define IFP_STRETCH_ALL ((struct ifp_stretch){INT64_MIN, INT64_MAX})

/* -ENOENT, naming those that there are, when the run lacks one of these ranks (NULL = none asked).
 */
int ifp_stretch_check_ranks(const struct ifp_run *run, const struct ifp_ranges *ranks);

/*
 * From the earliest start to the latest end of these steps on these ranks (NULL = all). -ENOENT,
 * naming those that there are, when no rank has the first or the last of the steps whole. Loads one
 * rank after the other.
 */
int ifp_stretch_of_steps(struct ifp_run *run, const struct ifp_ranges *ranks,
	const struct ifp_range *steps, struct ifp_stretch *out);
