/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of one rank in job time. They come from the first of: the marks of optimizer steps
 * (a mark is the END of its step), the step ranges of the program's own code, the ProfilerStep#N
 * ranges of torch.profiler.
 */
#pragma once

#include "collector/store/run.h"
#include "collector/timeline/lanes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ifp_step {
	int64_t number;
	int64_t start_ns, end_ns;
	bool whole; /* false: only the end is known (the first mark, or one after a lost mark) */
	uint32_t lane;
};

enum ifp_steps_origin {
	IFP_STEPS_NONE,
	IFP_STEPS_MARKS,
	IFP_STEPS_RANGES,
	IFP_STEPS_PROFILER,
};

struct ifp_steps {
	enum ifp_steps_origin origin;
	struct ifp_step *items; /* by start */
	uint32_t count;
	size_t capacity;
};

/* lane_of: row of each event's lane. */
int ifp_steps_collect(
	const struct ifp_rank_events *events, const uint32_t *lane_of, struct ifp_steps *steps);

/* The whole step that a moment lies in: start included, end not. NULL = none. */
const struct ifp_step *ifp_steps_at(const struct ifp_steps *steps, int64_t at_ns);

/* The number behind "ProfilerStep#"; false when the name is another. */
bool ifp_profiler_step(struct ifp_str name, int64_t *number);

void ifp_steps_free(struct ifp_steps *steps);

#define IFP_CLEANUP_STEPS IFP_CLEANUP(ifp_steps_free)
