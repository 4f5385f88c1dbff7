/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/protobuf/encode.h"

#include "test.h"

#include <stdlib.h>

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__})
#define assert_bytes(buf, expected)                                                                \
	do {                                                                                       \
		assert_ok(ifp_buf_status(&(buf)));                                                 \
		assert_int_equal((buf).len_bytes, sizeof(expected));                               \
		assert_memory_equal((buf).data, expected, sizeof(expected));                       \
	} while (0)

static void numbers_are_varints_behind_field_and_wire_type(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	(void)state;
	ifp_protobuf_uint(&buf, 1, 150); /* the example of protobuf's own documentation */
	ifp_protobuf_uint(&buf, 15, 0);
	ifp_protobuf_uint(&buf, 16, 127); /* from here on the field takes two bytes */
	ifp_protobuf_uint(&buf, 2047, 128);
	ifp_protobuf_uint(&buf, 2048, 1);
	assert_bytes(buf, BYTES(0x08, 0x96, 0x01, 0x78, 0x00, 0x80, 0x01, 0x7f, 0xf8, 0x7f, 0x80,
				  0x01, 0x80, 0x80, 0x01, 0x01));
}

static void the_largest_field_and_numbers(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	(void)state;
	ifp_protobuf_uint(&buf, (1u << 29) - 1, UINT64_MAX);
	assert_bytes(buf, BYTES(0xf8, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				  0xff, 0xff, 0xff, 0x01));
}

static void negative_numbers_take_ten_bytes(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	(void)state;
	ifp_protobuf_int(&buf, 2, -2);
	ifp_protobuf_int(&buf, 2, INT64_MIN);
	assert_bytes(
		buf, BYTES(0x10, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x10,
			     0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01));
}

static void fixed_numbers_and_doubles_are_little_endian(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	(void)state;
	ifp_protobuf_fixed64(&buf, 47, UINT64_C(0x0102030405060708));
	ifp_protobuf_double(&buf, 2, 1.5);
	assert_bytes(
		buf, BYTES(0xf9, 0x02, 8, 7, 6, 5, 4, 3, 2, 1, 0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f));
}

static void texts_have_their_length(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	(void)state;
	ifp_protobuf_text(&buf, 2, ifp_str("testing")); /* of the documentation, too */
	ifp_protobuf_text(&buf, 3, ifp_str(NULL));
	assert_bytes(buf, BYTES(0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g', 0x1a, 0x00));
}

static void texts_of_json_lose_their_escapes(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	(void)state;
	ifp_protobuf_text_json(&buf, 1, ifp_str("a\\n\\u00b5"));
	ifp_protobuf_text_json(&buf, 1, ifp_str("mm"));
	ifp_protobuf_text_json(&buf, 1, ifp_str("\\ud83d"));
	ifp_protobuf_text_json(&buf, 1, ifp_str(""));
	assert_bytes(buf, BYTES(0x0a, 4, 'a', '\n', 0xc2, 0xb5, 0x0a, 2, 'm', 'm', 0x0a, 3, 0xef,
				  0xbf, 0xbd, 0x0a, 0));
}

static void messages_nest(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_protobuf_message outer, inner;

	(void)state;
	outer = ifp_protobuf_begin(&buf, 3);
	ifp_protobuf_uint(&buf, 1, 150);
	inner = ifp_protobuf_begin(&buf, 4);
	ifp_protobuf_end(&buf, inner);
	inner = ifp_protobuf_begin(&buf, 16);
	ifp_protobuf_uint(&buf, 1, 1);
	ifp_protobuf_end(&buf, inner);
	ifp_protobuf_end(&buf, outer);
	ifp_protobuf_uint(&buf, 1, 2);
	assert_bytes(buf, BYTES(0x1a, 0x0a, 0x08, 0x96, 0x01, 0x22, 0x00, 0x82, 0x01, 0x02, 0x08,
				  0x01, 0x08, 0x02));
}

/* The content of a message of each length around those where the length's own length changes. */
static void assert_moved(size_t len_bytes)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_protobuf_message outer = ifp_protobuf_begin(&buf, 1);
	struct ifp_protobuf_message inner = ifp_protobuf_begin(&buf, 2);
	struct ifp_cursor in;
	const uint8_t *content;
	size_t inner_bytes;

	for (size_t i = 0; i < len_bytes; i++)
		ifp_buf_append_u8(&buf, (uint8_t)(i * 7 + i / 256));
	ifp_protobuf_end(&buf, inner);
	ifp_protobuf_uint(&buf, 3, 4);
	inner_bytes = buf.len_bytes - outer.content;
	ifp_protobuf_end(&buf, outer);
	ifp_protobuf_uint(&buf, 5, 6);
	assert_ok(ifp_buf_status(&buf));

	in = ifp_cursor(buf.data, buf.len_bytes);
	assert_int_equal(ifp_cursor_u8(&in), 0x0a);
	assert_int_equal(ifp_cursor_varint(&in), inner_bytes);
	assert_int_equal(ifp_cursor_u8(&in), 0x12);
	assert_int_equal(ifp_cursor_varint(&in), len_bytes);
	content = ifp_cursor_bytes(&in, len_bytes);
	for (size_t i = 0; i < len_bytes; i++)
		assert_int_equal(content[i], (uint8_t)(i * 7 + i / 256));
	assert_int_equal(ifp_cursor_u8(&in), 0x18);
	assert_int_equal(ifp_cursor_u8(&in), 4);
	assert_int_equal(ifp_cursor_u8(&in), 0x28);
	assert_int_equal(ifp_cursor_u8(&in), 6);
	assert_int_equal(in.position_bytes, buf.len_bytes);
	assert_false(in.failed);
}

static void long_messages_make_room_for_their_length(void **state)
{
	const size_t edges[] = {0, 1 << 7, 1 << 14, 1 << 21};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(edges); i++)
		for (size_t near = 0; near < 12; near++)
			if (edges[i] + near >= 8)
				assert_moved(edges[i] + near - 8);
}

static void lengths_of_varints(void **state)
{
	(void)state;
	assert_int_equal(ifp_protobuf_varint_bytes(0), 1);
	for (unsigned int bit = 0; bit < 64; bit++) {
		IFP_CLEANUP_BUF struct ifp_buf buf = {0};
		uint64_t value = UINT64_C(1) << bit;

		ifp_buf_append_varint(&buf, value);
		assert_int_equal(ifp_protobuf_varint_bytes(value), buf.len_bytes);
		ifp_buf_clear(&buf);
		ifp_buf_append_varint(&buf, value - 1);
		assert_int_equal(ifp_protobuf_varint_bytes(value - 1), buf.len_bytes);
	}
}

static void lack_of_memory_is_told_once(void **state)
{
	struct ifp_buf buf = {.failed = true};
	struct ifp_protobuf_message message;

	(void)state;
	message = ifp_protobuf_begin(&buf, 1);
	ifp_protobuf_text_json(&buf, 1, ifp_str("\\n"));
	ifp_protobuf_end(&buf, message);
	assert_int_equal(buf.len_bytes, 0);
	assert_true(ifp_buf_status(&buf) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_varints_behind_field_and_wire_type),
		cmocka_unit_test(the_largest_field_and_numbers),
		cmocka_unit_test(negative_numbers_take_ten_bytes),
		cmocka_unit_test(fixed_numbers_and_doubles_are_little_endian),
		cmocka_unit_test(texts_have_their_length),
		cmocka_unit_test(texts_of_json_lose_their_escapes),
		cmocka_unit_test(messages_nest),
		cmocka_unit_test(long_messages_make_room_for_their_length),
		cmocka_unit_test(lengths_of_varints),
		cmocka_unit_test(lack_of_memory_is_told_once),
	};

	return RUN_TESTS(tests);
}
