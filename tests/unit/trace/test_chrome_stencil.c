/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An element is the same event wherever it stands: alone, and behind others that look alike, where
 * a stencil may give it. The tables say which ones a stencil must give, so that they are tested.
 */
#include "trace/chrome/reader.h"

#include "block_events.h"
#include "chrome_fixture.h"
#include "core/buf.h"
#include "trace/archive/block.h"

#include <stdarg.h>
#include <stdio.h>

/* Elements, and places in them where the table puts something. */
#define SLICE(pid, ts, dur, args)                                                                  \
	"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": " pid               \
	", \"tid\": 8,\n  \"ts\": " ts ", \"dur\": " dur ",\n  \"args\": {" args "}}"
#define KERNEL(pid, tid, args)                                                                     \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm<64, 3>\", \"pid\": " pid            \
	", \"tid\": " tid ", \"ts\": 5, \"dur\": 1, \"args\": {" args "}}"
#define ARGS "\"External id\": 5, \"Input Dims\": [[32, 7], []]"
#define PLAIN SLICE("7", "12.250", "3.5", ARGS)
#define FLOW(id)                                                                                   \
	"{\"ph\":\"f\",\"id\":" id ",\"pid\":1,\"tid\":2,\"ts\":9,\"name\":\"ac2g\",\"bp\":\"e\"}"
#define OTHER(text) "{\"ph\": \"i\", \"name\": \"n\", \"ts\": 1, " text "}"

struct pair {
	const char *first, *later;
	bool fits;
};

static const struct pair pairs[] = {
	/* numbers of every kind and length */
	{PLAIN, PLAIN, true},
	{PLAIN, SLICE("81234567", "1.5", "0", ARGS), true},
	{PLAIN, SLICE("123456789012345678", "5225933572736.993", "100000.001", ARGS), true},
	{PLAIN, SLICE("1", "1682725898236567", "9", ARGS), true},
	{PLAIN, SLICE("0", "0", "0.001", ARGS), true},
	{PLAIN, SLICE("7", "1", "2", "\"External id\": 0, \"Input Dims\": [[1, 99999999], []]"),
		true},
	{PLAIN,
		SLICE("7", "1", "2",
			"\"External id\": 999999999999999999, \"Input Dims\": [[12345678, "
			"123456789], []]"),
		true},
	/* what a stencil must leave to the scanner */
	{PLAIN, SLICE("1234567890123456789", "1", "2", ARGS), false},
	{PLAIN, SLICE("12345678901234567890", "1", "2", ARGS), false},
	{PLAIN, SLICE("-7", "1", "2", ARGS), false},
	{PLAIN, SLICE("\"7\"", "1", "2", ARGS), false},
	{PLAIN, SLICE("7", "-1", "2", ARGS), false},
	{PLAIN, SLICE("7", "1", "-2", ARGS), false},
	{PLAIN, SLICE("7", "1e3", "2", ARGS), false},
	{PLAIN, SLICE("7", "1.0005", "2", ARGS), false},
	{PLAIN, SLICE("7", "9223372036854775", "999999999999999", ARGS), false},
	{PLAIN, SLICE("7", "92233720368547758070", "2", ARGS), false},
	{PLAIN, SLICE("7", "1", "2", "\"External id\": 5.5, \"Input Dims\": [[32, 7], []]"), false},
	{PLAIN, SLICE("7", "1", "2", "\"External id\": 5, \"Input Dims\": [[32], []]"), false},
	{PLAIN, SLICE("7", "1", "2", "\"External ID\": 5, \"Input Dims\": [[32, 7], []]"), false},
	/* what is no JSON is none behind an element that looks alike either */
	{PLAIN, SLICE("07", "1", "2", ARGS), false},
	{PLAIN, SLICE("7", "01", "2", ARGS), false},
	{PLAIN, SLICE("7", "1.", "2", ARGS), false},
	{PLAIN, SLICE("7", "1..5", "2", ARGS), false},
	{PLAIN, SLICE("", "1", "2", ARGS), false},
	{PLAIN, SLICE("7", "1", "2", "\"External id\": 05, \"Input Dims\": [[32, 7], []]"), false},
	{PLAIN, SLICE("7", "1", "2", "\"External id\": 5, \"Input Dims\": [[32, 7], []"), false},
	{PLAIN, SLICE("7 8", "1", "2", ARGS), false},
	/* fractions and exponents: zeros that lead belong to the look */
	{SLICE("7", "1", "2", "\"f\": 0.25"), SLICE("7", "1", "2", "\"f\": 12.5"), true},
	{SLICE("7", "1", "2", "\"f\": 0.25"), SLICE("7", "1", "2", "\"f\": 0.025"), false},
	{SLICE("7", "1", "2", "\"f\": 0.025"), SLICE("7", "1", "2", "\"f\": 1.01"), true},
	{SLICE("7", "1", "2", "\"f\": 1.00"), SLICE("7", "1", "2", "\"f\": 1.07"), true},
	{SLICE("7", "1", "2", "\"f\": 1.00"), SLICE("7", "1", "2", "\"f\": 1.007"), false},
	{SLICE("7", "1", "2", "\"f\": -1e-5"), SLICE("7", "1", "2", "\"f\": -22e-13"), true},
	{SLICE("7", "1", "2", "\"f\": 1234567890123456789"),
		SLICE("7", "1", "2", "\"f\": 1234567890123456789"), true},
	{SLICE("7", "1", "2", "\"f\": 1234567890123456789"),
		SLICE("7", "1", "2", "\"f\": 1234567890123456780"), false},
	/* digits in strings: of args they may change, of names and beside escapes not */
	{SLICE("7", "1", "2", "\"s\": \"[768, 1]\""), SLICE("7", "1", "2", "\"s\": \"[5, 600]\""),
		true},
	{SLICE("7", "1", "2", "\"s\": \"a1\\\"\""), SLICE("7", "1", "2", "\"s\": \"a2\\\"\""),
		false},
	{SLICE("7", "1", "2", "\"s\": \"\\u0041 1\""), SLICE("7", "1", "2", "\"s\": \"\\u0042 1\""),
		false},
	{SLICE("7", "1", "2", "\"s\": \"\\u0041 1\""), SLICE("7", "1", "2", "\"s\": \"\\u0041 1\""),
		true},
	{SLICE("7", "1", "2", "\"k1\": 1"), SLICE("7", "1", "2", "\"k2\": 1"), false},
	{SLICE("7", "1", "2", "\"s\": \"\xc3\xa9 1\""),
		SLICE("7", "1", "2", "\"s\": \"\xc3\xa9 22\""), true},
	{SLICE("7", "1", "2", "\"s\": \"a 1\""), SLICE("7", "1", "2", "\"s\": \"\xff 1\""), false},
	/* streams: device and stream place the event, and their texts are kept where they differ */
	{KERNEL("0", "7", "\"device\": 0, \"stream\": 7, \"correlation\": 11"),
		KERNEL("1", "20", "\"device\": 1, \"stream\": 20, \"correlation\": 12"), true},
	{KERNEL("0", "7", "\"device\": 0, \"stream\": 7"),
		KERNEL("3", "7", "\"device\": 0, \"stream\": 7"), false},
	{KERNEL("0", "7", "\"device\": 0, \"stream\": 7"),
		KERNEL("0", "8", "\"device\": 0, \"stream\": 7"), false},
	{KERNEL("3", "7", "\"device\": 0, \"stream\": 7"),
		KERNEL("3", "7", "\"device\": 0, \"stream\": 7"), true},
	{KERNEL("3", "7", "\"device\": 0, \"stream\": 7"),
		KERNEL("0", "7", "\"device\": 0, \"stream\": 7"), false},
	{KERNEL("0", "7", "\"device\": 0, \"stream\": -1"),
		KERNEL("0", "9", "\"device\": 0, \"stream\": -1"), true},
	{KERNEL("0", "7", "\"device\": 0, \"stream\": -1"),
		KERNEL("0", "9", "\"device\": 0, \"stream\": 1"), false},
	/* numbers in quotes, as PyTorch 1.8 wrote them, are part of the look */
	{SLICE("\"7\"", "1", "2", ARGS), SLICE("\"7\"", "3", "4", ARGS), true},
	{SLICE("\"7\"", "1", "2", ARGS), SLICE("\"8\"", "3", "4", ARGS), false},
	{KERNEL("0", "\"stream 7\"", "\"device\": 0, \"stream\": 7, \"correlation\": 1"),
		KERNEL("0", "\"stream 7\"", "\"device\": 0, \"stream\": 7, \"correlation\": 2"),
		true},
	{KERNEL("0", "\"stream 7\"", "\"device\": 0, \"stream\": 7"),
		KERNEL("0", "\"stream 8\"", "\"device\": 0, \"stream\": 7"), false},
	{KERNEL("0", "\"stream 7\"", "\"device\": 0, \"stream\": 7"),
		KERNEL("0", "\"stream 7\"", "\"device\": 0, \"stream\": 8"), false},
	{KERNEL("0", "\"stream 7\"", "\"device\": 0, \"stream\": 7"),
		KERNEL("1", "\"stream 7\"", "\"device\": 1, \"stream\": 7"), true},
	/* correlations that are no numbers stand for their hash */
	{KERNEL("0", "7", "\"correlation\": \"a1\""), KERNEL("0", "7", "\"correlation\": \"a2\""),
		false},
	{KERNEL("0", "7", "\"correlation\": 1.5"), KERNEL("0", "7", "\"correlation\": 2.5"), false},
	{KERNEL("0", "7", "\"correlation\": [1]"), KERNEL("0", "7", "\"correlation\": [2]"), true},
	{KERNEL("0", "7", "\"correlation\": -1"), KERNEL("0", "7", "\"correlation\": -2"), false},
	{FLOW("1"), FLOW("40"), true},
	{FLOW("-1"), FLOW("-1"), true},
	{FLOW("-1"), FLOW("-2"), false},
	{FLOW("\"0x1\""), FLOW("\"0x2\""), false},
	/* members without a field are kept as they are */
	{OTHER("\"s\": \"t\""), OTHER("\"s\": \"t\""), true},
	{OTHER("\"s\": \"t1\""), OTHER("\"s\": \"t2\""), false},
	{OTHER("\"n\": 1"), OTHER("\"n\": 2"), false},
	{OTHER("\"dur\": 1"), OTHER("\"dur\": 2"), false},
	{OTHER("\"id\": 1"), OTHER("\"id\": 2"), false},
	{OTHER("\"args\": [1]"), OTHER("\"args\": [2]"), false},
	{OTHER("\"tts\": {\"ts\": 1}"), OTHER("\"tts\": {\"ts\": 1}"), true},
	/* of two members with a name the last one counts */
	{OTHER("\"pid\": 1, \"pid\": 2"), OTHER("\"pid\": 3, \"pid\": 4"), false},
	{"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"python 3\"}}",
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":{\"name\":\"python "
		"4\"}}",
		true},
	/* a slice without a duration is counted as repaired each time */
	{"{\"ph\":\"X\",\"name\":\"n\",\"ts\":1}", "{\"ph\":\"X\",\"name\":\"n\",\"ts\":1}", false},
};

/* Stencils look no nearer to the end of what has been read than an element may be long. */
__attribute__((format(printf, 2, 3))) static void open_padded(
	struct fixture *f, const char *format, ...)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	char elements[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(elements, sizeof(elements), format, arguments);
	va_end(arguments);
	ifp_buf_printf(&text, "[%s ]%4096s", elements, "");
	open_bytes(f, text.data, text.len_bytes);
}

/* Whether the last of three elements is given with a look, as a stencil's events are. */
static bool third_is_fitted(const struct pair *pair)
{
	struct ifp_args_split args = {0};
	struct fixture f;
	int more = 1;

	open_padded(&f, "%s, %s ,%s", pair->first, pair->first, pair->later);
	for (int i = 0; i < 3 && more > 0; i++)
		more = ifp_chrome_reader_next_split(f.reader, &f.event, &args);
	ifp_error_clear();
	close_all(&f);
	return more > 0 && args.look;
}

/* Alone, and behind two that look alike: the same event, or refused in the same way. */
static void assert_same_in_company(const struct pair *pair)
{
	struct fixture alone, company;
	int wanted, got;

	open_padded(&alone, "%s", pair->later);
	open_padded(&company, "%s, %s ,%s", pair->first, pair->first, pair->later);
	next_event(&company);
	next_event(&company);
	do {
		wanted = ifp_chrome_reader_next(alone.reader, &alone.event);
		got = ifp_chrome_reader_next(company.reader, &company.event);
		if (wanted != got)
			fail_msg("%s: %d alone, %d behind %s", pair->later, wanted, got,
				pair->first);
		if (got > 0)
			assert_events_equal(&company.event, &alone.event);
	} while (got > 0);
	ifp_error_clear();
	close_all(&alone);
	close_all(&company);
}

static void elements_are_the_same_in_company(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(pairs); i++) {
		assert_same_in_company(&pairs[i]);
		if (third_is_fitted(&pairs[i]) != pairs[i].fits)
			fail_msg("%s %s the stencil of %s", pairs[i].later,
				pairs[i].fits ? "does not fit" : "fits", pairs[i].first);
	}
}

/* Slices that change in all their numbers, some of them across the end of what is read at once. */
static void numbers_go_where_they_belong(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	const int count = 5000;
	struct fixture f;

	(void)state;
	ifp_buf_append_text(&text, "{\"baseTimeNanoseconds\": 1000000, \"traceEvents\": [");
	for (int i = 0; i < count; i++)
		ifp_buf_printf(&text,
			"%s{\"ph\": \"X\", \"name\": \"gemm\", \"cat\": \"kernel\", \"pid\": %d, "
			"\"tid\": %d, \"ts\": %d.%03d, \"dur\": %d, \"args\": {\"device\": %d, "
			"\"stream\": %d, \"correlation\": %d, \"grid\": [%d, %d, 1]}}",
			i ? ", " : "", i % 8, 7 * i, i, i % 1000, 3 * i, i % 8, 7 * i, 11 * i,
			13 * i, i);
	ifp_buf_append_text(&text, "]}");
	open_bytes(&f, text.data, text.len_bytes);
	for (int i = 0; i < count; i++) {
		char args[128];

		snprintf(args, sizeof(args),
			"{\"device\":%d,\"stream\":%d,\"correlation\":%d,\"grid\":[%d,%d,1]}",
			i % 8, 7 * i, 11 * i, 13 * i, i);
		next_event(&f);
		assert_int_equal(f.event.lane.kind, IFP_LANE_STREAM);
		assert_int_equal(f.event.lane.pid, i % 8);
		assert_int_equal(f.event.lane.tid, 7 * i);
		assert_int_equal(f.event.start, 1000000 + 1000 * i + i % 1000);
		assert_int_equal(f.event.dur, 3000 * i);
		assert_int_equal(f.event.correlation, 11 * i);
		assert_true(ifp_str_is(f.event.args, args));
	}
	no_more_events(&f);
	close_all(&f);
}

/* More looks than are kept at a time, each of them often enough to be worth keeping. */
static void many_looks_are_kept_apart(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	const int looks = 5000, times = 6;
	struct fixture f;

	(void)state;
	ifp_buf_append_text(&text, "[");
	for (int i = 0; i < looks * times; i++)
		ifp_buf_printf(&text, "%s{\"ph\":\"i\",\"name\":\"look %d\",\"ts\":%d}",
			i ? "," : "", i / times, i);
	ifp_buf_append_text(&text, "]");
	open_bytes(&f, text.data, text.len_bytes);
	for (int i = 0; i < looks * times; i++) {
		char name[32];

		snprintf(name, sizeof(name), "look %d", i / times);
		next_event(&f);
		assert_true(ifp_str_is(f.event.name, name));
		assert_int_equal(f.event.start, 1000 * i);
	}
	no_more_events(&f);
	close_all(&f);
}

/* Adds all events of a sample, split or as text, and encodes them. */
static void encode_sample(const char *name, bool split, struct ifp_buf *payload)
{
	IFP_CLEANUP(ifp_chrome_reader_close) struct ifp_chrome_reader *reader = NULL;
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	uint64_t fitted = 0;
	char path[512];

	snprintf(path, sizeof(path), "%s/kineto/%s", TEST_DATA_DIR, name);
	assert_ok(ifp_chrome_reader_open(path, &reader));
	assert_ok(ifp_block_builder_new(&builder));
	for (;;) {
		struct ifp_args_split args = {0};
		struct ifp_event event;
		int more = split ? ifp_chrome_reader_next_split(reader, &event, &args)
				 : ifp_chrome_reader_next(reader, &event);

		if (more <= 0)
			break;
		fitted += args.look != 0;
		assert_ok(ifp_block_builder_add_split(builder, &event, &args));
	}
	assert_int_equal(fitted > 100, split);
	assert_ok(ifp_block_builder_encode(builder, payload));
}

static void a_block_is_the_same_from_split_args(void **state)
{
	static const char *const names[] = {"ddp.rank0.json.gz", "ondemand.rank0.json.gz"};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(names); i++) {
		IFP_CLEANUP_BUF struct ifp_buf split = {0}, text = {0};

		encode_sample(names[i], true, &split);
		encode_sample(names[i], false, &text);
		assert_int_equal(split.len_bytes, text.len_bytes);
		assert_memory_equal(split.data, text.data, text.len_bytes);
	}
}

/* Two files at a time in one block: stencils of one must not be taken for those of the other. */
static void files_have_looks_of_their_own(void **state)
{
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	static const char *const names[] = {"one", "two"};
	struct fixture files[2];
	struct ifp_block block;

	(void)state;
	for (int i = 0; i < 2; i++)
		open_padded(&files[i],
			"{\"ph\":\"i\",\"name\":\"%s\",\"ts\":1},{\"ph\":\"i\",\"name\":\"%s\","
			"\"ts\":2},{\"ph\":\"i\",\"name\":\"%s\",\"ts\":3}",
			names[i], names[i], names[i]);
	assert_ok(ifp_block_builder_new(&builder));
	for (int i = 0; i < 6; i++) {
		struct ifp_args_split args;
		struct fixture *f = &files[i % 2];

		assert_int_equal(ifp_chrome_reader_next_split(f->reader, &f->event, &args), 1);
		assert_int_equal(args.look != 0, i >= 2);
		assert_ok(ifp_block_builder_add_split(builder, &f->event, &args));
	}
	assert_ok(ifp_block_builder_encode(builder, &payload));
	assert_ok(ifp_block_decode(payload.data, payload.len_bytes, &block));
	for (uint32_t i = 0; i < 6; i++) {
		assert_str(block.events[i].name, names[i % 2]);
		assert_int_equal(block.events[i].start, 1000 * (1 + i / 2));
	}
	ifp_block_free(&block);
	close_all(&files[0]);
	close_all(&files[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_are_the_same_in_company),
		cmocka_unit_test(numbers_go_where_they_belong),
		cmocka_unit_test(many_looks_are_kept_apart),
		cmocka_unit_test(a_block_is_the_same_from_split_args),
		cmocka_unit_test(files_have_looks_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
