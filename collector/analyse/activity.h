/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the analyses need of a run: of every rank its collectives and the ends of its steps. Small
 * beside the events that they are taken from, which are loaded one rank at a time.
 *
 * A collective is what PyTorch's process groups record: slices "gloo:..." and "nccl:..." of the
 * host, and NCCL's kernels on the GPU, which tell better when a rank arrived; and what the program
 * called through MPI for all ranks ("mpi:..."), which counts where no rank has any of the others.
 * Sends and receives between two ranks are none. A collective belongs to the step in which it was called: a kernel to
 * that of its launch, however far behind the GPU is. What starts after the last mark has no step
 * and is left out.
 */
#pragma once

#include "collector/analyse/arrivals.h"
#include "collector/store/run.h"
#include "core/intern.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_rank_activity {
	uint32_t rank;
	int64_t bound_ns; /* of the rank's clock over the run; INT64_MAX = not aligned */
	/* What that is at a moment; borrowed of the run. Without: the same at all of them. */
	const struct ifp_clock_map *map;
	/* Estimated, and no part of that: how far GPUs' times are off, where ranks are compared, or
	 * their clocks aligned, by these. */
	int64_t doubt_ns;
	struct ifp_step_mark *marks;
	size_t mark_count;
	struct ifp_collective *host; /* by step, then start */
	size_t host_count;
	struct ifp_collective *device;
	size_t device_count;
	struct ifp_collective *mpi;
	size_t mpi_count;
	uint64_t without_step; /* collectives that were left out because no mark ends their step */
};

/* Of its moments: both together; INT64_MAX = not aligned. */
static inline int64_t ifp_activity_uncertainty(const struct ifp_rank_activity *rank)
{
	return rank->bound_ns == INT64_MAX ? INT64_MAX : rank->bound_ns + rank->doubt_ns;
}

struct ifp_activity {
	struct ifp_arena arena;
	struct ifp_intern names; /* of collectives, as people say them: "all_reduce", "AllReduce" */
	struct ifp_intern groups;	 /* by their keys (groups.h); 0 is that of no key */
	struct ifp_rank_activity *ranks; /* as many as the run has, in its order */
	uint32_t rank_count;
	int64_t base_ns; /* job time of the run's base: times are counted from there */
};

/* Certified bound of a rank's clock at one of its moments; INT64_MAX = not aligned. */
int64_t ifp_activity_bound_at(
	const struct ifp_activity *activity, const struct ifp_rank_activity *rank, int64_t at_ns);

/*
 * Whether an event is a collective, and how people say it; device: a kernel. The name is a part of
 * the event's.
 */
bool ifp_activity_is_collective(const struct ifp_event *event, struct ifp_str *name, bool *device);

/* Reads all of a run. Ranks whose events cannot be placed in time stay empty. */
int ifp_activity_collect(struct ifp_run *run, struct ifp_activity *out);

void ifp_activity_free(struct ifp_activity *activity);

#define IFP_CLEANUP_ACTIVITY IFP_CLEANUP(ifp_activity_free)

/* What ranks are compared by. */
enum ifp_activity_kind {
	IFP_ACTIVITY_DEVICE, /* all ranks that PyTorch's process groups tell of have kernels */
	IFP_ACTIVITY_HOST,   /* any rank has ranges of them */
	IFP_ACTIVITY_MPI,
};

enum ifp_activity_kind ifp_activity_kind(const struct ifp_activity *activity);

/* The rank's collectives of that kind. */
const struct ifp_collective *ifp_activity_list(
	const struct ifp_rank_activity *rank, enum ifp_activity_kind kind, size_t *count);

/*
 * The part of it that needs no run: takes collectives and marks out of one rank's events (by
 * start) into *rank, whose other members stay. Memory and names are the activity's. -ENOMEM.
 */
int ifp_activity_take(struct ifp_activity *activity, const struct ifp_timed_event *events,
	uint64_t count, struct ifp_rank_activity *rank);

/* Step times from the marks over the whole run; 0 where there are fewer than two. */
struct ifp_step_times {
	uint64_t steps; /* marked */
	int64_t mean_ns;
	int64_t max_ns;
};

struct ifp_step_times ifp_activity_step_times(const struct ifp_rank_activity *rank);
