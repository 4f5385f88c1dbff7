/* SPDX-License-Identifier: Apache-2.0 */
/* One rank as a file of xprof's: which plane a lane is on, and how the file is begun and ended. */
#pragma once

#include "collector/timeline/sink.h"
#include "collector/timeline/xplane_launches.h"
#include "core/arena.h"
#include "core/buf.h"
#include "core/intern.h"
#include "trace/xplane/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ifp_xplane_lane {
	struct ifp_xplane_plane *plane;
	struct ifp_xplane_plane *notes; /* of a GPU: for what is no work of its; else NULL */
	uint32_t number;
	struct ifp_str title; /* of the file's memory */
};

struct ifp_xplane_step {
	int64_t number, start_ns, dur_ns;
};

/* An operator that is open on the lane that is being drawn. */
struct ifp_xplane_open {
	int64_t end_ns;
	uint32_t name;
};

/* What a plane's calls are for. */
enum ifp_xplane_line {
	IFP_XPLANE_NO_LINE,
	IFP_XPLANE_EVENTS,
	IFP_XPLANE_COUNTERS,
};

struct ifp_xplane_file {
	struct ifp_xplane_writer *writer; /* NULL: no file is open */
	char *path;
	const struct ifp_run_rank *rank;
	struct ifp_buf title;	 /* of the rank, the inside of a JSON string */
	struct ifp_arena titles; /* of lanes */

	struct ifp_xplane_lane *lanes; /* by number, without gaps */
	uint32_t lane_count;
	size_t lane_capacity;
	const struct ifp_xplane_lane *open; /* that is being drawn; NULL = none */
	enum ifp_xplane_line open_line, open_notes;

	struct ifp_xplane_step *steps; /* by start */
	uint32_t step_count;
	size_t step_capacity;
	uint32_t steps_lane; /* number of the lane that they are on */

	/* On the open lane: up to here, a slice that tells this step is open. */
	int64_t told_until_ns, told_step;
	struct ifp_xplane_open *operators; /* innermost last */
	uint32_t operator_count;
	size_t operator_capacity;

	struct ifp_intern names;	     /* of operators */
	struct ifp_xplane_launches launches; /* of the whole rank */
	uint64_t orphans;		     /* work of which no launch is known */
	struct ifp_buf text;		     /* for one element */

	uint64_t events;
	uint64_t full;	   /* left out: the file was full */
	uint64_t untimely; /* left out: before the base of all times, or too far behind it */
	int err;
};

/* Begins directory/rankNNNN.xplane.pb. */
int ifp_xplane_file_open(
	struct ifp_xplane_file *file, const char *directory, const struct ifp_sink_rank *rank);

/* As in sink.h; all lanes come before the first slice. */
void ifp_xplane_file_lane(struct ifp_xplane_file *file, const struct ifp_sink_lane *lane);

/* The first failure stays. */
static inline void ifp_xplane_file_keep(struct ifp_xplane_file *file, int err)
{
	if (err && !file->err)
		file->err = err;
}

/* NULL when there is none of that number. */
static inline const struct ifp_xplane_lane *ifp_xplane_file_find(
	const struct ifp_xplane_file *file, uint32_t number)
{
	uint32_t i = file->lane_count ? number - file->lanes[0].number : 0;

	return i < file->lane_count ? &file->lanes[i] : NULL;
}

/* The plane of a lane, or that of its notes, with the lane's line of that kind open. */
struct ifp_xplane_plane *ifp_xplane_file_enter(struct ifp_xplane_file *file,
	const struct ifp_xplane_lane *lane, bool notes, enum ifp_xplane_line line);

/* What was left out becomes rows of the run's ledger. *out: the path is the caller's. */
int ifp_xplane_file_close(
	struct ifp_xplane_file *file, struct ifp_run *run, struct ifp_timeline_file *out);

/* Gives up what is open; frees all memory. */
void ifp_xplane_file_free(struct ifp_xplane_file *file);
