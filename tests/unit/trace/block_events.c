/* SPDX-License-Identifier: Apache-2.0 */
#include "block_events.h"

#include "test.h"

#include <stdio.h>

uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t random_below(struct random *random, uint64_t limit)
{
	return random_next(random) % limit;
}

static struct ifp_str format(struct ifp_arena *arena, const char *text)
{
	return ifp_arena_copy(arena, ifp_str(text));
}

static struct ifp_str random_bytes(struct random *random, struct ifp_arena *arena, uint32_t len)
{
	char *bytes = ifp_arena_alloc(arena, len + 1);

	for (uint32_t i = 0; i < len; i++) /* digits often, to meet all rules on numbers */
		bytes[i] = random_below(random, 2) ? (char)('0' + random_below(random, 10))
						   : (char)random_below(random, 256);
	return (struct ifp_str){bytes, len};
}

static int64_t random_stamp(struct random *random)
{
	static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX};

	switch (random_below(random, 8)) {
	case 0:
		return extremes[random_below(random, 6)];
	case 1:
		return (int64_t)random_next(random);
	default:
		return INT64_C(1700000000000000000) + (int64_t)random_below(random, 1000000000);
	}
}

static struct ifp_str random_args(struct random *random, struct ifp_arena *arena, uint64_t id)
{
	char text[256];

	switch (random_below(random, 8)) {
	case 0:
		return (struct ifp_str){0};
	case 1:
		return random_bytes(random, arena, (uint32_t)random_below(random, 100));
	case 2: /* leading zeros, fractions, signs, more digits than a slot takes */
		snprintf(text, sizeof(text),
			"{\"a\":0.00%llu,\"b\":-007,\"c\":%llu%019llu,\"d\":00,\"e\":0}",
			(unsigned long long)id, (unsigned long long)id, (unsigned long long)id);
		return format(arena, text);
	default:
		snprintf(text, sizeof(text),
			"{\"External id\":%llu,\"Dims\":[[32,%u],[]],\"correlation\":%llu}",
			(unsigned long long)id, (unsigned int)random_below(random, 3) * 768,
			(unsigned long long)(id + random_below(random, 5)));
		return format(arena, text);
	}
}

static struct ifp_lane random_lane(struct random *random, struct ifp_arena *arena)
{
	struct ifp_lane lane = {.kind = (enum ifp_lane_kind)random_below(random, IFP_LANE_KIND_MAX),
		.pid = (int64_t)random_below(random, 3),
		.tid = (int64_t)random_below(random, 4)};

	if (lane.kind == IFP_LANE_OTHER) {
		lane.pid = 0;
		lane.pid_text = format(arena, "\"Spans\"");
		lane.tid_text = random_bytes(random, arena, (uint32_t)random_below(random, 3));
	} else if (!random_below(random, 16)) {
		lane.pid = (int64_t)random_next(random);
		lane.tid = INT64_MIN;
	}
	return lane;
}

struct ifp_event random_event(struct random *random, struct ifp_arena *arena)
{
	static const char *const names[] = {
		"aten::mm", "aten::add", "", "void kernel<8, 2ul>(int)"};
	uint64_t id = random_below(random, 100000);
	struct ifp_event event = {
		.kind = (enum ifp_event_kind)random_below(random, IFP_EVENT_KIND_MAX),
		.source = (enum ifp_event_source)random_below(random, IFP_SOURCE_MAX),
		.clock = (enum ifp_clock_domain)random_below(random, IFP_CLOCK_DOMAIN_MAX),
		.start = random_stamp(random),
		.lane = random_lane(random, arena),
		.name = format(arena, names[random_below(random, 4)]),
		.category = format(arena, random_below(random, 2) ? "cpu_op" : ""),
		.args = random_args(random, arena, id),
	};

	if (event.kind == IFP_EVENT_SLICE)
		event.dur = random_below(random, 16) ? (int64_t)random_below(random, 100000)
						     : random_stamp(random);
	if (random_below(random, 2))
		event.correlation = random_below(random, 4) ? id : random_next(random);
	if (!random_below(random, 4))
		event.extra = format(arena, "{\"bp\":\"e\"}");
	if (!random_below(random, 64))
		event.name = random_bytes(random, arena, (uint32_t)random_below(random, 70000));
	return event;
}

static void assert_texts_equal(struct ifp_str got, struct ifp_str want)
{
	assert_int_equal(got.len_bytes, want.len_bytes);
	if (want.len_bytes)
		assert_memory_equal(got.ptr, want.ptr, want.len_bytes);
}

void assert_events_equal(const struct ifp_event *got, const struct ifp_event *want)
{
	assert_int_equal(got->kind, want->kind);
	assert_int_equal(got->source, want->source);
	assert_int_equal(got->clock, want->clock);
	assert_int_equal(got->start, want->start);
	assert_int_equal(got->dur, want->dur);
	assert_int_equal(got->correlation, want->correlation);
	assert_int_equal(got->lane.kind, want->lane.kind);
	assert_int_equal(got->lane.pid, want->lane.pid);
	assert_int_equal(got->lane.tid, want->lane.tid);
	assert_texts_equal(got->lane.pid_text, want->lane.pid_text);
	assert_texts_equal(got->lane.tid_text, want->lane.tid_text);
	assert_texts_equal(got->name, want->name);
	assert_texts_equal(got->category, want->category);
	assert_texts_equal(got->args, want->args);
	assert_texts_equal(got->extra, want->extra);
}

void encode_events(const struct ifp_event *events, uint32_t count, struct ifp_buf *payload)
{
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;

	assert_ok(ifp_block_builder_new(&builder));
	for (uint32_t i = 0; i < count; i++)
		assert_ok(ifp_block_builder_add(builder, &events[i]));
	assert_int_equal(ifp_block_builder_count(builder), count);
	assert_ok(ifp_block_builder_encode(builder, payload));
	assert_int_equal(ifp_block_builder_count(builder), 0);
}
