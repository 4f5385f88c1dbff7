/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/escape.h"

#include "trace/chrome/text.h"

#include <string.h>

size_t ifp_text_plain_length(const uint8_t *data, size_t len_bytes)
{
	size_t i = 0;

	while (len_bytes - i >= IFP_TEXT_BLOCK_BYTES) {
		unsigned int plain = ifp_text_plain_in_block(data + i);

		i += plain;
		if (plain < IFP_TEXT_BLOCK_BYTES)
			return i;
	}
	while (i < len_bytes && data[i] >= 0x20 && data[i] < 0x80 && data[i] != '"' &&
		data[i] != '\\')
		i++;
	return i;
}

unsigned int ifp_text_utf8_length(uint8_t first)
{
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	if (first >= 0xf0 && first <= 0xf4)
		return 4;
	return 0;
}

bool ifp_text_utf8_prefix(const uint8_t *bytes, unsigned int count, uint8_t next)
{
	if ((next & 0xc0) != 0x80)
		return false;
	if (count > 1)
		return true;
	switch (bytes[0]) {
	case 0xe0:
		return next >= 0xa0;
	case 0xed:
		return next < 0xa0;
	case 0xf0:
		return next >= 0x90;
	case 0xf4:
		return next < 0x90;
	default:
		return true;
	}
}

void ifp_text_escape_byte(struct ifp_buf *out, uint8_t byte)
{
	static const char letters[] = "\b\f\n\r\t\"\\";
	const char *letter = byte ? strchr(letters, byte) : NULL;

	if (letter) {
		ifp_buf_append_u8(out, '\\');
		ifp_buf_append_u8(out, (uint8_t) "bfnrt\"\\"[letter - letters]);
	} else {
		ifp_buf_printf(out, "\\u%04x", byte);
	}
}

/* Length of the valid UTF-8 character of several bytes at data; 0 when there is none. */
static unsigned int multibyte_length(const uint8_t *data, size_t len_bytes)
{
	unsigned int wanted = ifp_text_utf8_length(data[0]);

	if (!wanted || wanted > len_bytes)
		return 0;
	for (unsigned int i = 1; i < wanted; i++)
		if (!ifp_text_utf8_prefix(data, i, data[i]))
			return 0;
	return wanted;
}

void ifp_json_escape(struct ifp_buf *out, struct ifp_str text)
{
	const uint8_t *data = (const uint8_t *)text.ptr;
	size_t len_bytes = text.len_bytes;

	while (len_bytes) {
		size_t used = ifp_text_plain_length(data, len_bytes);

		if (!used && *data >= 0x80)
			used = multibyte_length(data, len_bytes);
		if (used) {
			ifp_buf_append(out, data, used);
		} else {
			used = 1;
			if (*data >= 0x80)
				ifp_buf_append_text(out, IFP_TEXT_REPLACEMENT);
			else
				ifp_text_escape_byte(out, *data);
		}
		data += used;
		len_bytes -= used;
	}
}

/* Four hexadecimal digits at p; -1 when they are none. */
static int32_t hex4(const char *p, const char *end)
{
	int32_t value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		if (!ifp_text_is_hex(p[i]))
			return -1;
		value = value * 16 + (p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
	}
	return value;
}

static void append_utf8(struct ifp_buf *out, uint32_t code)
{
	if (code < 0x80) {
		ifp_buf_append_u8(out, (uint8_t)code);
	} else if (code < 0x800) {
		ifp_buf_append_u8(out, (uint8_t)(0xc0 | (code >> 6)));
		ifp_buf_append_u8(out, (uint8_t)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		ifp_buf_append_u8(out, (uint8_t)(0xe0 | (code >> 12)));
		ifp_buf_append_u8(out, (uint8_t)(0x80 | ((code >> 6) & 0x3f)));
		ifp_buf_append_u8(out, (uint8_t)(0x80 | (code & 0x3f)));
	} else {
		ifp_buf_append_u8(out, (uint8_t)(0xf0 | (code >> 18)));
		ifp_buf_append_u8(out, (uint8_t)(0x80 | ((code >> 12) & 0x3f)));
		ifp_buf_append_u8(out, (uint8_t)(0x80 | ((code >> 6) & 0x3f)));
		ifp_buf_append_u8(out, (uint8_t)(0x80 | (code & 0x3f)));
	}
}

/* The character of \uXXXX, or of two that make a surrogate pair; p stands behind the first "\u". */
static const char *unescape_unicode(struct ifp_buf *out, const char *p, const char *end)
{
	int32_t high = hex4(p, end);
	int32_t low = -1;

	if (high < 0) {
		ifp_buf_append_text(out, "\\u");
		return p;
	}
	p += 4;
	if (high < 0xd800 || high > 0xdfff) {
		append_utf8(out, (uint32_t)high);
		return p;
	}
	if (high < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u')
		low = hex4(p + 2, end);
	if (low < 0xdc00 || low > 0xdfff) {
		ifp_buf_append_text(out, IFP_TEXT_REPLACEMENT);
		return p;
	}
	append_utf8(out, 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
	return p + 6;
}

void ifp_json_unescape(struct ifp_buf *out, struct ifp_str text)
{
	static const char letters[] = "bfnrt\"\\/";
	const char *p = text.ptr;
	const char *end = text.len_bytes ? p + text.len_bytes : p;

	while (p < end) {
		const char *letter;

		if (*p != '\\' || p + 1 == end) {
			ifp_buf_append_u8(out, (uint8_t)*p++);
			continue;
		}
		if (p[1] == 'u') {
			p = unescape_unicode(out, p + 2, end);
			continue;
		}
		letter = p[1] ? strchr(letters, p[1]) : NULL;
		if (letter) {
			ifp_buf_append_u8(out, (uint8_t) "\b\f\n\r\t\"\\/"[letter - letters]);
			p += 2;
		} else {
			ifp_buf_append_u8(out, (uint8_t)*p++);
		}
	}
}
