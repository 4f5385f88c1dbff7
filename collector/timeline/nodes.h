/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slices of a rank as a forest: on each sub-lane the roots and their children in order, each
 * with the level from which on it is shown by itself. What is not shown stands in folds: a fold is
 * a run of siblings that are not shown, with all that is inside of them, around which their parent
 * is shown. Runs end where two siblings are apart. Crowded slices are never shown by themselves:
 * those of a lane are siblings, whatever is around them.
 */
#pragma once

#include "collector/timeline/levels.h"
#include "collector/timeline/slices.h"
#include "collector/timeline/steps.h"
#include "collector/store/run.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_node {
	int64_t key;	     /* group of steps that its start lies in (ifp_level_apart) */
	uint32_t prev, next; /* siblings; IFP_SLICE_NONE = none */
	uint16_t level;	     /* of itself and of what it has to be there for */
	uint16_t shown;	     /* the level from which on it is drawn: earlier, when it is alone */
	uint16_t apart;	     /* from which level on it is apart from prev */
	uint16_t category;   /* number among the rank's categories; steps: IFP_NODE_STEP */
	uint8_t subject;     /* enum ifp_subject */
	bool inside_operator;
	bool has_children;
	bool covered; /* of a crowded one: a crowded slice of its category is around it */
};

#define IFP_NODE_STEP UINT16_MAX

struct ifp_nodes {
	struct ifp_node *items; /* by slice; crowded ones have shown = IFP_LEVEL_NEVER */
	struct ifp_rank_categories categories;
};

/* For arranged slices of a rank, which have that extent. More than 65534 categories are -E2BIG. */
int ifp_nodes_make(const struct ifp_rank_events *events, const struct ifp_steps *steps,
	const struct ifp_slices *slices, const struct ifp_lanes *lanes, int64_t extent_ns,
	struct ifp_nodes *nodes);
void ifp_nodes_free(struct ifp_nodes *nodes);

/*
 * The levels at which a fold begins with this slice: from *first up to, not including, *end. None
 * when *first >= *end.
 */
void ifp_nodes_fold_levels(const struct ifp_nodes *nodes, const struct ifp_slices *slices,
	uint32_t i, uint16_t *first, uint16_t *end);

/* Whether slice i, not shown at the level, goes on with the fold that its prev is in. */
static inline bool ifp_node_continues(const struct ifp_nodes *nodes, uint32_t i, uint16_t level)
{
	const struct ifp_node *node = &nodes->items[i];

	return node->prev != IFP_SLICE_NONE && nodes->items[node->prev].shown > level &&
	       node->apart > level;
}
