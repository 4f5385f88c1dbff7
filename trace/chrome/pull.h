/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pull scanner for JSON (RFC 8259) over a stream: the caller asks for what it expects next and
 * gets it, nothing is built. The full grammar is checked, nesting is limited, memory is the window
 * of the input and what the caller collects.
 *
 * Faults that real traces have are repaired, not refused: raw control characters in strings,
 * backslashes that begin no escape, bytes that are no UTF-8, a comma behind the last member or
 * element; and words without quotes (NaN, Infinity, ncclFloat32, 0x7f00) become strings. Belongs to
 * one thread.
 */
#pragma once

#include "core/buf.h"
#include "core/str.h"
#include "trace/chrome/input.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define IFP_PULL_MAX_DEPTH 64
#define IFP_PULL_MAX_TEXT_BYTES (64u * 1024u * 1024u) /* of what is collected in one buffer */

struct ifp_pull {
	struct ifp_input *input;   /* borrowed */
	const uint8_t *next, *end; /* what is left of the window */
	uint64_t window_offset;	   /* of end, in bytes of JSON from the start */
	unsigned int depth;	   /* of open arrays and objects */
	uint64_t repairs;	   /* faults repaired so far */
	bool ended;
};

void ifp_pull_init(struct ifp_pull *pull, struct ifp_input *input);

/* Bytes of JSON before the next one. */
uint64_t ifp_pull_offset(const struct ifp_pull *pull);

/* Refuses what stands here: -EBADMSG with a cause that says what was expected, and the offset. */
int ifp_pull_refuse(const struct ifp_pull *pull, const char *expected);

/* As ifp_pull_peek(), which goes on with it at the end of the window. */
int ifp_pull_peek_further(struct ifp_pull *pull);

/* The next byte that is no white space, not taken; 0 at the end of input; negative errno. */
static inline int ifp_pull_peek(struct ifp_pull *pull)
{
	static const char blanks[8] = {' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '};
	const uint8_t *next = pull->next;

	while (pull->end - next >= 8 && !memcmp(next, blanks, sizeof(blanks)))
		next += sizeof(blanks);
	while (next < pull->end &&
		(*next == ' ' || *next == '\n' || *next == '\t' || *next == '\r'))
		next++;
	pull->next = next;
	return next < pull->end && *next ? *next : ifp_pull_peek_further(pull);
}

/* Takes '[' or '{', which must be next. */
int ifp_pull_enter(struct ifp_pull *pull, char bracket);

/*
 * Moves to the next member of the object entered last: 1 and the inside of its key in key
 * (cleared first), its value is next; 0 when the object has ended (and has been left). *first is
 * true before the first call and kept by the caller.
 */
int ifp_pull_member(struct ifp_pull *pull, bool *first, struct ifp_buf *key);

/*
 * The same, but the name goes to *name, which is borrowed from the window, or from key where it
 * lies across the window's end or needs repair. It is valid until the next call.
 */
int ifp_pull_member_view(
	struct ifp_pull *pull, bool *first, struct ifp_buf *key, struct ifp_str *name);

/* Moves to the next element of the array entered last: 1 or 0, as above. */
int ifp_pull_element(struct ifp_pull *pull, bool *first);

/*
 * Takes one value of any kind and appends it to out as compact text: white space outside strings
 * is gone, all else is as it stood (repairs apart). out may be NULL: the value is only checked.
 */
int ifp_pull_value(struct ifp_pull *pull, struct ifp_buf *out);

/* The input must have ended: only white space is left. */
int ifp_pull_end(struct ifp_pull *pull);
