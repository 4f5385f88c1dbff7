/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader against cJSON, which builds whole trees: both must find the same in the samples, and
 * on thousands of damaged texts the reader must not take what is no JSON, nor refuse what is.
 */
#include "trace/chrome/reader.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "memory_file.h"
#include "test.h"
#include "trace/chrome/escape.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <zlib.h>

#define MUTATIONS 6000

static const char *const samples[] = {"ddp.rank0.json.gz", "ddp.rank1.json.gz",
	"ondemand.rank0.json.gz", "ondemand.rank1.json.gz", "ondemand-cpu.json.gz"};

static void load(const char *name, struct ifp_buf *text)
{
	uint8_t bytes[65536];
	char path[512];
	gzFile file;
	int got;

	snprintf(path, sizeof(path), TEST_DATA_DIR "/kineto/%s", name);
	file = gzopen(path, "rb");
	assert_non_null(file);
	while ((got = gzread(file, bytes, sizeof(bytes))) > 0)
		ifp_buf_append(text, bytes, (size_t)got);
	assert_int_equal(gzclose(file), Z_OK);
	assert_ok(ifp_buf_status(text));
}

/* The plain text must be what cJSON holds. */
static void assert_same_text(struct ifp_str escaped, const cJSON *item)
{
	IFP_CLEANUP_BUF struct ifp_buf plain = {0};

	if (!item) {
		assert_int_equal(escaped.len_bytes, 0);
		return;
	}
	ifp_json_unescape(&plain, escaped);
	ifp_buf_append_u8(&plain, 0);
	assert_string_equal((const char *)plain.data, item->valuestring);
}

static void assert_same_args(struct ifp_str args, const cJSON *item)
{
	cJSON *parsed;

	if (!item) {
		assert_int_equal(args.len_bytes, 0);
		return;
	}
	parsed = cJSON_ParseWithLength(args.ptr, args.len_bytes);
	assert_non_null(parsed);
	assert_true(cJSON_Compare(parsed, item, true));
	cJSON_Delete(parsed);
}

/* cJSON has doubles only: equal within their step at this size, half a microsecond. */
static void assert_same_time(int64_t ns, const cJSON *us)
{
	assert_non_null(us);
	assert_true(fabs((double)ns / 1000.0 - us->valuedouble) < 0.5);
}

static void assert_same_event(const struct ifp_event *event, const cJSON *item, int64_t base_ns)
{
	assert_same_text(event->name, cJSON_GetObjectItemCaseSensitive(item, "name"));
	assert_same_text(event->category, cJSON_GetObjectItemCaseSensitive(item, "cat"));
	assert_same_args(event->args, cJSON_GetObjectItemCaseSensitive(item, "args"));
	assert_same_time(event->start - base_ns, cJSON_GetObjectItemCaseSensitive(item, "ts"));
	if (event->kind == IFP_EVENT_SLICE)
		assert_same_time(event->dur, cJSON_GetObjectItemCaseSensitive(item, "dur"));
}

static void both_find_the_same_events_in_the_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(samples); i++) {
		IFP_CLEANUP_BUF struct ifp_buf text = {0};
		struct memory_file file = memory_file_new();
		struct ifp_chrome_reader *reader = NULL;
		struct ifp_event event;
		cJSON *tree, *item;
		int64_t base_ns;

		load(samples[i], &text);
		memory_file_set(&file, text.data, text.len_bytes);
		tree = cJSON_ParseWithLength((const char *)text.data, text.len_bytes);
		assert_non_null(tree);
		base_ns = (int64_t)cJSON_GetObjectItem(tree, "baseTimeNanoseconds")->valuedouble;
		assert_ok(ifp_chrome_reader_open(file.path, &reader));
		cJSON_ArrayForEach(item, cJSON_GetObjectItem(tree, "traceEvents"))
		{
			assert_int_equal(ifp_chrome_reader_next(reader, &event), 1);
			assert_same_event(&event, item, base_ns);
		}
		assert_ok(ifp_chrome_reader_next(reader, &event));
		cJSON_Delete(tree);
		ifp_chrome_reader_close(&reader);
		memory_file_free(&file);
	}
}

/* xorshift64: the same texts on every machine. */
static uint64_t random_below(uint64_t *seed, uint64_t limit)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % limit;
}

/* One to three small damages; bytes are mostly those that mean something in JSON. */
static size_t mutate(char *text, size_t len, uint64_t *seed)
{
	static const char bytes[] = "{}[]\",:\\0123456789.eE+-ntu \n\x01\xc3\xff/";
	uint64_t count = 1 + random_below(seed, 3);

	for (uint64_t i = 0; i < count && len > 1; i++) {
		size_t at = (size_t)random_below(seed, len);

		switch (random_below(seed, 4)) {
		case 0:
			text[at] = bytes[random_below(seed, sizeof(bytes) - 1)];
			break;
		case 1:
			memmove(text + at, text + at + 1, len - at - 1);
			len--;
			break;
		case 2:
			memmove(text + at + 1, text + at, len - at);
			text[at] = bytes[random_below(seed, sizeof(bytes) - 1)];
			len++;
			break;
		default:
			len = random_below(seed, 20) ? len : at + 1;
			break;
		}
	}
	return len;
}

struct outcome {
	bool accepted;
	struct ifp_chrome_counts counts;
};

static struct outcome read_all(const struct memory_file *file, const char *text, size_t len)
{
	struct ifp_chrome_reader *reader = NULL;
	struct ifp_event event;
	struct outcome outcome;
	int more;

	memory_file_set(file, text, len);
	assert_ok(ifp_chrome_reader_open(file->path, &reader));
	while ((more = ifp_chrome_reader_next(reader, &event)) > 0)
		;
	outcome = (struct outcome){!more, ifp_chrome_reader_counts(reader)};
	if (more)
		assert_true(ifp_error_depth() > 0);
	ifp_error_clear();
	ifp_chrome_reader_close(&reader);
	return outcome;
}

static bool is_trace(const cJSON *tree)
{
	return cJSON_IsArray(tree) ||
	       cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(tree, "traceEvents"));
}

/*
 * cJSON is laxer than the standard (numbers such as 01, control characters), so a text that it
 * takes and the reader refuses is printed again by cJSON, now certainly JSON: that must be taken.
 */
static void check_mutation(
	const struct memory_file *file, const char *text, size_t len, uint64_t *accepted)
{
	struct outcome outcome = read_all(file, text, len);
	const char *end = NULL;
	cJSON *tree = cJSON_ParseWithLengthOpts(text, len, &end, false);

	if (outcome.accepted && !outcome.counts.repaired && *text == '{') {
		const cJSON *events;

		*accepted += 1;
		if (!tree)
			fail_msg("only the reader takes %.*s", (int)len, text);
		events = cJSON_GetObjectItemCaseSensitive(tree, "traceEvents");
		assert_int_equal(outcome.counts.events + outcome.counts.set_aside,
			cJSON_GetArraySize(events));
	} else if (!outcome.accepted && tree && is_trace(tree)) {
		char *printed = cJSON_PrintUnformatted(tree);

		if (!read_all(file, printed, strlen(printed)).accepted)
			fail_msg("the reader refuses %s", printed);
		cJSON_free(printed);
	}
	cJSON_Delete(tree);
}

static void damaged_texts_are_judged_alike(void **state)
{
	static const char original[] =
		"{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\","
		"\"name\":\"aten::\\u00e9mm\",\"pid\":1,\"tid\":2,\"ts\":12.5e1,\"dur\":0.250,"
		"\"args\":{\"dims\":[[8,16],[-1]],\"x\":null,\"t\":true}},\n{\"ph\":\"M\","
		"\"name\":\"process_name\",\"pid\":\"Spans\",\"args\":{\"name\":\"p\"}}],"
		"\"baseTimeNanoseconds\":1790857026000000000}";
	struct memory_file file = memory_file_new();
	uint64_t seed = 0x9e3779b97f4a7c15;
	uint64_t accepted = 0;

	(void)state;
	for (int i = 0; i < MUTATIONS; i++) {
		char text[sizeof(original) + 8];
		size_t len = sizeof(original) - 1;

		memcpy(text, original, sizeof(original));
		len = mutate(text, len, &seed);
		check_mutation(&file, text, len, &accepted);
	}
	/* Both kinds of outcome must have been met often, or this has tested nothing. */
	assert_in_range(accepted, MUTATIONS / 10, MUTATIONS - MUTATIONS / 10);
	memory_file_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_find_the_same_events_in_the_samples),
		cmocka_unit_test(damaged_texts_are_judged_alike),
	};

	return RUN_TESTS(tests);
}
