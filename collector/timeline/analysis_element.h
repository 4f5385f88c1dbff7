/* SPDX-License-Identifier: Apache-2.0 */
/* How a slice of a rank is written into its analysis file. One thread. */
#pragma once

#include "collector/timeline/ranks_plan.h"
#include "collector/timeline/selection.h"
#include "core/buf.h"
#include "trace/chrome/writer.h"

/* Of the rank's own process: GPUs have their index as pid, from 0 on. */
#define IFP_ANALYSIS_HOST_PID 1000

struct ifp_analysis_maker {
	const struct ifp_selection *selection; /* borrowed; its lanes have their tids */
	/* args while they are changed, one change after the other; names; args cut short */
	struct ifp_buf edited[2], text, cut;
};

/* The process of a row, as ifp_sheet_rows() asks for it. */
int64_t ifp_analysis_pid(const struct ifp_lane_row *row, const void *context);

/* The place of a slice alone: an element without name and args. */
struct ifp_chrome_element ifp_analysis_place(
	const struct ifp_analysis_maker *maker, const struct ifp_slice *slice);

/* The whole element; its texts hold until the next call. */
void ifp_analysis_make(struct ifp_analysis_maker *maker, const struct ifp_slice *slice,
	struct ifp_chrome_element *element);

/* Takes detail away from its args; true when they are shorter then. */
bool ifp_analysis_cut_args(struct ifp_analysis_maker *maker, const struct ifp_slice *slice,
	enum ifp_args_detail detail, struct ifp_chrome_element *element);

/* What a file with everything of the rank has at most: a quick look instead of measuring. */
uint64_t ifp_analysis_most_bytes(const struct ifp_rank_view *view);

/* 0, or -ENOMEM when any text so far did not find memory. */
int ifp_analysis_maker_status(const struct ifp_analysis_maker *maker);
void ifp_analysis_maker_free(struct ifp_analysis_maker *maker);
