/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From events to frames: the sink of all sources of an agent. Gathers events into blocks and puts
 * a block into the queue when it is full, or when it is time. Belongs to the agent's thread.
 */
#pragma once

#include "agent/capture/capture.h"
#include "agent/uplink/frame_queue.h"

#include <stdint.h>

/* An event waits no longer than this before it is on its way. */
#define IFP_EVENT_BLOCKS_MAX_AGE_NS IFP_NS_PER_S

struct ifp_event_blocks;

/* frames is borrowed. */
int ifp_event_blocks_new(struct ifp_frame_queue *frames, struct ifp_event_blocks **out);
void ifp_event_blocks_free(struct ifp_event_blocks **blocks);

struct ifp_sink ifp_event_blocks_sink(struct ifp_event_blocks *blocks);

/* To be called each turn: sends a block on its way when it has become old. */
void ifp_event_blocks_tick(struct ifp_event_blocks *blocks, int64_t now_ns);
/* Sends what there is on its way. */
void ifp_event_blocks_flush(struct ifp_event_blocks *blocks);

uint64_t ifp_event_blocks_taken(const struct ifp_event_blocks *blocks);
/* Events that got lost here: no memory, or larger than a block. */
uint64_t ifp_event_blocks_lost(const struct ifp_event_blocks *blocks);
