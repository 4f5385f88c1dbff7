/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything of a payload but the events themselves, read and checked: every number that refers to
 * a table is below the table's count, and the columns hold exactly as many values as the events
 * will take. So what is put together from them needs no checks of its own.
 */
#pragma once

#include "trace/archive/block_layout.h"

#define IFP_NO_COLUMN UINT32_MAX

struct ifp_block_template {
	struct ifp_str form;
	bool plain; /* the args themselves */
	uint32_t slots;
	uint32_t first_slot; /* in ifp_block_tables.slots */
	uint32_t of_variant; /* how many slots have their values in the variants */
	uint32_t uses;	     /* events */
};

struct ifp_block_variant {
	uint32_t template;
	uint64_t *values; /* of the template's slots without a column, in their order */
};

struct ifp_block_tables {
	uint32_t counts[IFP_TABLE_COUNT];
	struct ifp_arena arena; /* of all arrays below */
	struct ifp_str *texts;
	struct ifp_lane *lanes;
	struct ifp_block_track *tracks;
	struct ifp_block_template *templates;
	uint32_t *slots; /* column of each slot of each template, or IFP_NO_COLUMN */
	struct ifp_block_column *columns;
	uint32_t column_count;
	struct ifp_block_variant *variants;
	struct ifp_block_shape *shapes;
	uint32_t *sequence;   /* shape of each event */
	uint32_t *track_next; /* place of each track's next numbers in the arrays below */
	uint64_t *starts, *durations, *correlations; /* differences, track by track */
};

/* The texts themselves go to *texts, whose owner they outlive the tables with. {0} is empty. */
int ifp_block_tables_read(const void *payload, size_t len_bytes, struct ifp_block_tables *tables,
	struct ifp_arena *texts);
void ifp_block_tables_free(struct ifp_block_tables *tables);

/* The second half of ifp_block_tables_read(): all packed series (block_series.c). */
int ifp_block_series_read(
	const struct ifp_cursor section[IFP_SECTION_COUNT], struct ifp_block_tables *tables);
