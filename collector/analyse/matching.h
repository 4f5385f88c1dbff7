/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which collectives of different ranks are one: those of a step, by their order. Pure functions on
 * plain arrays.
 */
#pragma once

#include "collector/analyse/arrivals.h"

#include <stddef.h>
#include <stdint.h>

/* A step in which all ranks did the same collectives, in the same order. */
struct ifp_matched_step {
	uint64_t step;
	size_t count;
	/* By rank: its collectives of the step, count of them. The k-th of all ranks are one. */
	const struct ifp_collective *const *first;
};

/*
 * Gives every such step to take, in order, until that fails: what it returns then. *skipped: steps
 * that only some ranks have, or have otherwise. rank_count >= 2. -ENOMEM.
 */
int ifp_match_steps(const struct ifp_rank_times *ranks, uint32_t rank_count,
	int (*take)(void *context, const struct ifp_matched_step *step), void *context,
	uint32_t *skipped);
