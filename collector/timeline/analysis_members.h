/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "collector/timeline/rank_view.h"
#include "core/buf.h"

/* Longer texts on the GPUs of a rank are left out. */
#define IFP_ANALYSIS_MOST_MEMBERS_BYTES 65536u

/*
 * Appends what stands beside the events in the analysis file of a rank: members of a JSON object.
 * Among them is deviceProperties as the imported trace had it, where it tells of every GPU that the
 * events name: the plug-in takes the number of a GPU for a place in it, and fails beyond its end.
 */
int ifp_analysis_members(
	const struct ifp_run *run, const struct ifp_rank_view *view, struct ifp_buf *out);
