/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block.h"

#include "block_events.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SEEDS 40u

static void assert_comes_back(const struct ifp_event *events, uint32_t count)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_block block;

	encode_events(events, count, &payload);
	assert_ok(ifp_block_decode(payload.data, payload.len_bytes, &block));
	assert_int_equal(block.count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_events_equal(&block.events[i], &events[i]);
	ifp_block_free(&block);
}

static void random_events_come_back(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		IFP_CLEANUP_ARENA struct ifp_arena arena = {0};
		struct random random = {seed};
		uint32_t count = (uint32_t)(1 + random_below(&random, 300));
		struct ifp_event *events = calloc(count, sizeof(*events));

		for (uint32_t i = 0; i < count; i++)
			events[i] = random_event(&random, &arena);
		assert_comes_back(events, count);
		free(events);
	}
}

static void an_event_without_anything_comes_back(void **state)
{
	const struct ifp_event nothing = {0};

	(void)state;
	assert_comes_back(&nothing, 1);
}

static void no_events_are_an_empty_payload(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_block block = {.count = 7};

	(void)state;
	encode_events(NULL, 0, &payload);
	assert_int_equal(payload.len_bytes, 0);
	assert_ok(ifp_block_decode(payload.data, payload.len_bytes, &block));
	assert_int_equal(block.count, 0);
	ifp_block_free(&block);
}

/* The payload goes behind what the buffer holds already. */
static void encoding_appends(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	const struct ifp_event event = {.start = 5, .name = {"n", 1}};
	struct ifp_block block;

	(void)state;
	ifp_buf_append_text(&payload, "head");
	encode_events(&event, 1, &payload);
	assert_memory_equal(payload.data, "head", 4);
	assert_ok(ifp_block_decode(payload.data + 4, payload.len_bytes - 4, &block));
	assert_events_equal(&block.events[0], &event);
	ifp_block_free(&block);
}

static void a_builder_is_full_at_its_limit_of_events(void **state)
{
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_block block;

	(void)state;
	assert_ok(ifp_block_builder_new(&builder));
	for (uint32_t i = 0; i < IFP_BLOCK_MAX_EVENTS; i++)
		assert_ok(ifp_block_builder_add(
			builder, &(struct ifp_event){.start = i, .lane.tid = i}));
	assert_int_equal(ifp_block_builder_add(builder, &(struct ifp_event){0}), -ENOSPC);
	assert_int_equal(ifp_error_depth(), 0);
	assert_ok(ifp_block_builder_encode(builder, &payload));
	assert_ok(ifp_block_decode(payload.data, payload.len_bytes, &block));
	assert_int_equal(block.count, IFP_BLOCK_MAX_EVENTS);
	for (uint32_t i = 0; i < block.count; i++) /* as many lanes as events */
		assert_int_equal(block.events[i].lane.tid, i);
	ifp_block_free(&block);
	assert_ok(ifp_block_builder_add(builder, &(struct ifp_event){0}));
}

static void a_builder_is_full_at_its_limit_of_bytes(void **state)
{
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	const uint32_t len = IFP_BLOCK_MAX_RAW_BYTES;
	char *text = malloc(len + 1);
	struct ifp_event event = {.name = {text, 1}};

	(void)state;
	memset(text, '7', len + 1);
	event.args = (struct ifp_str){text, len - 1};
	assert_comes_back(&event, 1); /* more numbers than args may have: kept whole */
	memset(text, 'x', len + 1);
	assert_comes_back(&event, 1);
	assert_ok(ifp_block_builder_new(&builder));
	assert_ok(ifp_block_builder_add(builder, &event));
	assert_int_equal(
		ifp_block_builder_add(builder, &(struct ifp_event){.name = {"n", 1}}), -ENOSPC);
	assert_int_equal(ifp_error_depth(), 0);
	event.args.len_bytes++;
	assert_int_equal(ifp_block_builder_add(builder, &event), -EMSGSIZE);
	ifp_error_clear();
	free(text);
}

/* Args that are nothing but numbers fill a block before its bytes or events do. */
static void a_builder_is_full_at_its_limits_of_numbers(void **state)
{
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	char text[2 * 4000 + 64];
	struct ifp_block block;
	uint32_t count = 0;
	int err = 0;

	(void)state;
	assert_ok(ifp_block_builder_new(&builder));
	for (; !err; count += !err) {
		/* Every second event has a template of its own. */
		int len = snprintf(text, sizeof(text), "%c%c%c", 'a' + count % 26,
			'a' + count / 26 % 26, 'a' + (count % 2 ? 0 : count / 676));

		for (uint32_t i = 0; i < 4000; i++)
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%u,", i % 10);
		err = ifp_block_builder_add(
			builder, &(struct ifp_event){.args = {text, (uint32_t)len}});
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(count * 4000u * 2u < IFP_BLOCK_MAX_RAW_BYTES);
	assert_ok(ifp_block_builder_encode(builder, &payload));
	assert_ok(ifp_block_decode(payload.data, payload.len_bytes, &block));
	assert_int_equal(block.count, count);
	ifp_block_free(&block);
}

static void members_out_of_range_are_refused(void **state)
{
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;

	(void)state;
	assert_ok(ifp_block_builder_new(&builder));
	assert_int_equal(
		ifp_block_builder_add(builder, &(struct ifp_event){.kind = IFP_EVENT_KIND_MAX}),
		-EINVAL);
	assert_int_equal(
		ifp_block_builder_add(builder, &(struct ifp_event){.lane.kind = IFP_LANE_KIND_MAX}),
		-EINVAL);
	assert_int_equal(ifp_block_builder_count(builder), 0);
	ifp_error_clear();
}

/*
 * What the format is made for: steps of a training job, where everything but the times repeats.
 * Random bits of starts and durations alone are 2.5 bytes an event here.
 */
static void a_training_job_takes_few_bytes_an_event(void **state)
{
	static const char *const ops[] = {"aten::linear", "aten::t", "aten::addmm", "aten::copy_"};
	IFP_CLEANUP_ARENA struct ifp_arena arena = {0};
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct random random = {7};
	struct ifp_event events[8000];
	int64_t now = INT64_C(1700000000000000000);
	size_t raw_bytes = 0;

	(void)state;
	for (uint32_t i = 0; i < 8000; i++) {
		char args[256];

		snprintf(args, sizeof(args),
			"{\"External id\":%u,\"Record function id\":0,\"Concrete Inputs\":[\"\"],"
			"\"Input Dims\":[[32,%u,768],[768]],\"Ev Idx\":%u}",
			i + 4099, i % 4 * 196, i + 2);
		now += 1000 + (int64_t)random_below(&random, 1024);
		events[i] = (struct ifp_event){.source = IFP_SOURCE_KINETO,
			.clock = IFP_CLOCK_REALTIME,
			.start = now,
			.dur = 500 + (int64_t)random_below(&random, 1024),
			.lane = {.pid = 2690, .tid = 2774},
			.name = ifp_str(ops[i % 4]),
			.category = {"cpu_op", 6},
			.args = ifp_arena_copy(&arena, ifp_str(args))};
		raw_bytes += strlen(args);
	}
	encode_events(events, 8000, &payload);
	assert_true(payload.len_bytes < 8000 * 3);
	assert_true(raw_bytes > 8000 * 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events_come_back),
		cmocka_unit_test(an_event_without_anything_comes_back),
		cmocka_unit_test(no_events_are_an_empty_payload),
		cmocka_unit_test(encoding_appends),
		cmocka_unit_test(a_builder_is_full_at_its_limit_of_events),
		cmocka_unit_test(a_builder_is_full_at_its_limit_of_bytes),
		cmocka_unit_test(a_builder_is_full_at_its_limits_of_numbers),
		cmocka_unit_test(members_out_of_range_are_refused),
		cmocka_unit_test(a_training_job_takes_few_bytes_an_event),
	};

	return RUN_TESTS(tests);
}
