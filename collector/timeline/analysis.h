/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis file of one rank: what the plug-in's Overview, Operator, Kernel, Trace and
 * Distributed views need, and nothing that misleads them.
 */
#pragma once

#include "collector/timeline/cut.h"
#include "collector/timeline/ranks_plan.h"
#include "collector/timeline/timeline.h"

#include <stdbool.h>

/* The plug-in holds GPUs in an array of this length. */
#define IFP_ANALYSIS_MAX_DEVICES 64

/*
 * Adds up the JSON of rank i (its place in the run), row cost_rank of *cost: by step and detail.
 * The cost is never less than what is written of these steps.
 */
int ifp_analysis_measure(struct ifp_run *run, uint32_t i, const struct ifp_cut *cut,
	const struct ifp_ranks_cost *cost, uint32_t cost_rank);

/*
 * Writes the file of rank i. *written is false, and no file made, when there is nothing to analyse.
 */
int ifp_analysis_write(struct ifp_run *run, uint32_t i, const struct ifp_cut *cut,
	enum ifp_args_detail detail, const char *path, bool *written,
	struct ifp_timeline_file *file);
