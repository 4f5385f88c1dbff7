/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: marks. Owns the segment that the rank's processes write to (core/segment.h), drains its
 * rings, and turns marks into events: pushes and pops of a thread into slices, steps into events
 * of source STEP. Belongs to the agent's thread.
 */
#pragma once

#include "agent/capture/capture.h"
#include "agent/capture/mpi_series.h"
#include "agent/launch/environment.h"
#include "core/segment.h"

#include <stdint.h>

struct ifp_marks;

/* Creates the sealed memfd. */
int ifp_marks_new(struct ifp_marks **out);
void ifp_marks_free(struct ifp_marks **marks);

/*
 * Sets INFPROF_SEGMENT, INFPROF_LIBRARY (path of libinfprof.so) and, where no other tool has
 * taken it, NVTX_INJECTION64_PATH.
 */
int ifp_marks_environment(
	struct ifp_marks *marks, struct ifp_environment *environment, const char *library_path);

/*
 * Puts the library before MPI in the program's search order, in front of whatever else LD_PRELOAD
 * names. -EINVAL when its path has a ':' or a space.
 */
int ifp_marks_environment_mpi(struct ifp_environment *environment, const char *library_path);

/* The control page: hook bits, step counter. Shared with running processes. */
struct ifp_segment_header *ifp_marks_segment(struct ifp_marks *marks);

/*
 * Hands everything recorded so far to the sink: cheap when nothing was recorded (31 loads). Rings
 * whose writer has gone (also by SIGKILL) are drained and set free.
 */
int ifp_marks_drain(struct ifp_marks *marks, const struct ifp_sink *sink);

/*
 * After the program has ended: drains, then closes the ranges that are still open at the last
 * stamp their thread (of those that any thread may end: any thread) has given, and counts them.
 */
int ifp_marks_finish(struct ifp_marks *marks, const struct ifp_sink *sink);

/*
 * Which rank of how many the program is: its calls of MPI tell something of clocks only where MPI says
 * the same.
 */
void ifp_marks_set_rank(struct ifp_marks *marks, uint32_t rank, uint32_t world);

/* Calls since they were last cleared that tell something of clocks. NULL = there are none. */
const struct ifp_mpi_series *ifp_marks_mpi_calls(const struct ifp_marks *marks);
void ifp_marks_clear_mpi_calls(struct ifp_marks *marks);

/* The clock of the marks' stamps. */
enum ifp_clock_domain ifp_marks_domain(const struct ifp_marks *marks);

struct ifp_marks_counters {
	uint64_t events;       /* handed to the sink */
	uint64_t dropped_full; /* marks that found their ring full, or interrupted another mark */
	uint64_t dropped_no_ring; /* marks of threads that found no free ring */
	uint64_t names_cut;
	uint64_t ranges_open;	  /* closed without an end of their own: args say "unfinished" */
	uint64_t pops_unmatched;  /* ends of ranges whose begin was dropped or never made */
	uint64_t ranges_too_deep; /* not kept: more than a thousand open at once on one thread */
	uint64_t damaged;	  /* places in a ring that the program has overwritten */
};

struct ifp_marks_counters ifp_marks_counters(const struct ifp_marks *marks);
