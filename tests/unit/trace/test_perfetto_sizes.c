/* SPDX-License-Identifier: Apache-2.0 */
/* What packets take at most, against what the writer makes of them. */
#include "trace/perfetto/sizes.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "core/intern.h"
#include "test.h"
#include "trace/perfetto/annotations.h"

/* A number of a text or a sequence may take 4 bytes, and a length one more for it. */
#define SLACK_BYTES 6u

static struct ifp_perfetto_writer *open_writer(void)
{
	struct ifp_perfetto_writer *writer;

	assert_ok(ifp_perfetto_open("/dev/null", INT64_MAX, &writer));
	return writer;
}

static void count_key(void *context, struct ifp_str name)
{
	(void)name;
	++*(unsigned int *)context;
}

static void args_take_what_is_told(void **state)
{
	static const char *const objects[] = {
		"",
		"{}",
		"{\"a\":1}",
		"{\"a\":9,\"b\":99,\"c\":127,\"d\":128,\"e\":999}",
		"{\"n\":-1,\"m\":-9223372036854775808,\"o\":-9223372036854775809}",
		"{\"n\":999999999999999999,\"m\":9223372036854775807,\"o\":18446744073709551615}",
		"{\"n\":18446744073709551616,\"m\":1234567890123456789012345678901234567890}",
		"{\"f\":0.5,\"g\":1e300,\"h\":1e999,\"i\":-0.0,\"j\":1E5}",
		"{\"t\":true,\"f\":false,\"n\":null,\"w\":NaN,\"x\":1x,\"tt\":truer}",
		"{\"s\":\"\",\"t\":\"text\",\"u\":\"a \\\"b\\\" \\u00e4\\ud83d\\ude00\"}",
		"{\"e\":{},\"l\":[],\"n\":{\"a\":{\"b\":[1,[2,{\"c\":3}]]}},\"m\":[[0.5],\"x\"]}",
		"{\"by category\":{\"cpu_op\":{\"events\":200,\"busy_us\":12.345}}}",
		"{\"d\":[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]}",
		"{\"long\":"
		"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}",
		"{\"\":[\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\","
		"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"]}",
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(objects); i++) {
		IFP_CLEANUP_INTERN struct ifp_intern names = {0};
		IFP_CLEANUP_BUF struct ifp_buf coded = {0};
		unsigned int keys = 0;
		uint64_t told = ifp_perfetto_args_bytes(ifp_str(objects[i]), count_key, &keys);

		ifp_perfetto_annotate(&coded, &names, ifp_str(objects[i]));
		assert_true(told >= coded.len_bytes);
		assert_true(keys >= names.count);
		if (i < 4)
			assert_true(told <= coded.len_bytes + keys * SLACK_BYTES);
	}
}

static uint64_t event_bytes(struct ifp_perfetto_writer *writer, struct ifp_perfetto_event event)
{
	uint64_t before = ifp_perfetto_bytes(writer);

	ifp_perfetto_event(writer, &event);
	return ifp_perfetto_bytes(writer) - before;
}

static void events_take_what_is_told(void **state)
{
	static const uint8_t args[300] = {0};
	static const int64_t times[] = {-5, 0, 100, INT64_C(1) << 40, INT64_MAX};
	IFP_CLEANUP(ifp_perfetto_abandon) struct ifp_perfetto_writer *writer = open_writer();
	const uint64_t flows[] = {1, UINT64_MAX, 3};
	uint64_t taken, told;

	(void)state;
	ifp_perfetto_sequence(writer);
	assert_true(event_bytes(writer, (struct ifp_perfetto_event){.at_ns = -10}) <
		    IFP_PERFETTO_SEQUENCE_BYTES + 40);
	for (size_t i = 0; i < IFP_ARRAY_SIZE(times); i++)
		for (uint64_t track = 1; track < UINT64_C(1) << 50; track <<= 7)
			for (size_t k = 0; k <= sizeof(args); k += 100) {
				struct ifp_perfetto_event event = {.type = IFP_PERFETTO_BEGIN,
					.track = track,
					.at_ns = times[i],
					.name = 3,
					.category = 2,
					.args = args,
					.args_bytes = k};

				told = ifp_perfetto_event_bytes(&event);
				taken = event_bytes(writer, event);
				assert_true(taken <= told + (i == 1 ? IFP_PERFETTO_TIME_BYTES : 0));
				event.flows = flows;
				event.flow_count = 3;
				taken = event_bytes(writer, event);
				assert_true(taken <= told + 3 * IFP_PERFETTO_FLOW_BYTES);
			}
}

static void values_and_ends_of_arrows_take_what_is_told(void **state)
{
	static const char *const values[] = {"0", "-1", "9223372036854775807", "0.001"};
	IFP_CLEANUP(ifp_perfetto_abandon) struct ifp_perfetto_writer *writer = open_writer();
	struct ifp_perfetto_arrow_end end = {
		.track = 9999999, .id = (UINT64_C(1) << 53) - 1, .name = 5, .category = 6};
	uint64_t before;

	(void)state;
	ifp_perfetto_sequence(writer);
	event_bytes(writer, (struct ifp_perfetto_event){.at_ns = 50});
	for (size_t i = 0; i < IFP_ARRAY_SIZE(values); i++) {
		before = ifp_perfetto_bytes(writer);
		ifp_perfetto_counter(writer, UINT64_MAX, 50, ifp_str(values[i]));
		assert_true(ifp_perfetto_bytes(writer) - before <=
			    ifp_perfetto_counter_bytes(UINT64_MAX, 50));
	}
	for (int64_t at_ns = 60; at_ns >= -20; at_ns -= 40) { /* back in time, too */
		end.at_ns = at_ns;
		before = ifp_perfetto_bytes(writer);
		ifp_perfetto_arrow_end(writer, &end);
		assert_true(
			ifp_perfetto_bytes(writer) - before <= ifp_perfetto_arrow_end_bytes(&end));
	}
}

static void tracks_and_texts_take_what_is_told(void **state)
{
	IFP_CLEANUP(ifp_perfetto_abandon) struct ifp_perfetto_writer *writer = open_writer();
	char text[400];

	(void)state;
	assert_true(ifp_perfetto_bytes(writer) <= IFP_PERFETTO_HEAD_BYTES);
	memset(text, 'x', sizeof(text));
	for (uint32_t length = 0; length <= sizeof(text); length += 50) {
		struct ifp_perfetto_track track = {.uuid = UINT64_MAX,
			.parent = UINT64_MAX,
			.name = {text, length},
			.order = UINT32_MAX >> 4,
			.pid = INT32_MAX};
		uint64_t before = ifp_perfetto_bytes(writer), event;

		ifp_perfetto_track(writer, &track);
		assert_true(
			ifp_perfetto_bytes(writer) - before <= ifp_perfetto_track_bytes(&track));
		track.pid = 0;
		track.counter = true;
		before = ifp_perfetto_bytes(writer);
		ifp_perfetto_track(writer, &track);
		assert_true(
			ifp_perfetto_bytes(writer) - before <= ifp_perfetto_track_bytes(&track));
		ifp_perfetto_sequence(writer);
		event_bytes(writer, (struct ifp_perfetto_event){.at_ns = 1});
		event = event_bytes(writer, (struct ifp_perfetto_event){.at_ns = 1});
		if (!length)
			continue;
		ifp_perfetto_name(writer, track.name);
		assert_true(event_bytes(writer, (struct ifp_perfetto_event){.at_ns = 1}) <=
			    event + ifp_perfetto_text_bytes(length));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(args_take_what_is_told),
		cmocka_unit_test(events_take_what_is_told),
		cmocka_unit_test(values_and_ends_of_arrows_take_what_is_told),
		cmocka_unit_test(tracks_and_texts_take_what_is_told),
	};

	return RUN_TESTS(tests);
}
