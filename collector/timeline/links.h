/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrows between ranks: which slices are one collective (collector/analyse/groups.h says which),
 * and how far apart the ranks came to it.
 *
 * Where it is certain which rank was last, by the bounds of the clocks, the arrows go from its
 * slice to those that were open when it began, "all_reduce, waited for rank 3". All others say that
 * two slices are "all_reduce, the same one": from the one that is first on the axis, or to the last
 * one.
 */
#pragma once

#include "collector/analyse/activity.h"
#include "collector/timeline/counters.h"
#include "collector/timeline/elements.h"
#include "collector/timeline/plan.h"

#include <pthread.h>
#include <stdint.h>

/* A slice that is some rank's part of a collective. */
struct ifp_link_end {
	uint32_t event; /* its place among the rank's loaded events */
	uint32_t lane;	/* number of its lane */
	uint16_t shown; /* the level from which on it is drawn; IFP_LEVEL_NEVER = has no lane */
};

struct ifp_link_rank {
	bool taken;
	struct ifp_link_end *ends; /* by event; of the activity's memory */
	uint32_t count;
};

struct ifp_links {
	pthread_mutex_t lock; /* of all below, while ranks are taken */
	struct ifp_activity activity;
	struct ifp_link_rank *ranks;
};

int ifp_links_begin(uint32_t rank_count, struct ifp_links *links);

/*
 * Takes the collectives of rank i, once, and each time on which lanes its slices are: lanes of the
 * scene have their numbers. Ranks in any order, by any thread.
 */
int ifp_links_take(struct ifp_links *links, uint32_t i, const struct ifp_scene *scene);

/* When all ranks have been taken: the arrows one after the other, with the level of each. */
int ifp_links_each(const struct ifp_links *links, struct ifp_element_texts *texts,
	void (*take)(void *context, const struct ifp_sink_flow *flow, uint16_t level),
	void *context);

/*
 * "skew of collectives": of each one, when its last rank came, how much later that was than the
 * first; in us. There is none of collectives of which some rank's clock is not aligned.
 */
int ifp_links_skew(const struct ifp_links *links, struct ifp_counters *out);

void ifp_links_free(struct ifp_links *links);
