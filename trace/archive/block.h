/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block: some thousand events of one rank, as columns, compressed. The unit of transport and of
 * storage: an agent encodes it once, the collector checks and appends it, readers decode it. Each
 * block carries its own strings and lanes, so it can be read alone when its neighbours are lost.
 * The byte layout is in docs/format-archive.md.
 */
#pragma once

#include "core/buf.h"
#include "trace/archive/template.h"
#include "trace/event.h"

#include <stddef.h>
#include <stdint.h>

/* A builder turns full at whichever of these comes first. */
#define IFP_BLOCK_MAX_EVENTS 16384u
#define IFP_BLOCK_MAX_RAW_BYTES (4u * 1024u * 1024u)

struct ifp_block_builder;

/* The builder belongs to one thread. */
int ifp_block_builder_new(struct ifp_block_builder **out);
void ifp_block_builder_free(struct ifp_block_builder **builder);

/*
 * Adds a copy of the event. 0; -ENOSPC when the block is full (nothing added: encode, then add
 * again; no cause is recorded); -ENOMEM. An event whose texts alone exceed the block is -EMSGSIZE.
 */
int ifp_block_builder_add(struct ifp_block_builder *builder, const struct ifp_event *event);

/*
 * The same for an event whose args are split already (those of event are not looked at); where
 * args has no form, event has the args as text. The block gets the same bytes either way.
 */
int ifp_block_builder_add_split(struct ifp_block_builder *builder, const struct ifp_event *event,
	const struct ifp_args_split *args);

uint32_t ifp_block_builder_count(const struct ifp_block_builder *builder);

/*
 * Appends the encoded payload of the block to *payload and empties the builder. An empty builder
 * gives an empty payload and is no error.
 */
int ifp_block_builder_encode(struct ifp_block_builder *builder, struct ifp_buf *payload);

/* What an event does not share with those of its shape. */
struct ifp_block_row {
	int64_t start, dur;
	uint64_t correlation;
	uint32_t shape;
	uint32_t args_bytes; /* of its args as text */
	uint32_t args_at;    /* opaque */
};

/*
 * A decoded block, its events in order, without the text of their args: that is put together for
 * those who ask for it. Owns everything that it points to.
 */
struct ifp_block_rows {
	struct ifp_block_row *items;
	uint32_t count;
	/* By shape: what events have but for start, dur, correlation and args. */
	const struct ifp_event *shapes;
	uint32_t shape_count;
	void *memory; /* opaque */
};

/*
 * Decodes a payload. -EBADMSG with a cause for anything malformed: the payload may come from a
 * damaged file or from a network, no input makes this crash, hang or take more than
 * 64 MiB + 64 x len_bytes of memory.
 */
int ifp_block_rows_decode(const void *payload, size_t len_bytes, struct ifp_block_rows *out);
void ifp_block_rows_free(struct ifp_block_rows *rows);

/* Frees the array of rows and keeps what they share, for a caller that has copied the rows. */
void ifp_block_rows_free_items(struct ifp_block_rows *rows);

/* Writes the args of a row: row->args_bytes bytes. Gives the place behind them. */
char *ifp_block_rows_write_args(
	const struct ifp_block_rows *rows, const struct ifp_block_row *row, char *out);

/* The args that rows of a shape have in common: a template and the numbers that do not differ. */
struct ifp_block_args {
	struct ifp_str form; /* the template, or the args themselves when there are no slots */
	uint32_t slots;
	const uint32_t *slot_at; /* where in form a number stands, which there is one byte */
	const uint32_t *columns; /* by slot: IFP_BLOCK_SHARED, or the column of the block */
	const uint64_t *shared;	 /* the others, one after the other */
};

#define IFP_BLOCK_SHARED UINT32_MAX

struct ifp_block_args ifp_block_rows_args(const struct ifp_block_rows *rows, uint32_t shape);

/* The number of a row in a column that its shape has. */
uint64_t ifp_block_rows_number(
	const struct ifp_block_rows *rows, uint32_t column, uint32_t args_at);

/* The events of one decoded block. Owns all texts of its events. */
struct ifp_block {
	struct ifp_event *events;
	uint32_t count;
	void *memory; /* opaque */
};

/* As ifp_block_rows_decode(), with whole events. */
int ifp_block_decode(const void *payload, size_t len_bytes, struct ifp_block *out);
void ifp_block_free(struct ifp_block *block);
