/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/pull.h"

#include "memory_file.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>

struct scan {
	int result;
	uint64_t repairs;
	struct ifp_buf text;
};

/* Takes the text as one value up to its end. */
static struct scan scan(const char *json, size_t len_bytes)
{
	struct memory_file file = memory_file_new();
	struct ifp_input *input = NULL;
	struct ifp_pull pull;
	struct scan scan = {0};

	memory_file_set(&file, json, len_bytes);
	assert_ok(ifp_input_open(file.path, &input));
	ifp_pull_init(&pull, input);
	scan.result = ifp_pull_value(&pull, &scan.text);
	if (!scan.result)
		scan.result = ifp_pull_end(&pull);
	scan.repairs = pull.repairs;
	ifp_input_close(&input);
	memory_file_free(&file);
	return scan;
}

static void assert_scanned(const char *json, const char *compact, uint64_t repairs)
{
	struct scan s = scan(json, strlen(json));
	struct ifp_str text = {(const char *)s.text.data, (uint32_t)s.text.len_bytes};

	if (s.result)
		fail_msg("%s: %s", json, ifp_error_cause(0));
	assert_str(text, compact);
	assert_int_equal(s.repairs, repairs);
	ifp_buf_free(&s.text);
}

static void assert_refused(const char *json, size_t offset)
{
	struct scan s = scan(json, strlen(json));
	char expected[32];

	if (!s.result)
		fail_msg("%s is accepted", json);
	snprintf(expected, sizeof(expected), "byte %zu:", offset);
	if (!strstr(ifp_error_cause(0), expected))
		fail_msg("%s: \"%s\" does not say %s", json, ifp_error_cause(0), expected);
	ifp_error_clear();
	ifp_buf_free(&s.text);
}

static void white_space_goes_and_all_else_stays(void **state)
{
	(void)state;
	assert_scanned(" { \"a b\" : [ 1 ,\t2.50 , -0.0e+1 ] ,\n\"c\":{ } , \"d\":[ ]\r} ",
		"{\"a b\":[1,2.50,-0.0e+1],\"c\":{},\"d\":[]}", 0);
	assert_scanned("[true,false,null,\"\"]", "[true,false,null,\"\"]", 0);
	assert_scanned("\"\\u00e9\\n\\\"\\/ \xc3\xa9\"", "\"\\u00e9\\n\\\"\\/ \xc3\xa9\"", 0);
	assert_scanned(
		"12345678901234567890.123456789E-10", "12345678901234567890.123456789E-10", 0);
}

static void faults_of_real_traces_are_repaired(void **state)
{
	(void)state;
	assert_scanned("\"a\nb\x01\"", "\"a\\nb\\u0001\"", 2);
	assert_scanned("\"C:\\path\\x\"", "\"C:\\\\path\\\\x\"", 2);
	assert_scanned("\"\\u12 \\u\"", "\"\\\\u12 \\\\u\"", 2);
	assert_scanned("\"\xff\xc3\"", "\"\xef\xbf\xbd\xef\xbf\xbd\"", 2);
	assert_scanned("[1 , ]", "[1]", 1);
	assert_scanned("{\"a\":[{},],}", "{\"a\":[{}]}", 2);
	assert_scanned("[NaN,-Infinity,inf,nan]", "[\"NaN\",\"-Infinity\",\"inf\",\"nan\"]", 4);
	assert_scanned(
		"{\"a\":ncclFloat32,\"b\":0x7F0a}", "{\"a\":\"ncclFloat32\",\"b\":\"0x7F0a\"}", 2);
	assert_scanned("[None,-0x1, a::b.c_0 ]", "[\"None\",\"-0x1\",\"a::b.c_0\"]", 3);
	assert_scanned("tru", "\"tru\"", 1);
	assert_scanned("-true", "\"-true\"", 1);
}

static void everything_else_is_refused_at_its_byte(void **state)
{
	(void)state;
	assert_refused("", 0);
	assert_refused("  ", 2);
	assert_refused("{", 1);
	assert_refused("{\"a\"", 4);
	assert_refused("{\"a\" 1}", 5);
	assert_refused("{\"a\":}", 5);
	assert_refused("{a:1}", 1);
	assert_refused("{\"a\":1 \"b\":2}", 7);
	assert_refused("[1,,]", 3);
	assert_refused("[,]", 1);
	assert_refused("[1 2]", 3);
	assert_refused("[1}", 2);
	assert_refused("\"abc", 4);
	assert_refused("01", 1);
	assert_refused("1.", 2);
	assert_refused(".5", 0);
	assert_refused("+1", 0);
	assert_refused("-", 1);
	assert_refused("1e", 2);
	assert_refused("1x", 1);
	assert_refused("_a-b", 2);
	assert_refused("[a\"b\"]", 2);
	assert_refused(
		"a_word_of_more_than_63_characters_is_no_name_of_any_constant_and_no_address", 63);
	assert_refused("[1] 2", 4);
	assert_refused("\x0b"
		       "1",
		0);
}

/*
 * A value that ends well before the window's end is taken another way than one that ends with it:
 * both must give the same text.
 */
static void white_space_behind_a_value_changes_nothing(void **state)
{
	static const char *const texts[] = {"{\"a b\":[1,2.50,-0.0,0,-10],\"c\":{},\"\":[]}",
		"[true,false,null,\"\"]", "\"\\n\\\"\\\\\\/\\b\\f\\r\\t\"", "\"fifteen bytes..\"",
		"\"sixteen bytes...\"", "\"seventeen bytes..\"", "\"fourteen bytes\\n\"",
		"12345678901234567890.123456789", "1e5"};
	static const char *const wrong[] = {"01", "[1.]", "[-]", "[1 2]", "{\"a\" 1}", "[x y]",
		"[1}", "{\"a\":1]", "[1,,2]", "{1:2}"};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(texts); i++) {
		char spaced[128];

		snprintf(spaced, sizeof(spaced), "%s%40s", texts[i], "");
		assert_scanned(texts[i], texts[i], 0);
		assert_scanned(spaced, texts[i], 0);
	}
	for (size_t i = 0; i < IFP_ARRAY_SIZE(wrong); i++) {
		char spaced[128];
		struct scan s;

		snprintf(spaced, sizeof(spaced), "%s%40s", wrong[i], "");
		s = scan(spaced, strlen(spaced));
		if (!s.result)
			fail_msg("%s is accepted", wrong[i]);
		ifp_error_clear();
		ifp_buf_free(&s.text);
	}
}

static void a_nul_byte_is_no_end_of_text(void **state)
{
	struct scan s = scan("[1]\0", 4);

	(void)state;
	assert_int_not_equal(s.result, 0);
	ifp_buf_free(&s.text);
	s = scan("[1,\0", 4);
	assert_int_not_equal(s.result, 0);
	ifp_buf_free(&s.text);
	ifp_error_clear();
}

/* All that is collected goes to memory: a damaged file must not fill it. */
static void text_is_limited(void **state)
{
	size_t len_bytes = (size_t)IFP_PULL_MAX_TEXT_BYTES + (1 << 20);
	char *json = malloc(len_bytes);

	(void)state;
	assert_non_null(json);
	for (const char *first = "1\""; *first; first++) {
		struct scan s;

		memset(json, '1', len_bytes);
		json[0] = *first;
		s = scan(json, len_bytes);
		assert_int_equal(s.result, -EBADMSG);
		assert_non_null(strstr(ifp_error_cause(0), "64 MiB"));
		ifp_error_clear();
		ifp_buf_free(&s.text);
	}
	free(json);
}

/* As if more than 4 GiB had been read before this text. */
static void offsets_do_not_end_at_4_gib(void **state)
{
	struct memory_file file = memory_file_new();
	struct ifp_input *input = NULL;
	struct ifp_pull pull;

	(void)state;
	memory_file_set(&file, "[1, @]", 6);
	assert_ok(ifp_input_open(file.path, &input));
	ifp_pull_init(&pull, input);
	pull.window_offset = UINT64_C(0xfffffffe);
	assert_int_equal(ifp_pull_value(&pull, NULL), -EBADMSG);
	assert_non_null(strstr(ifp_error_cause(0), "byte 4294967298: "));
	ifp_error_clear();
	ifp_input_close(&input);
	memory_file_free(&file);
}

static void nesting_is_limited(void **state)
{
	char json[2 * (IFP_PULL_MAX_DEPTH + 1) + 1] = {0};
	struct scan s;

	(void)state;
	memset(json, '[', IFP_PULL_MAX_DEPTH);
	memset(json + IFP_PULL_MAX_DEPTH, ']', IFP_PULL_MAX_DEPTH);
	s = scan(json, strlen(json));
	assert_ok(s.result);
	ifp_buf_free(&s.text);

	memset(json, '[', IFP_PULL_MAX_DEPTH + 1);
	memset(json + IFP_PULL_MAX_DEPTH + 1, ']', IFP_PULL_MAX_DEPTH + 1);
	assert_refused(json, IFP_PULL_MAX_DEPTH);
}

/* The window of the input is 64 KiB: a text of many lengths around it meets every boundary. */
static void tokens_may_lie_across_the_end_of_the_window(void **state)
{
	static const char tail[] = "\xe2\x82\xac\\u00e9\\n\",-12.5e3,true,{\"k\":null}]";
	static char json[70000];

	(void)state;
	for (size_t pad = 65536 - sizeof(tail) - 2; pad < 65536; pad++) {
		size_t len;
		struct scan s;

		json[0] = '[';
		json[1] = '"';
		memset(json + 2, 'x', pad - 2);
		memcpy(json + pad, tail, sizeof(tail));
		len = pad + sizeof(tail) - 1;
		s = scan(json, len);
		assert_ok(s.result);
		assert_int_equal(s.text.len_bytes, len);
		assert_memory_equal(s.text.data, json, len);
		ifp_buf_free(&s.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(white_space_goes_and_all_else_stays),
		cmocka_unit_test(faults_of_real_traces_are_repaired),
		cmocka_unit_test(everything_else_is_refused_at_its_byte),
		cmocka_unit_test(white_space_behind_a_value_changes_nothing),
		cmocka_unit_test(a_nul_byte_is_no_end_of_text),
		cmocka_unit_test(text_is_limited),
		cmocka_unit_test(offsets_do_not_end_at_4_gib),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(tokens_may_lie_across_the_end_of_the_window),
	};

	return RUN_TESTS(tests);
}
