/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a rank that may have launched work on a GPU: what that work belongs to. Correlations
 * count from 1 again in each window, so that a call is found by its time, too. One thread.
 */
#pragma once

#include "core/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ifp_xplane_launch {
	uint64_t correlation;
	int64_t start_ns;
	int64_t step;	   /* number of the step that the call was made in; -1 = none */
	uint32_t operator; /* around the call, as a number of the caller's */
	uint32_t number;   /* of the call, unlike that of any other */
};

struct ifp_xplane_launches {
	struct ifp_xplane_launch *items;
	uint32_t count;
	size_t capacity;
	bool sorted;
};

int ifp_xplane_launches_add(
	struct ifp_xplane_launches *launches, const struct ifp_xplane_launch *launch);

/* The last call of that correlation before work that starts at that time; NULL = none is known. */
const struct ifp_xplane_launch *ifp_xplane_launches_find(
	struct ifp_xplane_launches *launches, uint64_t correlation, int64_t at_ns);

/* Forgets all and keeps the memory. */
static inline void ifp_xplane_launches_clear(struct ifp_xplane_launches *launches)
{
	launches->count = 0;
}

void ifp_xplane_launches_free(struct ifp_xplane_launches *launches);
