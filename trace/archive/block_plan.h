/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the encoder decides about a block before it writes it: which numbers of args belong to
 * variants and which have columns, the tables of tracks, variants and shapes (block_plan.c), the
 * modes of prediction, and all differences to the predictions (block_modes.c).
 */
#pragma once

#include "trace/archive/block_builder.h"

#include <string.h>

struct ifp_block_track_key {
	uint32_t lane, kind, source, clock;
};

struct ifp_block_plan {
	const struct ifp_block_builder *builder;
	struct ifp_arena arena;		 /* of all arrays */
	uint32_t *template_slots;	 /* by template: how many */
	uint32_t *template_first;	 /* ... the first of them in slots */
	struct ifp_block_column **slots; /* NULL: the value belongs to the variant */
	uint32_t slot_count;
	uint32_t *slot_order;		  /* slots of a template: first those of variants ... */
	uint32_t *template_of_variant;	  /* ... of which there are so many, then the others */
	struct ifp_block_column *columns; /* one after the other, in order of slots */
	uint32_t column_count;

	/* Tables by their keys' bytes; ids in order of first appearance. */
	struct ifp_intern tracks;	     /* struct ifp_block_track_key */
	struct ifp_intern variants;	     /* template and values */
	struct ifp_intern shapes;	     /* struct ifp_block_shape */
	struct ifp_intern keys;		     /* the texts that stand before slots */
	uint32_t *variant_entry;	     /* by variant: the first event with it */
	struct ifp_block_track *track_modes; /* by track */

	/* By event. */
	uint32_t *shape, *track;
	uint64_t *starts, *durations, *correlations; /* differences */
};

/* {0} is empty. 0 or -ENOMEM. Borrows the builder. */
int ifp_block_plan(const struct ifp_block_builder *builder, struct ifp_block_plan *plan);
void ifp_block_plan_free(struct ifp_block_plan *plan);

/* The second half of ifp_block_plan(): modes and differences. */
int ifp_block_plan_modes(struct ifp_block_plan *plan);

static inline struct ifp_block_shape ifp_block_plan_shape(
	const struct ifp_block_plan *plan, uint32_t shape)
{
	struct ifp_block_shape found;

	memcpy(&found, ifp_intern_text(&plan->shapes, shape).ptr, sizeof(found));
	return found;
}
