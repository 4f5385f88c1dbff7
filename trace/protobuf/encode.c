/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/protobuf/encode.h"

#include "trace/chrome/escape.h"

#include <string.h>

void ifp_protobuf_double(struct ifp_buf *buf, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	ifp_protobuf_fixed64(buf, field, bits);
}

void ifp_protobuf_text_json(struct ifp_buf *buf, uint32_t field, struct ifp_str text)
{
	struct ifp_protobuf_message string;

	if (!text.len_bytes || !memchr(text.ptr, '\\', text.len_bytes)) {
		ifp_protobuf_text(buf, field, text);
		return;
	}
	string = ifp_protobuf_begin(buf, field);
	ifp_json_unescape(buf, text);
	ifp_protobuf_end(buf, string);
}

void ifp_protobuf_end_long(struct ifp_buf *buf, struct ifp_protobuf_message message)
{
	size_t len_bytes = buf->len_bytes - message.content;
	unsigned int more = ifp_protobuf_varint_bytes(len_bytes) - 1;
	uint8_t *content;
	uint64_t left = len_bytes;

	ifp_buf_reserve(buf, more);
	if (buf->failed)
		return;
	content = buf->data + message.content;
	memmove(content + more, content, len_bytes);
	buf->len_bytes += more;
	for (uint8_t *out = content - 1; out < content + more; out++, left >>= 7)
		*out = (uint8_t)((left & 0x7f) | (left >= 0x80 ? 0x80 : 0));
}
