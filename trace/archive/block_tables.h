/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything of a payload but the events themselves, read and checked: every number that refers to
 * a table is below the table's count, and the columns hold exactly as many values as the events
 * will take. So what is put together from them needs no checks of its own.
 */
#pragma once

#include "trace/archive/block_layout.h"

#define IFP_NO_COLUMN IFP_BLOCK_SHARED

struct ifp_block_template {
	struct ifp_str form;
	bool plain; /* the args themselves */
	uint32_t slots;
	uint32_t first_slot; /* in ifp_block_tables.slots */
	uint32_t of_variant; /* how many slots have their values in the variants */
	uint32_t uses;	     /* events */
	uint32_t first_column, column_count;
};

struct ifp_block_variant {
	uint32_t template;
	uint32_t fixed_bytes; /* of the args, without the numbers that have columns */
	uint64_t *values;     /* of the template's slots without a column, in their order */
};

/* What stands before a column's slot in the same args; else the place among the variant's values.
 */
#define IFP_BEFORE_NOTHING UINT32_MAX
#define IFP_BEFORE_COLUMN (UINT32_MAX - 1) /* the column before this one */

struct ifp_block_tables {
	uint32_t counts[IFP_TABLE_COUNT];
	struct ifp_arena arena; /* of all texts and arrays but the last ones */
	struct ifp_str *texts;
	struct ifp_lane *lanes;
	struct ifp_block_track *tracks;
	struct ifp_block_template *templates;
	uint32_t *slots;   /* column of each slot of each template, or IFP_NO_COLUMN */
	uint32_t *slot_at; /* its place in the template */
	uint32_t *before;  /* by column */
	struct ifp_block_column *columns;
	uint32_t column_count;
	struct ifp_block_variant *variants;
	struct ifp_block_shape *shapes;

	/* Of what only whoever puts the events together needs. */
	struct ifp_arena passing;
	uint32_t *sequence;   /* shape of each event */
	uint32_t *track_next; /* place of each track's next numbers in the arrays below */
	uint64_t *starts, *durations, *correlations; /* differences, track by track */
};

/* {0} is empty. */
int ifp_block_tables_read(const void *payload, size_t len_bytes, struct ifp_block_tables *tables);
void ifp_block_tables_free(struct ifp_block_tables *tables);

/* The second half of ifp_block_tables_read(): all packed series (block_series.c). */
int ifp_block_series_read(
	const struct ifp_cursor section[IFP_SECTION_COUNT], struct ifp_block_tables *tables);
