/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "collector/timeline/cut.h"
#include "collector/timeline/ranks_plan.h"
#include "core/timeline_limits.h"

/*
 * Adds the row "ranks-reduced" when the plan leaves anything out. The cut is the whole one; places:
 * of the ranks that get a file, as many as the plan has, rising.
 */
int ifp_ranks_note(struct ifp_run *run, const struct ifp_cut *cut,
	const struct ifp_ranks_plan *plan, const uint32_t *places,
	const struct ifp_timeline_limits *limits);
