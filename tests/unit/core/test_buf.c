/* SPDX-License-Identifier: Apache-2.0 */
#include "core/buf.h"
#include "core/decimal.h"

#include "test.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * Values whose varints have every length from 1 to 10 bytes, and the extremes of the zigzag form.
 */
static void varints_come_back(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_cursor cursor;

	(void)state;
	for (unsigned int bit = 0; bit < 64; bit++)
		ifp_buf_append_varint(&buf, UINT64_C(1) << bit);
	ifp_buf_append_svarint(&buf, INT64_MIN);
	ifp_buf_append_svarint(&buf, INT64_MAX);
	ifp_buf_append_svarint(&buf, -1);
	assert_ok(ifp_buf_status(&buf));

	cursor = ifp_cursor(buf.data, buf.len_bytes);
	for (unsigned int bit = 0; bit < 64; bit++)
		assert_int_equal(ifp_cursor_varint(&cursor), UINT64_C(1) << bit);
	assert_int_equal(ifp_cursor_svarint(&cursor), INT64_MIN);
	assert_int_equal(ifp_cursor_svarint(&cursor), INT64_MAX);
	assert_int_equal(ifp_cursor_svarint(&cursor), -1);
	assert_false(cursor.failed);
	assert_int_equal(cursor.position_bytes, buf.len_bytes);
}

static void reading_past_the_end_fails_and_stays_failed(void **state)
{
	const uint8_t bytes[] = {0x80, 0x80};
	struct ifp_cursor cursor = ifp_cursor(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(ifp_cursor_varint(&cursor), 0);
	assert_true(cursor.failed);
	assert_int_equal(ifp_cursor_u8(&cursor), 0);
	assert_true(cursor.failed);
}

static void varint_longer_than_ten_bytes_is_refused(void **state)
{
	uint8_t bytes[11] = {0};
	struct ifp_cursor cursor = ifp_cursor(bytes, sizeof(bytes));

	(void)state;
	memset(bytes, 0x80, sizeof(bytes));
	ifp_cursor_varint(&cursor);
	assert_true(cursor.failed);
}

static void assert_word(const char *text, const char *expected)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	ifp_buf_append_shell_word(&buf, text);
	ifp_buf_append_u8(&buf, 0);
	assert_ok(ifp_buf_status(&buf));
	assert_string_equal((const char *)buf.data, expected);
}

static void assert_decimal(uint64_t value)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	char expected[32], padded[32];
	int len = snprintf(expected, sizeof(expected), "%" PRIu64, value);

	assert_int_equal(ifp_decimal_digits(value), len);
	ifp_buf_append_unsigned(&buf, value, 1);
	assert_int_equal(buf.len_bytes, len);
	assert_memory_equal(buf.data, expected, (size_t)len);
	ifp_buf_clear(&buf);
	ifp_buf_append_unsigned(&buf, value, 20);
	snprintf(padded, sizeof(padded), "%020" PRIu64, value);
	assert_int_equal(buf.len_bytes, 20);
	assert_memory_equal(buf.data, padded, 20);
}

/* Numbers around every power of two and of ten. */
static void numbers_are_written_as_printf_does(void **state)
{
	(void)state;
	for (unsigned int bit = 0; bit < 64; bit++)
		for (uint64_t near = 0; near < 3; near++)
			assert_decimal((UINT64_C(1) << bit) - 1 + near);
	for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10)
		for (uint64_t near = 0; near < 3; near++)
			assert_decimal(10 * power - 1 + near);
	assert_decimal(UINT64_MAX);
}

static void words_of_a_shell_are_quoted_where_they_have_to_be(void **state)
{
	(void)state;
	assert_word("/home/me/infprof-out/train-20261201", "/home/me/infprof-out/train-20261201");
	assert_word("", "''");
	assert_word("my runs/$a", "'my runs/$a'");
	assert_word("it's", "'it'\\''s'");
	assert_word("a\\b", "'a\\b'");
	assert_word("two\nlines it's \\ \x1b", "$'two\\012lines it\\'s \\\\ \\033'");
	assert_word("\xc3\xa9", "'\xc3\xa9'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints_come_back),
		cmocka_unit_test(reading_past_the_end_fails_and_stays_failed),
		cmocka_unit_test(numbers_are_written_as_printf_does),
		cmocka_unit_test(words_of_a_shell_are_quoted_where_they_have_to_be),
		cmocka_unit_test(varint_longer_than_ten_bytes_is_refused),
	};

	return RUN_TESTS(tests);
}
