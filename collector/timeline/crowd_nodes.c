/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/crowd_nodes.h"

#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* A lane's crowded slices as a forest. Places count from the first slice of the row. */
struct forest {
	const struct ifp_slices *slices;
	const struct ifp_lane_row *row;
	struct ifp_node *nodes;	      /* of the row */
	uint32_t *first_child, *next; /* the last entry is of the roots */
	uint32_t *open;		      /* by category: how many are, at the moment */
};

static void forest_free(struct forest *forest)
{
	free(forest->first_child);
	free(forest->next);
	free(forest->open);
}

static uint32_t parent_of(const struct forest *forest, uint32_t i)
{
	uint32_t parent = forest->slices->items[forest->row->first_slice + i].parent;

	return parent == IFP_SLICE_NONE ? IFP_SLICE_NONE : parent - forest->row->first_slice;
}

static void find_children(struct forest *forest)
{
	uint32_t count = forest->row->slice_count;

	for (uint32_t i = 0; i <= count; i++)
		forest->first_child[i] = forest->next[i] = IFP_SLICE_NONE;
	for (uint32_t i = count; i-- > 0;) {
		uint32_t parent = parent_of(forest, i);
		uint32_t *first = &forest->first_child[parent == IFP_SLICE_NONE ? count : parent];

		if (!ifp_slice_is_crowded(&forest->slices->items[forest->row->first_slice + i]))
			continue;
		forest->next[i] = *first;
		*first = i;
	}
}

/* Leaves a slice with all that is inside, and what ends with it; gives the next one. */
static uint32_t leave(struct forest *forest, uint32_t i)
{
	while (i != IFP_SLICE_NONE) {
		forest->open[forest->nodes[i].category]--;
		if (forest->next[i] != IFP_SLICE_NONE)
			return forest->next[i];
		i = parent_of(forest, i);
	}
	return IFP_SLICE_NONE;
}

static void cover(struct forest *forest)
{
	uint32_t i = forest->first_child[forest->row->slice_count];

	while (i != IFP_SLICE_NONE) {
		struct ifp_node *node = &forest->nodes[i];

		node->covered = forest->open[node->category]++ != 0;
		i = forest->first_child[i] != IFP_SLICE_NONE ? forest->first_child[i]
							     : leave(forest, i);
	}
}

int ifp_crowd_cover(
	const struct ifp_slices *slices, const struct ifp_lane_row *row, struct ifp_nodes *nodes)
{
	IFP_CLEANUP(forest_free)
	struct forest forest = {
		.slices = slices,
		.row = row,
		.nodes = nodes->items + row->first_slice,
		.first_child = calloc(row->slice_count + 1u, sizeof(*forest.first_child)),
		.next = calloc(row->slice_count + 1u, sizeof(*forest.next)),
		.open = calloc(IFP_NODE_STEP + 1u, sizeof(*forest.open)),
	};

	if (!forest.first_child || !forest.next || !forest.open)
		return ifp_fail(-ENOMEM, "out of memory for %u slices", row->slice_count);
	find_children(&forest);
	cover(&forest);
	return 0;
}
