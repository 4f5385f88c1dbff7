/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When each rank arrived at what all ranks have to arrive at. Pure functions on plain arrays: no
 * archive, no clocks. Times are ns on one axis (job time).
 */
#pragma once

#include "core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One collective operation of one rank. */
struct ifp_collective {
	uint64_t step; /* number of the optimizer step that it belongs to */
	int64_t start_ns;
	int64_t dur_ns;
	uint32_t name;	/* equal operations have equal numbers on all ranks */
	uint32_t group; /* of processes that do it together, likewise (groups.h) */
	uint32_t event; /* its place among the events that it was taken from */
};

/* The end of one optimizer step of one rank. */
struct ifp_step_mark {
	uint64_t step;
	int64_t end_ns;
};

/* What is known of one rank; both arrays in order of step, then time. Borrowed. */
struct ifp_rank_times {
	const struct ifp_collective *collectives;
	size_t collective_count;
	const struct ifp_step_mark *marks;
	size_t mark_count;
};

/* The arrivals of one step, at the one place of it where the last rank was latest. */
struct ifp_arrival_step {
	uint64_t step;
	uint32_t name;	     /* of the collective; 0 for marks */
	int64_t *arrival_ns; /* by rank */
};

struct ifp_arrivals {
	struct ifp_arena arena;
	uint32_t rank_count;
	struct ifp_arrival_step *steps; /* in order of their numbers */
	uint32_t step_count;
	uint32_t steps_skipped; /* ranks did not do the same collectives there */
};

/*
 * Matches the k-th collective of a step across all ranks. A step counts only when all ranks have
 * the same names in it, in the same order; one that only some ranks have, or have otherwise, is
 * skipped. Of a step's collectives the one is kept where the last rank came latest after the
 * median of the others: later ones of the step are levelled by it. -ENOMEM.
 */
int ifp_arrivals_at_collectives(
	const struct ifp_rank_times *ranks, uint32_t rank_count, struct ifp_arrivals *out);

/* The ends of the steps that all ranks have marked, at most max_steps of them, evenly chosen. */
int ifp_arrivals_at_marks(const struct ifp_rank_times *ranks, uint32_t rank_count,
	uint32_t max_steps, struct ifp_arrivals *out);

void ifp_arrivals_free(struct ifp_arrivals *arrivals);

#define IFP_CLEANUP_ARRIVALS IFP_CLEANUP(ifp_arrivals_free)

/* The median; of an even number the mean of the middle two. Sorts values. count >= 1. */
int64_t ifp_median(int64_t *values, size_t count);

/* Where the largest value is, the first of equal ones. count >= 1. */
uint32_t ifp_index_of_largest(const int64_t *values, uint32_t count);

/*
 * Arrival of one rank minus the median of the others' arrivals. scratch_ns has room for
 * rank_count - 1 values; rank_count >= 2.
 */
int64_t ifp_arrival_lateness(
	const int64_t *arrival_ns, uint32_t rank_count, uint32_t rank, int64_t *scratch_ns);
