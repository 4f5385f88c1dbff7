/* SPDX-License-Identifier: Apache-2.0 */
#include "core/buf.h"

#include "core/decimal.h"
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_CAPACITY_BYTES 256
#define VARINT_MAX_BYTES 10

void ifp_buf_grow(struct ifp_buf *buf, size_t more_bytes)
{
	size_t capacity = buf->capacity_bytes ? buf->capacity_bytes : FIRST_CAPACITY_BYTES;
	uint8_t *data;

	if (buf->failed)
		return;
	while (capacity - buf->len_bytes < more_bytes) {
		if (capacity > SIZE_MAX / 2) {
			buf->failed = true;
			return;
		}
		capacity *= 2;
	}
	data = realloc(buf->data, capacity);
	if (!data) {
		buf->failed = true;
		return;
	}
	buf->data = data;
	buf->capacity_bytes = capacity;
}

static void append_le(struct ifp_buf *buf, uint64_t value, size_t len_bytes)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < len_bytes; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	ifp_buf_append(buf, bytes, len_bytes);
}

void ifp_buf_append_u32(struct ifp_buf *buf, uint32_t value)
{
	append_le(buf, value, 4);
}

void ifp_buf_append_u64(struct ifp_buf *buf, uint64_t value)
{
	append_le(buf, value, 8);
}

void ifp_buf_append_varint(struct ifp_buf *buf, uint64_t value)
{
	uint8_t *out;

	ifp_buf_reserve(buf, VARINT_MAX_BYTES);
	if (buf->failed)
		return;
	out = buf->data + buf->len_bytes;
	while (value >= 0x80) {
		*out++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*out++ = (uint8_t)value;
	buf->len_bytes = (size_t)(out - buf->data);
}

void ifp_buf_append_svarint(struct ifp_buf *buf, int64_t value)
{
	ifp_buf_append_varint(buf, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

void ifp_buf_append_unsigned(struct ifp_buf *buf, uint64_t value, unsigned int min_digits)
{
	unsigned int digits = ifp_decimal_digits(value);

	if (digits < min_digits)
		digits = min_digits;
	ifp_buf_reserve(buf, digits);
	if (buf->failed)
		return;
	ifp_decimal_write((char *)buf->data + buf->len_bytes, value, digits);
	buf->len_bytes += digits;
}

void ifp_buf_printf(struct ifp_buf *buf, const char *format, ...)
{
	va_list args;
	int needed;

	va_start(args, format);
	needed = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (needed < 0) {
		buf->failed = true;
		return;
	}
	ifp_buf_reserve(buf, (size_t)needed + 1);
	if (buf->failed)
		return;
	va_start(args, format);
	vsnprintf((char *)buf->data + buf->len_bytes, (size_t)needed + 1, format, args);
	va_end(args);
	buf->len_bytes += (size_t)needed;
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static bool has_control(const char *text)
{
	while (*text && !is_control(*text))
		text++;
	return *text;
}

void ifp_buf_append_shell_word(struct ifp_buf *buf, const char *text)
{
	static const char harmless[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789_@%+=:,./-";
	bool escapes = has_control(text);

	if (*text && !text[strspn(text, harmless)]) {
		ifp_buf_append_text(buf, text);
		return;
	}
	ifp_buf_append_text(buf, escapes ? "$'" : "'");
	for (; *text; text++) {
		if (is_control(*text))
			ifp_buf_printf(buf, "\\%03o", (unsigned int)*text);
		else if (*text == '\'')
			ifp_buf_append_text(buf, escapes ? "\\'" : "'\\''");
		else if (*text == '\\' && escapes)
			ifp_buf_append_text(buf, "\\\\");
		else
			ifp_buf_append_u8(buf, (uint8_t)*text);
	}
	ifp_buf_append_u8(buf, '\'');
}

void ifp_buf_clear(struct ifp_buf *buf)
{
	buf->len_bytes = 0;
	buf->failed = false;
}

int ifp_buf_status(const struct ifp_buf *buf)
{
	return buf->failed ? ifp_fail(-ENOMEM, "out of memory after %zu bytes of a buffer",
				     buf->len_bytes)
			   : 0;
}

void ifp_buf_free(struct ifp_buf *buf)
{
	free(buf->data);
	*buf = (struct ifp_buf){0};
}

const uint8_t *ifp_cursor_bytes(struct ifp_cursor *cursor, size_t len_bytes)
{
	const uint8_t *bytes;

	if (cursor->failed || cursor->len_bytes - cursor->position_bytes < len_bytes) {
		cursor->failed = true;
		return NULL;
	}
	bytes = cursor->data + cursor->position_bytes;
	cursor->position_bytes += len_bytes;
	return bytes;
}

static uint64_t read_le(struct ifp_cursor *cursor, size_t len_bytes)
{
	const uint8_t *bytes = ifp_cursor_bytes(cursor, len_bytes);
	uint64_t value = 0;

	for (size_t i = 0; bytes && i < len_bytes; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

uint8_t ifp_cursor_u8(struct ifp_cursor *cursor)
{
	return (uint8_t)read_le(cursor, 1);
}

uint32_t ifp_cursor_u32(struct ifp_cursor *cursor)
{
	return (uint32_t)read_le(cursor, 4);
}

uint64_t ifp_cursor_u64(struct ifp_cursor *cursor)
{
	return read_le(cursor, 8);
}

uint64_t ifp_cursor_varint(struct ifp_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = ifp_cursor_u8(cursor);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->failed = true;
	return 0;
}

int64_t ifp_cursor_svarint(struct ifp_cursor *cursor)
{
	uint64_t value = ifp_cursor_varint(cursor);

	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}
