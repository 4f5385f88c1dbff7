/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrows: the halves that a trace has, joined. A viewer ties a half to the slice that begins at
 * its moment on its lane, so each half is moved to the start of the slice that it lies in.
 */
#pragma once

#include "collector/timeline/rank_view.h"
#include "collector/timeline/slices.h"

#include <stddef.h>
#include <stdint.h>

struct ifp_flow {
	uint32_t from, to;  /* slices; IFP_SLICE_NONE = that half is missing */
	uint64_t event;	    /* of the first half seen: has name and category */
	uint64_t halves[2]; /* events: start and end; IFP_FLOW_NONE = missing */
};

#define IFP_FLOW_NONE UINT64_MAX

struct ifp_flows {
	struct ifp_flow *items;
	uint32_t count;
	size_t capacity;
	/*
	 * What is part of none: steps of arrows, and halves that lack the other one or a slice. By
	 * their places among the loaded events.
	 */
	uint64_t *alone;
	uint64_t halves;
	size_t alone_capacity;
};

/* For arranged slices. Flows are those with both ends; the others are counted as halves. */
int ifp_flows_collect(
	struct ifp_rank_view *view, const struct ifp_slices *slices, struct ifp_flows *flows);
void ifp_flows_free(struct ifp_flows *flows);

#define IFP_CLEANUP_FLOWS IFP_CLEANUP(ifp_flows_free)
