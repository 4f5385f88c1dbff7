/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of one rank that the collector has not yet acknowledged, in order. It gives sequence
 * numbers, holds frames in memory, beyond that on disk, and drops events beyond that. Belongs to
 * the agent's thread.
 */
#pragma once

#include "core/buf.h"
#include "trace/archive/frame.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_frame_queue_config {
	uint32_t rank;
	uint64_t memory_bytes;
	uint64_t spool_bytes;
	const char *spool_directory; /* copied */
};

struct ifp_frame_queue;

int ifp_frame_queue_new(const struct ifp_frame_queue_config *config, struct ifp_frame_queue **out);
void ifp_frame_queue_free(struct ifp_frame_queue **queue);

/*
 * Adds a frame with the next sequence number. frame->rank and frame->sequence are ignored, the
 * payload is copied. -ENOSPC when memory and spool are full: a frame of events is dropped and
 * counted, and takes no number. Documents are small, and always find a place in memory.
 */
int ifp_frame_queue_add(struct ifp_frame_queue *queue, const struct ifp_frame *frame);

/*
 * The next frame to send, encoded, in *frame (cleared first), and its number: 1; 0 when there is
 * none; negative errno when it cannot be read back. It counts as sent from then on.
 */
int ifp_frame_queue_next(struct ifp_frame_queue *queue, struct ifp_buf *frame, uint64_t *sequence);

/* All frames up to sequence are stored. A number that was never sent is ignored. */
void ifp_frame_queue_acknowledge(struct ifp_frame_queue *queue, uint64_t sequence);

/* All frames that are not acknowledged are to be sent again. */
void ifp_frame_queue_rewind(struct ifp_frame_queue *queue);

/* Frames that are not acknowledged; that are sent and not acknowledged; number of the last one. */
uint64_t ifp_frame_queue_waiting(const struct ifp_frame_queue *queue);
uint64_t ifp_frame_queue_in_flight(const struct ifp_frame_queue *queue);
uint64_t ifp_frame_queue_last(const struct ifp_frame_queue *queue);

uint64_t ifp_frame_queue_spool_bytes(const struct ifp_frame_queue *queue);
uint64_t ifp_frame_queue_dropped_events(const struct ifp_frame_queue *queue);

/*
 * Writes everything that is not acknowledged into a file in the spool's directory that outlives
 * the agent (ifp_spool_keep()). The limit of the spool does not count for what is in memory.
 */
int ifp_frame_queue_keep(struct ifp_frame_queue *queue, const char *name, char **path);
