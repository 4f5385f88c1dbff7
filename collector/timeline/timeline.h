/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a run for viewers, in one or several formats. "pytorch" is for TensorBoard's PyTorch
 * plug-in: below output_dir
 *
 *   merged/all_0.<ms>.pt.trace.json.gz         all ranks on one time axis, to look at
 *   ranks/<host>_<rank>.<ms>.pt.trace.json.gz  one file per rank, for the plug-in's analyses:
 *                                              Overview, Operator, Kernel, Trace, Distributed
 *
 * The two are runs of their own, because the plug-in takes everything in one directory as one run.
 * <ms> is the start of the run in ms since the epoch, the same for all files: the plug-in compares
 * files of one span. The form is the one that torch-tb-profiler 0.4.3 reads.
 *
 * "xplane" is for its xprof plug-in (sink_xplane.h): plugins/profile/<start>/rankNNNN.xplane.pb.
 *
 * One rank is in memory at a time. What is not drawn becomes rows of the run's ledger
 * ("timeline-left-out"). Files appear whole or not at all.
 */
#pragma once

#include "collector/store/run.h"
#include "core/timeline_limits.h"

#include <stdbool.h>
#include <stdint.h>

#define IFP_TIMELINE_SUFFIX ".pt.trace.json.gz"

/* Why slices that find none of the sub-lanes are left out; in rows "timeline-left-out". */
#define IFP_TIMELINE_CROWDED "more than 64 slices overlap on one lane"
/* Why those of imported traces are that belong to another time than the job. */
#define IFP_TIMELINE_MISPLACED "the time cannot be of this job"

struct ifp_timeline_wish {
	struct ifp_timeline_limits limits;
	/* Numbers of the ranks that ranks/ should hold when it cannot hold all, first to last. */
	const uint32_t *first_ranks;
	uint32_t first_rank_count;
};

/* What of a run a picture shows. */
struct ifp_shown {
	uint64_t events, recorded; /* slices, instants and counters of the archive */
	char text[480];		   /* what is not, and why; empty when all are */
};

struct ifp_timeline_file {
	char *path;
	uint32_t rank;	     /* IFP_FRAME_NO_RANK for the merged timeline */
	uint64_t bytes;	     /* on disk */
	uint64_t json_bytes; /* unpacked: what the browser has to load */
	uint64_t events;
	const char *label;	/* "merged/", of a file with all ranks; static */
	struct ifp_shown shown; /* in it */
};

struct ifp_timeline_result {
	struct ifp_timeline_file *files; /* by format; the merged timeline before those of ranks */
	uint32_t count;
	uint32_t common_steps; /* steps that the files in ranks/ hold; 0 = none were found */
	/* What was not drawn since not even the least of it fits, with what to do; NULL = nothing.
	 */
	char *refused;
};

/* -EINVAL, with a cause that names those that there are, when one of the formats is none. */
int ifp_timeline_check(const struct ifp_timeline_limits *limits);

/*
 * Makes the directories where needed. What cannot be drawn within its budget does not keep the rest
 * from being drawn: it is in result->refused, and a row of the ledger ("timeline-refused"). On
 * failure no file of this call is half written; those that were finished stay, but of ranks/ all or
 * none, and *result is untouched.
 */
int ifp_timeline_draw(struct ifp_run *run, const char *output_dir,
	const struct ifp_timeline_wish *wish, struct ifp_timeline_result *result);

/*
 * Whether a row of the ledger tells of a drawing, in one of these formats; NULL: in any. Rows of a
 * drawing are of its files: they hold as long as nothing is drawn in that format again.
 */
bool ifp_timeline_has_row(
	const struct ifp_timeline_limits *limits, const struct ifp_ledger_row *row);

/* Whether there is anything for TensorBoard among the files. */
bool ifp_timeline_for_tensorboard(const struct ifp_timeline_result *result);

/* Takes over the path of the file, unless it fails (-ENOMEM). */
int ifp_timeline_result_add(
	struct ifp_timeline_result *result, const struct ifp_timeline_file *file);
void ifp_timeline_result_free(struct ifp_timeline_result *result);
