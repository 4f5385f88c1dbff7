/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory ranks/: which ranks get an analysis file, and what of it fits into the limits. What
 * had to stay out is one row of the ledger, "ranks-reduced", which says all of it in one sentence.
 */
#pragma once

#include "collector/timeline/timeline.h"

/*
 * Writes the files, all or none, and adds them to *result, in rank order. Files of an earlier drawing of this run
 * (the same span_ms) that are not among them are removed: the plug-in would take them in.
 */
int ifp_ranks_draw(struct ifp_run *run, const char *output_dir, int64_t span_ms,
	const struct ifp_timeline_wish *wish, struct ifp_timeline_result *result);
