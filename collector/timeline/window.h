/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of a rank's steps were recorded with their operators, and where exactly they begin and end
 * in the analysis files.
 */
#pragma once

#include "collector/timeline/rank_view.h"

#include <stdbool.h>
#include <stdint.h>

/* What the operators of a rank span; empty when end_ns < start_ns. */
struct ifp_window_extent {
	int64_t start_ns, end_ns;
};

struct ifp_window_extent ifp_window_extent(const struct ifp_rank_view *view);

/*
 * Reduces view->steps to the whole steps that were recorded: those that the WINDOW documents of
 * this rank name or, where it has none, those of which its operators span nine tenths.
 *
 * The mark of a step is made inside the optimizer's own range ("Optimizer.step#..."), and the
 * plug-in drops ranges that overlap partly. So a step ends with the ranges around its mark that
 * began in it, and the next one begins there.
 */
int ifp_window_trim(const struct ifp_run *run, struct ifp_rank_view *view);

/*
 * Which window a moment belongs to: the number of the last one whose first step had begun. Ids of
 * Kineto begin anew in each window.
 */
uint32_t ifp_window_at(const struct ifp_run *run, const struct ifp_rank_view *view, int64_t at_ns);
