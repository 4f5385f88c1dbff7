/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends fields of protobuf messages to a buffer: the few wire types that the formats of viewers
 * use (https://protobuf.dev/programming-guides/encoding). A message is a stretch of the buffer
 * without any header; an embedded one lies between begin and end. Numbers of fields are at least 1.
 *
 * Lack of memory is sticky in the buffer: ifp_buf_status() tells.
 */
#pragma once

#include "core/buf.h"
#include "core/str.h"

#include <stddef.h>
#include <stdint.h>

/* How the value of a field is coded. */
enum ifp_protobuf_wire {
	IFP_PROTOBUF_VARINT = 0,
	IFP_PROTOBUF_FIXED64 = 1,
	IFP_PROTOBUF_BYTES = 2, /* a length, then so many bytes: string, bytes, embedded message */
};

/* Bytes that a varint takes: 1 to 10. */
static inline unsigned int ifp_protobuf_varint_bytes(uint64_t value)
{
	return (unsigned int)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

static inline void ifp_protobuf_tag(
	struct ifp_buf *buf, uint32_t field, enum ifp_protobuf_wire wire)
{
	uint64_t tag = (uint64_t)field << 3 | wire;

	if (tag < 0x80)
		ifp_buf_append_u8(buf, (uint8_t)tag);
	else
		ifp_buf_append_varint(buf, tag);
}

/* uint32, uint64, bool, enum without negative values. */
static inline void ifp_protobuf_uint(struct ifp_buf *buf, uint32_t field, uint64_t value)
{
	ifp_protobuf_tag(buf, field, IFP_PROTOBUF_VARINT);
	if (value < 0x80)
		ifp_buf_append_u8(buf, (uint8_t)value);
	else
		ifp_buf_append_varint(buf, value);
}

/* int32, int64: not zigzag-coded, so that every negative number takes 10 bytes. */
static inline void ifp_protobuf_int(struct ifp_buf *buf, uint32_t field, int64_t value)
{
	ifp_protobuf_uint(buf, field, (uint64_t)value);
}

static inline void ifp_protobuf_fixed64(struct ifp_buf *buf, uint32_t field, uint64_t value)
{
	ifp_protobuf_tag(buf, field, IFP_PROTOBUF_FIXED64);
	ifp_buf_append_u64(buf, value);
}

void ifp_protobuf_double(struct ifp_buf *buf, uint32_t field, double value);

/* bytes, or a message that is coded already. */
static inline void ifp_protobuf_bytes(
	struct ifp_buf *buf, uint32_t field, const void *data, size_t len_bytes)
{
	ifp_protobuf_tag(buf, field, IFP_PROTOBUF_BYTES);
	ifp_buf_append_varint(buf, len_bytes);
	ifp_buf_append(buf, data, len_bytes);
}

/* string: readers may refuse the whole message when it is not valid UTF-8. */
static inline void ifp_protobuf_text(struct ifp_buf *buf, uint32_t field, struct ifp_str text)
{
	ifp_protobuf_bytes(buf, field, text.ptr, text.len_bytes);
}

/*
 * string, from the inside of a JSON string (trace/event.h): escapes are resolved, half a surrogate
 * pair becomes U+FFFD.
 */
void ifp_protobuf_text_json(struct ifp_buf *buf, uint32_t field, struct ifp_str text);

/*
 * An embedded message: the fields appended between the two are its content. Messages may be nested;
 * they end in reverse order. The content is written in its place, with room for the length of a
 * short one; end() moves it by a few bytes where it has become 128 bytes long or more.
 */
struct ifp_protobuf_message {
	size_t content; /* where it begins in the buffer */
};

static inline struct ifp_protobuf_message ifp_protobuf_begin(struct ifp_buf *buf, uint32_t field)
{
	ifp_protobuf_tag(buf, field, IFP_PROTOBUF_BYTES);
	ifp_buf_append_u8(buf, 0);
	return (struct ifp_protobuf_message){buf->len_bytes};
}

/* The part of ifp_protobuf_end() for messages of 128 bytes and more. */
void ifp_protobuf_end_long(struct ifp_buf *buf, struct ifp_protobuf_message message);

static inline void ifp_protobuf_end(struct ifp_buf *buf, struct ifp_protobuf_message message)
{
	size_t len_bytes = buf->len_bytes - message.content;

	if (buf->failed)
		return;
	if (len_bytes < 0x80)
		buf->data[message.content - 1] = (uint8_t)len_bytes;
	else
		ifp_protobuf_end_long(buf, message);
}
