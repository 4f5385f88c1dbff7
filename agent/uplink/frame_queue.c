/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/uplink/frame_queue.h"

#include "agent/uplink/spool.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256

struct entry {
	uint8_t *data; /* the encoded frame; NULL = in the spool */
	uint64_t offset;
	uint32_t len_bytes;
};

/* Entry i of the waiting ones is entries[(head + i) % capacity]; its number is acknowledged+1+i. */
struct ifp_frame_queue {
	uint32_t rank;
	struct entry *entries;
	uint64_t head, waiting, capacity;
	uint64_t sent; /* of the waiting ones, from the first */
	uint64_t acknowledged;
	uint64_t memory_bytes, memory_limit_bytes;
	uint64_t dropped_events;
	struct ifp_spool *spool;
	struct ifp_buf scratch;
};

int ifp_frame_queue_new(const struct ifp_frame_queue_config *config, struct ifp_frame_queue **out)
{
	struct ifp_frame_queue *queue = calloc(1, sizeof(*queue));
	int err;

	if (!queue)
		return ifp_fail(-ENOMEM, "no memory for the queue of frames");
	queue->rank = config->rank;
	queue->memory_limit_bytes = config->memory_bytes;
	err = ifp_spool_new(config->spool_directory, config->spool_bytes, &queue->spool);
	if (err) {
		ifp_frame_queue_free(&queue);
		return err;
	}
	*out = queue;
	return 0;
}

static struct entry *entry_at(const struct ifp_frame_queue *queue, uint64_t i)
{
	return &queue->entries[(queue->head + i) % queue->capacity];
}

void ifp_frame_queue_free(struct ifp_frame_queue **queue)
{
	struct ifp_frame_queue *q = *queue;

	if (!q)
		return;
	for (uint64_t i = 0; i < q->waiting; i++)
		free(entry_at(q, i)->data);
	free(q->entries);
	ifp_buf_free(&q->scratch);
	ifp_spool_free(&q->spool);
	free(q);
	*queue = NULL;
}

static int reserve(struct ifp_frame_queue *queue)
{
	uint64_t capacity = queue->capacity ? queue->capacity * 2 : FIRST_CAPACITY;
	struct entry *entries;

	if (queue->waiting < queue->capacity)
		return 0;
	entries = calloc(capacity, sizeof(*entries));
	if (!entries)
		return ifp_fail(-ENOMEM, "no memory for the queue of frames");
	for (uint64_t i = 0; i < queue->waiting; i++)
		entries[i] = *entry_at(queue, i);
	free(queue->entries);
	queue->entries = entries;
	queue->capacity = capacity;
	queue->head = 0;
	return 0;
}

static int place_in_memory(struct ifp_frame_queue *queue, struct entry *entry)
{
	entry->data = malloc(entry->len_bytes);
	if (!entry->data)
		return ifp_fail(-ENOMEM, "no memory for a frame");
	memcpy(entry->data, queue->scratch.data, entry->len_bytes);
	queue->memory_bytes += entry->len_bytes;
	return 0;
}

static int place(struct ifp_frame_queue *queue, struct entry *entry, bool is_document)
{
	int err;

	if (queue->memory_bytes + entry->len_bytes <= queue->memory_limit_bytes)
		return place_in_memory(queue, entry);
	err = ifp_spool_append(queue->spool, queue->scratch.data, entry->len_bytes, &entry->offset);
	if (err && is_document) {
		ifp_error_clear();
		return place_in_memory(queue, entry);
	}
	return err;
}

int ifp_frame_queue_add(struct ifp_frame_queue *queue, const struct ifp_frame *frame)
{
	struct ifp_frame numbered = *frame;
	struct entry entry = {0};
	int err = reserve(queue);

	numbered.rank = queue->rank;
	numbered.sequence = queue->acknowledged + queue->waiting + 1;
	ifp_buf_clear(&queue->scratch);
	ifp_frame_encode(&numbered, &queue->scratch);
	if (!err)
		err = ifp_buf_status(&queue->scratch);
	entry.len_bytes = (uint32_t)queue->scratch.len_bytes;
	if (!err)
		err = place(queue, &entry, frame->type != IFP_FRAME_EVENTS);
	if (err) {
		queue->dropped_events += frame->event_count;
		return err;
	}
	*entry_at(queue, queue->waiting) = entry;
	queue->waiting++;
	return 0;
}

static int load(struct ifp_frame_queue *queue, const struct entry *entry, struct ifp_buf *frame)
{
	int err;

	ifp_buf_clear(frame);
	if (entry->data) {
		ifp_buf_append(frame, entry->data, entry->len_bytes);
		return ifp_buf_status(frame);
	}
	ifp_buf_reserve(frame, entry->len_bytes);
	err = ifp_buf_status(frame);
	if (!err)
		err = ifp_spool_read(queue->spool, entry->offset, frame->data, entry->len_bytes);
	if (!err)
		frame->len_bytes = entry->len_bytes;
	return err;
}

int ifp_frame_queue_next(struct ifp_frame_queue *queue, struct ifp_buf *frame, uint64_t *sequence)
{
	int err;

	if (queue->sent == queue->waiting)
		return 0;
	err = load(queue, entry_at(queue, queue->sent), frame);
	if (err)
		return err;
	queue->sent++;
	*sequence = queue->acknowledged + queue->sent;
	return 1;
}

static void release_first(struct ifp_frame_queue *queue)
{
	struct entry *entry = entry_at(queue, 0);

	if (entry->data)
		queue->memory_bytes -= entry->len_bytes;
	else
		ifp_spool_release(queue->spool);
	free(entry->data);
	*entry = (struct entry){0};
	queue->head = (queue->head + 1) % queue->capacity;
	queue->waiting--;
	if (queue->sent)
		queue->sent--;
	queue->acknowledged++;
}

void ifp_frame_queue_acknowledge(struct ifp_frame_queue *queue, uint64_t sequence)
{
	/* after a rewind the collector may know more than has been sent again, but never more than
	 * there is */
	if (sequence > ifp_frame_queue_last(queue))
		return;
	while (queue->acknowledged < sequence)
		release_first(queue);
}

void ifp_frame_queue_rewind(struct ifp_frame_queue *queue)
{
	queue->sent = 0;
}

uint64_t ifp_frame_queue_waiting(const struct ifp_frame_queue *queue)
{
	return queue->waiting;
}

uint64_t ifp_frame_queue_in_flight(const struct ifp_frame_queue *queue)
{
	return queue->sent;
}

uint64_t ifp_frame_queue_last(const struct ifp_frame_queue *queue)
{
	return queue->acknowledged + queue->waiting;
}

uint64_t ifp_frame_queue_spool_bytes(const struct ifp_frame_queue *queue)
{
	return ifp_spool_bytes(queue->spool);
}

uint64_t ifp_frame_queue_dropped_events(const struct ifp_frame_queue *queue)
{
	return queue->dropped_events;
}

int ifp_frame_queue_keep(struct ifp_frame_queue *queue, const char *name, char **path)
{
	ifp_spool_set_limit(queue->spool, UINT64_MAX);
	for (uint64_t i = 0; i < queue->waiting; i++) {
		struct entry *entry = entry_at(queue, i);
		int err;

		if (!entry->data)
			continue;
		err = ifp_spool_append(queue->spool, entry->data, entry->len_bytes, &entry->offset);
		if (err)
			return err;
		queue->memory_bytes -= entry->len_bytes;
		free(entry->data);
		entry->data = NULL;
	}
	return ifp_spool_keep(queue->spool, name, path);
}
