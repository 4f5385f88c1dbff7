/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/escape.h"

#include "test.h"

static struct ifp_str text_of(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

static void assert_escaped(const char *plain, const char *escaped)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	ifp_json_escape(&buf, ifp_str(plain));
	assert_str(text_of(&buf), escaped);
}

static void assert_unescaped(const char *escaped, const char *plain)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	ifp_json_unescape(&buf, ifp_str(escaped));
	assert_str(text_of(&buf), plain);
}

static void escapes_what_json_asks_for_and_nothing_else(void **state)
{
	(void)state;
	assert_escaped("", "");
	assert_escaped("aten::mm", "aten::mm");
	assert_escaped("a\"b\\c/d", "a\\\"b\\\\c/d");
	assert_escaped("\b\f\n\r\t\x01\x1f\x7f", "\\b\\f\\n\\r\\t\\u0001\\u001f\x7f");
	assert_escaped(
		"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

#define FFFD "\xef\xbf\xbd"

static void bytes_that_are_no_utf8_become_the_replacement_character(void **state)
{
	(void)state;
	assert_escaped("a\xff"
		       "b",
		"a" FFFD "b");
	assert_escaped("\xc0\x80", FFFD FFFD);			 /* NUL in two bytes */
	assert_escaped("\xed\xa0\x80", FFFD FFFD FFFD);		 /* a surrogate */
	assert_escaped("\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD); /* beyond U+10FFFF */
	assert_escaped("\xe2\x82", FFFD FFFD);			 /* cut off */
}

static void unescape_resolves_every_escape(void **state)
{
	(void)state;
	assert_unescaped("a\\\"b\\\\c\\/d", "a\"b\\c/d");
	assert_unescaped("\\b\\f\\n\\r\\t", "\b\f\n\r\t");
	assert_unescaped("\\u00e9\\u20AC", "\xc3\xa9\xe2\x82\xac");
	assert_unescaped("\\ud83d\\ude00", "\xf0\x9f\x98\x80");
}

static void unescape_keeps_what_is_no_escape(void **state)
{
	(void)state;
	assert_unescaped("\\q\\", "\\q\\");
	assert_unescaped("\\u12", "\\u12");
	assert_unescaped("\\ud83d!", FFFD "!");
	assert_unescaped("\\ud83d\\u0041", FFFD "A");
}

static void every_byte_comes_back(void **state)
{
	char plain[127];
	IFP_CLEANUP_BUF struct ifp_buf escaped = {0};
	IFP_CLEANUP_BUF struct ifp_buf back = {0};

	(void)state;
	for (int i = 0; i < 127; i++)
		plain[i] = (char)(i + 1);
	ifp_json_escape(&escaped, (struct ifp_str){plain, sizeof(plain)});
	ifp_json_unescape(&back, text_of(&escaped));
	assert_int_equal(back.len_bytes, sizeof(plain));
	assert_memory_equal(back.data, plain, sizeof(plain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_what_json_asks_for_and_nothing_else),
		cmocka_unit_test(bytes_that_are_no_utf8_become_the_replacement_character),
		cmocka_unit_test(unescape_resolves_every_escape),
		cmocka_unit_test(unescape_keeps_what_is_no_escape),
		cmocka_unit_test(every_byte_comes_back),
	};

	return RUN_TESTS(tests);
}
