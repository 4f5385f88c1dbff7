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

/* The events of one decoded block. Owns all texts of its events. */
struct ifp_block {
	struct ifp_event *events;
	uint32_t count;
	void *memory; /* opaque */
};

/*
 * Decodes a payload. -EBADMSG with a cause for anything malformed: the payload may come from a
 * damaged file or from a network, no input makes this crash, hang or take more than
 * 64 MiB + 64 x len_bytes of memory.
 */
int ifp_block_decode(const void *payload, size_t len_bytes, struct ifp_block *out);
void ifp_block_free(struct ifp_block *block);

/* Frees the array of events and keeps their texts, for a caller that has copied the events. */
void ifp_block_free_events(struct ifp_block *block);
