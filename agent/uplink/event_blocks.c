/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/uplink/event_blocks.h"

#include "core/error.h"
#include "trace/archive/block.h"

#include <errno.h>
#include <stdlib.h>

struct ifp_event_blocks {
	struct ifp_frame_queue *frames;
	struct ifp_block_builder *builder;
	struct ifp_buf payload;
	int64_t flushed_ns;
	uint64_t taken, lost;
};

int ifp_event_blocks_new(struct ifp_frame_queue *frames, struct ifp_event_blocks **out)
{
	struct ifp_event_blocks *blocks = calloc(1, sizeof(*blocks));
	int err;

	if (!blocks)
		return ifp_fail(-ENOMEM, "no memory for blocks of events");
	blocks->frames = frames;
	err = ifp_block_builder_new(&blocks->builder);
	if (err) {
		free(blocks);
		return err;
	}
	*out = blocks;
	return 0;
}

void ifp_event_blocks_free(struct ifp_event_blocks **blocks)
{
	if (!*blocks)
		return;
	ifp_block_builder_free(&(*blocks)->builder);
	ifp_buf_free(&(*blocks)->payload);
	free(*blocks);
	*blocks = NULL;
}

void ifp_event_blocks_flush(struct ifp_event_blocks *blocks)
{
	uint32_t count = ifp_block_builder_count(blocks->builder);
	struct ifp_frame frame = {.type = IFP_FRAME_EVENTS, .event_count = count};
	int err;

	if (!count)
		return;
	ifp_buf_clear(&blocks->payload);
	err = ifp_block_builder_encode(blocks->builder, &blocks->payload);
	if (err) {
		blocks->lost += count;
	} else {
		frame.payload = blocks->payload.data;
		frame.payload_bytes = (uint32_t)blocks->payload.len_bytes;
		/* what the queue drops, it counts */
		err = ifp_frame_queue_add(blocks->frames, &frame);
	}
	if (err)
		ifp_error_clear();
}

static int take(void *context, const struct ifp_event *event)
{
	struct ifp_event_blocks *blocks = context;
	int err = ifp_block_builder_add(blocks->builder, event);

	if (err == -ENOSPC) {
		ifp_event_blocks_flush(blocks);
		err = ifp_block_builder_add(blocks->builder, event);
	}
	blocks->taken++;
	if (err) {
		blocks->lost++;
		ifp_error_clear();
	}
	return err;
}

struct ifp_sink ifp_event_blocks_sink(struct ifp_event_blocks *blocks)
{
	return (struct ifp_sink){.take = take, .context = blocks};
}

void ifp_event_blocks_tick(struct ifp_event_blocks *blocks, int64_t now_ns)
{
	if (now_ns - blocks->flushed_ns < IFP_EVENT_BLOCKS_MAX_AGE_NS)
		return;
	blocks->flushed_ns = now_ns;
	ifp_event_blocks_flush(blocks);
}

uint64_t ifp_event_blocks_taken(const struct ifp_event_blocks *blocks)
{
	return blocks->taken;
}

uint64_t ifp_event_blocks_lost(const struct ifp_event_blocks *blocks)
{
	return blocks->lost;
}
