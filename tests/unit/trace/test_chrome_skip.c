/* SPDX-License-Identifier: Apache-2.0 */
/* A value is passed over to where it ends, wherever in a block of bytes its brackets stand. */
#include "trace/chrome/skip.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "memory_file.h"
#include "test.h"

#include <errno.h>

#define BLOCK 64
#define LONG_TEXT "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct text {
	struct memory_file file;
	struct ifp_input *input;
	struct ifp_pull pull;
};

/* The value, with some blanks before and any text behind. */
static void open_value(struct text *text, int blanks, const char *value, const char *behind)
{
	IFP_CLEANUP_BUF struct ifp_buf bytes = {0};

	ifp_buf_printf(&bytes, "%*s%s%s", blanks, "", value, behind);
	text->file = memory_file_new();
	memory_file_set(&text->file, bytes.data, bytes.len_bytes);
	assert_ok(ifp_input_open(text->file.path, &text->input));
	ifp_pull_init(&text->pull, text->input);
}

static void close_value(struct text *text)
{
	ifp_input_close(&text->input);
	memory_file_free(&text->file);
}

static const char *const values[] = {
	"[]",
	"{}",
	"12.5",
	"\"a]}\"",
	"[[[[[[[[[[]]]]]]]]]]",
	"[{\"a\":[1,{\"b\":[]}]},{\"c\":{}}]",
	"{\"]\":\"}\",\"[\":\"{\"}",
	"[\"\\\"]\",\"\\\\\",\"\\\\\\\"]\"]",
	"[\"" LONG_TEXT "]\\" LONG_TEXT "\"]",
	"[\"" LONG_TEXT LONG_TEXT LONG_TEXT "\",{\"" LONG_TEXT "\":[" LONG_TEXT "]}]",
	"[{\"name\":\"a\"}                                                               , {}  ]",
};

static void a_value_ends_where_its_brackets_close(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(values); i++) {
		for (int blanks = 0; blanks <= 2 * BLOCK; blanks++) {
			struct text text;

			open_value(&text, blanks, values[i], " ,[{\"x\":\"" LONG_TEXT LONG_TEXT);
			assert_ok(ifp_pull_skip(&text.pull));
			if (ifp_pull_offset(&text.pull) != (uint64_t)blanks + strlen(values[i]))
				fail_msg("%s behind %d blanks ends at %d", values[i], blanks,
					(int)ifp_pull_offset(&text.pull));
			close_value(&text);
		}
	}
}

/* Larger than the window of the input, with quotes and brackets everywhere. */
static void a_value_may_be_larger_than_the_window(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf value = {0};
	struct text text;

	(void)state;
	ifp_buf_append_text(&value, "[");
	while (value.len_bytes < 300000)
		ifp_buf_append_text(&value, "{\"a\\\\\":\"}]\\\"\",\"b\":[[1],{}]},");
	ifp_buf_append_text(&value, "7]");
	ifp_buf_append_u8(&value, 0);
	open_value(&text, 1, (const char *)value.data, "]]]");
	assert_ok(ifp_pull_skip(&text.pull));
	assert_int_equal(ifp_pull_offset(&text.pull), value.len_bytes);
	close_value(&text);
}

static void a_value_that_does_not_end_is_refused(void **state)
{
	static const char *const open[] = {"[1", "{\"a\":[]", "[\"a]", "[\"a\\\"]"};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(open); i++) {
		struct text text;

		open_value(&text, 0, open[i], "");
		assert_int_equal(ifp_pull_skip(&text.pull), -EBADMSG);
		ifp_error_clear();
		close_value(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_ends_where_its_brackets_close),
		cmocka_unit_test(a_value_may_be_larger_than_the_window),
		cmocka_unit_test(a_value_that_does_not_end_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
