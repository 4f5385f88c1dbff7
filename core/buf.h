/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable byte buffer. Owned by whoever declares it; {0} is a valid empty one.
 *
 * Appending can fail only for lack of memory. The failure is sticky: the buffer remembers it,
 * further appends do nothing, and ifp_buf_status() gives it once at the end, so that formatting
 * code need not check each call.
 */
#pragma once

#include "core/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ifp_buf {
	uint8_t *data;
	size_t len_bytes;
	size_t capacity_bytes;
	bool failed;
};

/* The part of ifp_buf_reserve() that is seldom needed. */
void ifp_buf_grow(struct ifp_buf *buf, size_t more_bytes);

/* Makes room for at least more_bytes beyond the current end. */
static inline void ifp_buf_reserve(struct ifp_buf *buf, size_t more_bytes)
{
	if (buf->capacity_bytes - buf->len_bytes < more_bytes)
		ifp_buf_grow(buf, more_bytes);
}

static inline void ifp_buf_append(struct ifp_buf *buf, const void *data, size_t len_bytes)
{
	ifp_buf_reserve(buf, len_bytes);
	if (buf->failed || !len_bytes)
		return;
	memcpy(buf->data + buf->len_bytes, data, len_bytes);
	buf->len_bytes += len_bytes;
}

static inline void ifp_buf_append_u8(struct ifp_buf *buf, uint8_t value)
{
	ifp_buf_reserve(buf, 1);
	if (!buf->failed)
		buf->data[buf->len_bytes++] = value;
}

void ifp_buf_append_u32(struct ifp_buf *buf, uint32_t value); /* little endian */
void ifp_buf_append_u64(struct ifp_buf *buf, uint64_t value); /* little endian */

/* LEB128: 7 bits a byte, low bits first; the signed form is zigzag-coded first. */
void ifp_buf_append_varint(struct ifp_buf *buf, uint64_t value);
void ifp_buf_append_svarint(struct ifp_buf *buf, int64_t value);

static inline void ifp_buf_append_text(struct ifp_buf *buf, const char *text)
{
	ifp_buf_append(buf, text, strlen(text));
}

/* Decimal, with zeros in front up to min_digits (at most 20). */
void ifp_buf_append_unsigned(struct ifp_buf *buf, uint64_t value, unsigned int min_digits);

void ifp_buf_printf(struct ifp_buf *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Text as one word of a shell's command line, quoted where it has to be. It stays on one line:
 * control characters are written in the form of $'\012'.
 */
void ifp_buf_append_shell_word(struct ifp_buf *buf, const char *text);

/* Empties the buffer and keeps its memory; a failure is forgotten. */
void ifp_buf_clear(struct ifp_buf *buf);

/* 0, or -ENOMEM (with a cause) when any append since the last clear did not find memory. */
int ifp_buf_status(const struct ifp_buf *buf);

/* Frees the memory; the buffer is empty and usable afterwards. */
void ifp_buf_free(struct ifp_buf *buf);

#define IFP_CLEANUP_BUF IFP_CLEANUP(ifp_buf_free)

/*
 * A cursor over bytes that somebody else owns, for decoding. Reading beyond the end sets failed
 * and yields zeros from then on: check failed once at the end of a record.
 */
struct ifp_cursor {
	const uint8_t *data;
	size_t len_bytes;
	size_t position_bytes;
	bool failed;
};

static inline struct ifp_cursor ifp_cursor(const void *data, size_t len_bytes)
{
	return (struct ifp_cursor){.data = data, .len_bytes = len_bytes};
}

/* The next len_bytes bytes, or NULL (and failed) when fewer are left. */
const uint8_t *ifp_cursor_bytes(struct ifp_cursor *cursor, size_t len_bytes);
uint8_t ifp_cursor_u8(struct ifp_cursor *cursor);
uint32_t ifp_cursor_u32(struct ifp_cursor *cursor);
uint64_t ifp_cursor_u64(struct ifp_cursor *cursor);
uint64_t ifp_cursor_varint(struct ifp_cursor *cursor);
int64_t ifp_cursor_svarint(struct ifp_cursor *cursor);
