/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/store.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"
#include "core/time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A frame that waits for the disk. */
struct kept {
	struct kept *next;
	struct ifp_frame frame; /* its payload is bytes */
	uint8_t bytes[];
};

struct ifp_store {
	struct ifp_archive_writer *writer;
	uint64_t *received; /* by rank: highest number that is written or kept */
	uint32_t world;
	struct kept *first, **last_link;
	uint32_t kept_own;	  /* of them, frames of the collector */
	int64_t failing_since_ns; /* 0 = the disk takes what it gets */
	int64_t retry_ns;
};

int ifp_store_new(struct ifp_archive_writer **writer, uint32_t world, struct ifp_store **out)
{
	IFP_CLEANUP_FREE struct ifp_store *store = calloc(1, sizeof(*store));
	uint64_t *received = calloc(world, sizeof(*received));

	if (!store || !received) {
		free(received);
		return ifp_fail(-ENOMEM, "out of memory for the store");
	}
	store->received = received;
	store->world = world;
	store->last_link = &store->first;
	store->writer = IFP_TAKE_PTR(*writer);
	for (uint32_t i = 0; i < world; i++)
		received[i] = ifp_archive_writer_last_sequence(store->writer, i);
	*out = IFP_TAKE_PTR(store);
	return 0;
}

static void drop_first(struct ifp_store *store)
{
	struct kept *kept = store->first;

	store->first = kept->next;
	if (!store->first)
		store->last_link = &store->first;
	store->kept_own -= !kept->frame.sequence;
	free(kept);
}

static int keep(struct ifp_store *store, const struct ifp_frame *frame)
{
	struct kept *kept;

	if (!frame->sequence && store->kept_own >= IFP_STORE_MAX_KEPT_OWN)
		return ifp_fail(-ENOSPC, "too many documents wait for the disk");
	kept = malloc(sizeof(*kept) + frame->payload_bytes);
	if (!kept)
		return ifp_fail(-ENOMEM, "out of memory for a frame that waits for the disk");
	*kept = (struct kept){.frame = *frame};
	if (frame->payload_bytes)
		memcpy(kept->bytes, frame->payload, frame->payload_bytes);
	kept->frame.payload = kept->bytes;
	store->kept_own += !frame->sequence;
	*store->last_link = kept;
	store->last_link = &kept->next;
	return 0;
}

static void begin_failing(struct ifp_store *store, int64_t now_ns)
{
	store->retry_ns = now_ns + IFP_STORE_RETRY_NS;
	if (store->failing_since_ns) {
		ifp_error_clear(); /* told once */
		return;
	}
	store->failing_since_ns = now_ns;
	ifp_log_chain(IFP_LOG_WARN);
}

/* Whether a frame with this number is the one that is due. 1 = yes, 0 = a double, -EAGAIN = no. */
static int is_due(const struct ifp_store *store, const struct ifp_frame *frame)
{
	uint64_t received, acknowledged;

	if (!frame->sequence)
		return 1;
	if (frame->rank >= store->world)
		return ifp_fail(-EINVAL, "frame of rank %" PRIu32 " of %" PRIu32, frame->rank,
			store->world);
	/* More is stored than was received where a frame filled a gap that damage had left. */
	acknowledged = ifp_store_acknowledged(store, frame->rank);
	received = store->received[frame->rank];
	if (received < acknowledged)
		received = acknowledged;
	if (frame->sequence <= received)
		return 0;
	if (frame->sequence > received + 1 || received - acknowledged >= IFP_STORE_CREDIT)
		return -EAGAIN;
	return 1;
}

int ifp_store_frame(struct ifp_store *store, const struct ifp_frame *frame, int64_t now_ns)
{
	int err = is_due(store, frame);

	if (err <= 0)
		return err;
	err = store->first ? -ENOSPC : ifp_archive_writer_append(store->writer, frame, NULL);
	if (err == -EINVAL || err == -ENOMEM)
		return err;
	if (err) {
		if (!store->first)
			begin_failing(store, now_ns);
		if ((err = keep(store, frame)))
			return err;
	}
	if (frame->sequence)
		store->received[frame->rank] = frame->sequence;
	return 0;
}

/* The row that says for how long nothing could be stored. Written when it is over. */
static void write_row(struct ifp_store *store, int64_t seconds)
{
	char text[256];
	struct ifp_frame frame = {.type = IFP_FRAME_LEDGER,
		.rank = IFP_FRAME_NO_RANK,
		.payload = (const uint8_t *)text};

	frame.payload_bytes = (uint32_t)snprintf(text, sizeof(text),
		"{\"rows\":[{\"what\":\"store-failed\",\"count\":1,\"why\":\"for %" PRId64
		" s the archive could not be written; the agents kept their blocks\"}]}",
		seconds);
	if (ifp_archive_writer_append(store->writer, &frame, NULL))
		ifp_error_clear(); /* full again: the next row tells of it */
}

void ifp_store_tick(struct ifp_store *store, int64_t now_ns)
{
	if (!store->first || now_ns < store->retry_ns)
		return;
	while (store->first) {
		if (ifp_archive_writer_append(store->writer, &store->first->frame, NULL)) {
			begin_failing(store, now_ns);
			return;
		}
		drop_first(store);
	}
	write_row(store, (now_ns - store->failing_since_ns) / IFP_NS_PER_S);
	store->failing_since_ns = 0;
	ifp_log_info("the archive can be written again");
}

int ifp_store_close(struct ifp_store **store)
{
	struct ifp_store *s = IFP_TAKE_PTR(*store);
	uint64_t lost = 0;
	int err;

	if (!s)
		return 0;
	ifp_store_tick(s, s->retry_ns);
	for (; s->first; lost++)
		drop_first(s);
	err = ifp_archive_writer_close(&s->writer);
	if (!err && lost)
		err = ifp_fail(-ENOSPC, "%" PRIu64 " frames could not be written", lost);
	free(s->received);
	free(s);
	return err;
}

uint64_t ifp_store_acknowledged(const struct ifp_store *store, uint32_t rank)
{
	return ifp_archive_writer_last_sequence(store->writer, rank);
}

uint32_t ifp_store_credit(const struct ifp_store *store)
{
	return store->first ? 0 : IFP_STORE_CREDIT;
}
