/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of JSON strings: what the scanner and the escapes have in common. */
#pragma once

#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* U+FFFD in UTF-8: stands for what cannot be decoded. */
#define IFP_TEXT_REPLACEMENT "\xef\xbf\xbd"

static inline bool ifp_text_is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Length of the run of printable ASCII without '"' and '\' at the start of data. */
size_t ifp_text_plain_length(const uint8_t *data, size_t len_bytes);

/* Bytes of the UTF-8 character that begins with first (2 to 4); 0 when none does. */
unsigned int ifp_text_utf8_length(uint8_t first);

/*
 * Whether next may follow the first count bytes of a character of several bytes. Forms longer than
 * needed, surrogates and code points beyond U+10FFFF are told by the second byte (RFC 3629).
 */
bool ifp_text_utf8_prefix(const uint8_t *bytes, unsigned int count, uint8_t next);

/* Appends the JSON escape of a byte below 0x20, of '"' or '\'. */
void ifp_text_escape_byte(struct ifp_buf *out, uint8_t byte);
