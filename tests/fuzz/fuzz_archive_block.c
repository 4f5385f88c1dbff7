/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads of blocks. The first byte says how the rest is meant:
 *
 *   even   a payload as it is
 *   odd    the counts of a payload's head as varints, then its sections, each behind two bytes of
 *          length: the head is made to fit them, so that changes reach what lies behind it
 *
 * Events that come out must survive being encoded and decoded once more.
 */
#include "fuzz.h"

#include "core/error.h"
#include "trace/archive/block_layout.h"

#include <errno.h>

/* Small enough for the run under sanitizers; larger blocks have no other code. */
#define MOST_EVENTS_AGAIN 512u

static void assemble(const uint8_t *data, size_t len_bytes, struct ifp_buf *payload)
{
	struct ifp_cursor cursor = ifp_cursor(data, len_bytes);
	const uint8_t *section[IFP_SECTION_COUNT];
	size_t section_bytes[IFP_SECTION_COUNT];

	ifp_buf_append_u8(payload, IFP_BLOCK_VERSION);
	for (unsigned int i = 0; i < IFP_TABLE_COUNT; i++)
		ifp_buf_append_varint(payload, ifp_cursor_varint(&cursor));
	for (unsigned int i = 0; i < IFP_SECTION_COUNT; i++) {
		size_t low = ifp_cursor_u8(&cursor);
		size_t wanted = low | (size_t)ifp_cursor_u8(&cursor) << 8;
		size_t left = cursor.len_bytes - cursor.position_bytes;

		section_bytes[i] = wanted < left ? wanted : left;
		section[i] = ifp_cursor_bytes(&cursor, section_bytes[i]);
		if (!section[i])
			section_bytes[i] = 0;
		ifp_buf_append_varint(payload, section_bytes[i]);
		ifp_buf_append_varint(payload, section_bytes[i]);
	}
	for (unsigned int i = 0; i < IFP_SECTION_COUNT; i++)
		ifp_buf_append(payload, section[i], section_bytes[i]);
}

static bool same_event(const struct ifp_event *a, const struct ifp_event *b)
{
	return a->kind == b->kind && a->source == b->source && a->clock == b->clock &&
	       a->start == b->start && a->dur == b->dur && a->correlation == b->correlation &&
	       a->lane.kind == b->lane.kind && a->lane.pid == b->lane.pid &&
	       a->lane.tid == b->lane.tid && ifp_str_equal(a->lane.pid_text, b->lane.pid_text) &&
	       ifp_str_equal(a->lane.tid_text, b->lane.tid_text) &&
	       ifp_str_equal(a->name, b->name) && ifp_str_equal(a->category, b->category) &&
	       ifp_str_equal(a->args, b->args) && ifp_str_equal(a->extra, b->extra);
}

static void touch(const struct ifp_event *event)
{
	require(event->kind < IFP_EVENT_KIND_MAX && event->source < IFP_SOURCE_MAX);
	require(event->clock < IFP_CLOCK_DOMAIN_MAX && event->lane.kind < IFP_LANE_KIND_MAX);
	fuzz_touch(event->name);
	fuzz_touch(event->category);
	fuzz_touch(event->args);
	fuzz_touch(event->extra);
	fuzz_touch(event->lane.pid_text);
	fuzz_touch(event->lane.tid_text);
}

/* Encodes the events again; false when they do not fit one block (a decoder takes more). */
static bool encode(const struct ifp_block *block, struct ifp_buf *payload)
{
	struct ifp_block_builder *builder = NULL;
	int err = ifp_block_builder_new(&builder);

	for (uint32_t i = 0; i < block->count && !err; i++)
		err = ifp_block_builder_add(builder, &block->events[i]);
	if (!err) {
		require(ifp_block_builder_count(builder) == block->count);
		require(!ifp_block_builder_encode(builder, payload));
	}
	ifp_block_builder_free(&builder);
	return !err;
}

static void check_block(const struct ifp_block *block)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_block again = {0};

	for (uint32_t i = 0; i < block->count; i++)
		touch(&block->events[i]);
	if (block->count > MOST_EVENTS_AGAIN || !encode(block, &payload))
		return;
	require(!ifp_block_decode(payload.data, payload.len_bytes, &again));
	require(again.count == block->count);
	for (uint32_t i = 0; i < block->count; i++)
		require(same_event(&block->events[i], &again.events[i]));
	ifp_block_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_block block = {0};
	int err;

	if (!len_bytes)
		return 0;
	if (data[0] & 1)
		assemble(data + 1, len_bytes - 1, &payload);
	else
		ifp_buf_append(&payload, data + 1, len_bytes - 1);
	err = ifp_block_decode(payload.data, payload.len_bytes, &block);
	if (err) {
		require(err == -EBADMSG && ifp_error_depth() > 0);
	} else {
		check_block(&block);
		ifp_block_free(&block);
	}
	ifp_error_clear();
	return 0;
}
