/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/reader.h"

#include "chrome_fixture.h"
#include "core/cleanup.h"

#include <stdlib.h>

static void a_slice_has_all_its_members(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f,
		"{\"baseTimeNanoseconds\": 1000000, \"traceEvents\": [ " OP
		"\"ts\": 1.250, \"dur\": 0.5, \"args\": {\"External id\": 5, \"s\": \"a b\"} } ]}");
	next_event(&f);
	assert_int_equal(f.event.kind, IFP_EVENT_SLICE);
	assert_int_equal(f.event.source, IFP_SOURCE_KINETO);
	assert_int_equal(f.event.clock, IFP_CLOCK_REALTIME);
	assert_int_equal(f.event.start, 1001250);
	assert_int_equal(f.event.dur, 500);
	assert_int_equal(f.event.lane.kind, IFP_LANE_THREAD);
	assert_int_equal(f.event.lane.pid, 7);
	assert_int_equal(f.event.lane.tid, 8);
	assert_str(f.event.name, "aten::mm");
	assert_str(f.event.category, "cpu_op");
	assert_str(f.event.args, "{\"External id\":5,\"s\":\"a b\"}");
	assert_str(f.event.extra, "");
	no_more_events(&f);
	close_all(&f);
}

static void base_behind_the_events_counts_for_all_of_them(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f,
		"{\"traceEvents\":[" OP "\"ts\":-0.001,\"dur\":1}],\"traceName\":\"x\","
		"\"baseTimeNanoseconds\":1790857026000000000,\"distributedInfo\":{\"rank\": 3},"
		"\"deviceProperties\": [ ]}");
	next_event(&f);
	assert_true(f.event.start == INT64_C(1790857025999999999));
	no_more_events(&f);
	assert_true(
		ifp_chrome_reader_header(f.reader).base_time_ns == INT64_C(1790857026000000000));
	assert_str(ifp_chrome_reader_header(f.reader).distributed_info, "{\"rank\":3}");
	assert_str(ifp_chrome_reader_header(f.reader).device_properties, "[]");
	assert_str(ifp_chrome_reader_header(f.reader).others, "{\"traceName\":\"x\"}");
	close_all(&f);
}

static void without_a_base_times_are_the_epochs(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f, "{\"traceEvents\":[" OP "\"ts\":1669783687352244,\"dur\":17}]}");
	next_event(&f);
	assert_true(f.event.start == INT64_C(1669783687352244000));
	no_more_events(&f);
	assert_int_equal(ifp_chrome_reader_header(f.reader).base_time_ns, 0);
	close_all(&f);
}

static void the_array_form_may_end_without_its_bracket(void **state)
{
	static const char *const texts[] = {"[" OP "\"ts\":1,\"dur\":1}]",
		"[" OP "\"ts\":1,\"dur\":1}", "[" OP "\"ts\":1,\"dur\":1},\n",
		"\xef\xbb\xbf[" OP "\"ts\":1,\"dur\":1}]\n"};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(texts); i++) {
		struct fixture f;

		open_text(&f, texts[i]);
		next_event(&f);
		assert_int_equal(f.event.start, 1000);
		no_more_events(&f);
		close_all(&f);
	}
}

static void gpu_work_is_on_the_lane_of_its_stream(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f, "{\"traceEvents\":["
		      "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":7,\"ts\":"
		      "1,\"dur\":1,"
		      "\"args\":{\"device\":1,\"stream\":7,\"correlation\":99}},"
		      "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"a\",\"pid\":1,"
		      "\"tid\":7,\"ts\":1,"
		      "\"dur\":1,\"args\":{\"External id\":3}},"
		      "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
		      "\"pid\":4,\"tid\":5,"
		      "\"ts\":1,\"dur\":1,\"args\":{\"cbid\":211,\"correlation\":99}}]}");
	next_event(&f);
	assert_int_equal(f.event.lane.kind, IFP_LANE_STREAM);
	assert_int_equal(f.event.lane.pid, 1);
	assert_int_equal(f.event.lane.tid, 7);
	assert_int_equal(f.event.correlation, 99);
	next_event(&f);
	assert_int_equal(f.event.lane.kind, IFP_LANE_STREAM);
	assert_int_equal(f.event.correlation, 0);
	next_event(&f);
	assert_int_equal(f.event.lane.kind, IFP_LANE_THREAD);
	assert_int_equal(f.event.correlation, 99);
	no_more_events(&f);
	close_all(&f);
}

/* A trace may name the lane otherwise: the stream counts, and the lane's name is kept. */
static void a_stream_keeps_what_its_lane_is_called(void **state)
{
	struct fixture f;
	uint64_t kernel;

	(void)state;
	open_text(&f, "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\","
		      "\"pid\":1000,\"tid\":-3,\"ts\":1,\"dur\":1,\"args\":{\"device\":1,"
		      "\"stream\":7,\"correlation\":18446744073709551616}},"
		      "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"l\",\"pid\":1,"
		      "\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"correlation\":"
		      "18446744073709551616}},"
		      "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"l\",\"pid\":1,"
		      "\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"correlation\":-1}}]}");
	next_event(&f);
	assert_int_equal(f.event.lane.kind, IFP_LANE_STREAM);
	assert_int_equal(f.event.lane.pid, 1);
	assert_int_equal(f.event.lane.tid, 7);
	assert_str(f.event.lane.pid_text, "1000");
	assert_str(f.event.lane.tid_text, "-3");
	kernel = f.event.correlation;
	assert_true(kernel != 0);
	next_event(&f);
	assert_true(f.event.correlation == kernel);
	next_event(&f);
	assert_true(f.event.correlation == 0);
	no_more_events(&f);
	close_all(&f);
}

static void lanes_with_texts_keep_them_as_they_stand(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f,
		"{\"traceEvents\":["
		"{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"n\",\"pid\":\"Spans\",\"tid\":\"P\","
		"\"ts\":1,\"dur\":1},"
		"{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window "
		"End\",\"pid\":\"\",\"tid\":\"\",\"ts\":2},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1.5,\"args\":{\"name\":\"x\"}}]}");
	next_event(&f);
	assert_int_equal(f.event.lane.kind, IFP_LANE_OTHER);
	assert_str(f.event.lane.pid_text, "\"Spans\"");
	assert_str(f.event.lane.tid_text, "\"P\"");
	next_event(&f);
	assert_int_equal(f.event.kind, IFP_EVENT_INSTANT);
	assert_str(f.event.lane.pid_text, "\"\"");
	assert_str(f.event.extra, "{\"s\":\"g\"}");
	next_event(&f);
	assert_int_equal(f.event.kind, IFP_EVENT_META);
	assert_int_equal(f.event.start, 0);
	assert_str(f.event.lane.pid_text, "1.5");
	no_more_events(&f);
	close_all(&f);
}

static void flows_have_their_id_as_correlation(void **state)
{
	struct fixture f;
	uint64_t hash;

	(void)state;
	open_text(&f, "{\"traceEvents\":["
		      "{\"ph\":\"s\",\"id\":5,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":1,\"tid\":"
		      "1,\"ts\":1},"
		      "{\"ph\":\"f\",\"bp\":\"e\",\"id\":5,\"name\":\"ac2g\",\"pid\":1,\"tid\":1,"
		      "\"ts\":2},"
		      "{\"ph\":\"s\",\"id\":\"0xf\",\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":1},"
		      "{\"ph\":\"f\",\"id\":\"0xf\",\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":1},"
		      "{\"ph\":\"b\",\"id\":9,\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":1}]}");
	next_event(&f);
	assert_int_equal(f.event.kind, IFP_EVENT_FLOW_START);
	assert_int_equal(f.event.correlation, 5);
	next_event(&f);
	assert_int_equal(f.event.kind, IFP_EVENT_FLOW_END);
	assert_int_equal(f.event.correlation, 5);
	assert_str(f.event.extra, "{\"bp\":\"e\"}");
	next_event(&f);
	hash = f.event.correlation;
	assert_true(hash != 0);
	assert_str(f.event.extra, "{\"id\":\"0xf\"}");
	next_event(&f);
	assert_true(f.event.correlation == hash);
	next_event(&f);
	assert_int_equal(f.event.kind, IFP_EVENT_ASYNC_BEGIN);
	assert_str(f.event.extra, "{\"id\":9}");
	close_all(&f);
}

static void what_is_no_event_is_set_aside_and_counted(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f, "{\"traceEvents\":[1,null,[],{},"
		      "{\"ph\":\"X\",\"ts\":1,\"dur\":1},"
		      "{\"name\":\"no phase\",\"ts\":1,\"dur\":1},"
		      "{\"ph\":\"X\",\"name\":\"text for a time\",\"ts\":\"1\",\"dur\":1},"
		      "{\"ph\":\"X\",\"name\":\"too late\",\"ts\":1e18,\"dur\":1},"
		      "{\"ph\":\"X\",\"name\":\"too early\",\"ts\":-1e18,\"dur\":1},"
		      "{\"ph\":\"X\",\"name\":\"ends too late\",\"ts\":9e15,\"dur\":9e15},"
		      "{\"ph\":\"X\",\"name\":\"ends too early\",\"ts\":-9e15,\"dur\":-9e15},"
		      "{\"ph\":\"X\",\"name\":\"text for a length\",\"ts\":1,\"dur\":\"1\"},"
		      "{\"ph\":\"i\",\"name\":\"no time\"},"
		      "{\"ph\":\"X\",\"name\":\"odd lane\",\"pid\":{},\"ts\":1,\"dur\":1},"
		      "{\"ph\":\"E\",\"ts\":1},"
		      "{\"ph\":\"X\",\"name\":\"no dur\",\"ts\":1},"
		      "{\"ph\":\"Z\",\"name\":\"new phase\",\"cat\":5,\"args\":[1, 2],\"ts\":1}]}");
	next_event(&f);
	assert_int_equal(f.event.kind, IFP_EVENT_END);
	next_event(&f);
	assert_str(f.event.name, "no dur");
	next_event(&f);
	assert_int_equal(f.event.kind, IFP_EVENT_OTHER);
	assert_str(f.event.extra, "{\"args\":[1,2],\"ph\":\"Z\",\"cat\":5}");
	no_more_events(&f);
	assert_int_equal(ifp_chrome_reader_counts(f.reader).events, 3);
	assert_int_equal(ifp_chrome_reader_counts(f.reader).set_aside, 14);
	assert_int_equal(ifp_chrome_reader_counts(f.reader).empty, 1); /* the fourth */
	assert_int_equal(ifp_chrome_reader_counts(f.reader).repaired, 1);
	close_all(&f);
}

static void a_raw_control_character_is_repaired_and_counted(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f, "{\"traceEvents\":[" OP "\"ts\":1,\"dur\":1,\"args\":{\"a\":\"x\ny\"}}]}");
	next_event(&f);
	assert_str(f.event.args, "{\"a\":\"x\\ny\"}");
	no_more_events(&f);
	assert_int_equal(ifp_chrome_reader_counts(f.reader).repaired, 1);
	close_all(&f);
}

static void a_comma_behind_the_last_is_repaired_and_counted(void **state)
{
	static const char *const texts[] = {
		"{\"traceEvents\":[" OP "\"ts\":1,\"dur\":1},]}",
		"{\"traceEvents\":[" OP "\"ts\":1,\"dur\":1}],}",
		"{\"traceEvents\":[" OP "\"ts\":1,\"dur\":1,}]}",
		"{\"traceEvents\":[" OP "\"args\":{\"a\":[1,],},\"ts\":1,\"dur\":1}]}",
		"{\"a\":[1,],\"traceEvents\":[" OP "\"ts\":1,\"dur\":1}]}",
		"[" OP "\"ts\":1,\"dur\":1},]",
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(texts); i++) {
		struct fixture f;

		open_text(&f, texts[i]);
		next_event(&f);
		assert_int_equal(f.event.start, 1000);
		no_more_events(&f);
		assert_int_equal(ifp_chrome_reader_counts(f.reader).repaired, 1);
		close_all(&f);
	}
}

static void events_before_the_damage_are_given(void **state)
{
	static const char json[] =
		"{\"traceEvents\":[" OP "\"ts\":1,\"dur\":1}," OP "\"ts\":2,\"du";
	struct fixture f;

	(void)state;
	open_text(&f, json);
	next_event(&f);
	assert_int_equal(f.event.start, 1000);
	damaged_at(&f, "byte 160: the text ends");
	damaged_at(&f, "damaged"); /* and stays so */
	close_all(&f);
	assert_int_equal(strlen(json), 160);
}

static void a_text_that_is_no_trace_is_refused(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f, "{\"a\":1}");
	damaged_at(&f, "there is no array traceEvents");
	close_all(&f);
	open_text(&f, "");
	damaged_at(&f, "byte 0: the text ends");
	close_all(&f);
	open_text(&f, "\x7f"
		      "ELF");
	damaged_at(&f, "byte 0: 0x7f");
	close_all(&f);
	assert_int_equal(ifp_chrome_reader_open("/nonexistent/trace.json", &f.reader), -ENOENT);
	ifp_error_clear();
}

/* Members around the events are kept until the end: a damaged file must not fill the memory. */
static void a_header_is_limited(void **state)
{
	static const char member[] = "\"a\":\"";
	const size_t value_bytes = 40u << 20, member_bytes = strlen(member) + value_bytes + 2;
	char *json = malloc(1 + 2 * member_bytes);
	struct fixture f = {0};

	(void)state;
	assert_non_null(json);
	memset(json, 'x', 1 + 2 * member_bytes);
	json[0] = '{';
	for (char *at = json + 1; at < json + 2 * member_bytes; at += member_bytes) {
		memcpy(at, member, strlen(member));
		memcpy(at + member_bytes - 2, "\",", 2);
	}
	open_bytes(&f, json, 1 + 2 * member_bytes);
	damaged_at(&f, "the limit is 64 MiB");
	close_all(&f);
	free(json);
}

struct sample {
	const char *name;
	uint64_t events;
	int64_t base_ns;
};

/* Counts of the samples as Python's json module finds them. */
static void the_samples_are_read_whole(void **state)
{
	static const struct sample samples[] = {
		{"ddp.rank0.json.gz", 393, INT64_C(1790857026000000000)},
		{"ddp.rank1.json.gz", 393, INT64_C(1790857026000000000)},
		{"ondemand.rank0.json.gz", 461, INT64_C(1790857026000000000)},
		{"ondemand.rank1.json.gz", 468, INT64_C(1790857026000000000)},
		{"ondemand-cpu.json.gz", 182, INT64_C(1790857026000000000)},
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(samples); i++) {
		struct ifp_chrome_reader *reader = NULL;
		struct ifp_event event;
		char path[512];
		int more;

		snprintf(path, sizeof(path), TEST_DATA_DIR "/kineto/%s", samples[i].name);
		assert_ok(ifp_chrome_reader_open(path, &reader));
		while ((more = ifp_chrome_reader_next(reader, &event)) > 0)
			;
		assert_ok(more);
		assert_int_equal(ifp_chrome_reader_counts(reader).events, samples[i].events);
		assert_int_equal(ifp_chrome_reader_counts(reader).set_aside, 0);
		assert_int_equal(ifp_chrome_reader_counts(reader).repaired, 0);
		assert_true(ifp_chrome_reader_header(reader).base_time_ns == samples[i].base_ns);
		ifp_chrome_reader_close(&reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slice_has_all_its_members),
		cmocka_unit_test(base_behind_the_events_counts_for_all_of_them),
		cmocka_unit_test(without_a_base_times_are_the_epochs),
		cmocka_unit_test(the_array_form_may_end_without_its_bracket),
		cmocka_unit_test(gpu_work_is_on_the_lane_of_its_stream),
		cmocka_unit_test(a_stream_keeps_what_its_lane_is_called),
		cmocka_unit_test(lanes_with_texts_keep_them_as_they_stand),
		cmocka_unit_test(flows_have_their_id_as_correlation),
		cmocka_unit_test(what_is_no_event_is_set_aside_and_counted),
		cmocka_unit_test(a_raw_control_character_is_repaired_and_counted),
		cmocka_unit_test(a_comma_behind_the_last_is_repaired_and_counted),
		cmocka_unit_test(events_before_the_damage_are_given),
		cmocka_unit_test(a_text_that_is_no_trace_is_refused),
		cmocka_unit_test(a_header_is_limited),
		cmocka_unit_test(the_samples_are_read_whole),
	};

	return RUN_TESTS(tests);
}
