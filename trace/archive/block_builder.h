/* SPDX-License-Identifier: Apache-2.0 */
/* What a block builder holds: filled by block_builder.c, read by block_plan.c, block_encode.c. */
#pragma once

#include "core/intern.h"
#include "trace/archive/block_layout.h"

#include <zstd.h>

/* An event with its texts replaced by numbers of the builder's tables. */
struct ifp_block_entry {
	int64_t start, dur;
	uint64_t correlation;
	uint32_t lane, name, category, extra, template;
	uint32_t first_value; /* of its args' numbers in values ... */
	uint32_t slots;	      /* ... and how many they are */
	uint8_t kind, source, clock;
};

/* What the texts of events with this look are in the tables. */
struct ifp_block_memo {
	uint64_t look;
	uint32_t stamp; /* of the block whose tables they are */
	uint32_t name, category, extra, template;
	uint32_t lane; /* of the last such event */
};

#define IFP_BLOCK_MEMOS 4096u

/* The key of a lane in the table of lanes; no padding, so that it can be compared as bytes. */
struct ifp_block_lane {
	int64_t pid, tid;
	uint32_t kind, pid_text, tid_text, zero;
};

struct ifp_block_builder {
	struct ifp_block_entry *entries; /* IFP_BLOCK_MAX_EVENTS */
	uint32_t count;
	size_t raw_bytes; /* of all texts */
	struct ifp_intern texts, templates, lanes;
	uint64_t *values;
	size_t value_count;
	size_t value_capacity;
	size_t slot_count;	      /* of all templates */
	struct ifp_buf form;	      /* scratch */
	struct ifp_block_memo *memos; /* IFP_BLOCK_MEMOS, by look; NULL before the first one */
	uint32_t stamp;		      /* counts the blocks */
	ZSTD_CCtx *zstd;
};

/* Forgets all events and keeps the memory of the tables. */
void ifp_block_builder_clear(struct ifp_block_builder *builder);
