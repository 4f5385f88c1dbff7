/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of JSON strings: what the scanner and the escapes have in common. */
#pragma once

#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* U+FFFD in UTF-8: stands for what cannot be decoded. */
#define IFP_TEXT_REPLACEMENT "\xef\xbf\xbd"

static inline bool ifp_text_is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

#define IFP_TEXT_BLOCK_BYTES 16u

/* As ifp_text_plain_length() for the 16 bytes at data: 0 to 16. */
static inline unsigned int ifp_text_plain_in_block(const uint8_t *data)
{
#if defined(__SSE2__)
	const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)data);
	/* As signed numbers, all from 0x80 on lie below 0x20, too. */
	const __m128i odd = _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
		_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
			_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));

	return (unsigned int)__builtin_ctz(
		(unsigned int)_mm_movemask_epi8(odd) | 1u << IFP_TEXT_BLOCK_BYTES);
#elif defined(__aarch64__)
	const uint8x16_t bytes = vld1q_u8(data);
	const uint8x16_t odd = vorrq_u8(vcltq_s8(vreinterpretq_s8_u8(bytes), vdupq_n_s8(0x20)),
		vorrq_u8(vceqq_u8(bytes, vdupq_n_u8('"')), vceqq_u8(bytes, vdupq_n_u8('\\'))));
	/* Four bits for each byte. */
	const uint64_t mask =
		vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(odd), 4)), 0);

	return mask ? (unsigned int)__builtin_ctzll(mask) / 4 : IFP_TEXT_BLOCK_BYTES;
#else
	unsigned int i = 0;

	while (i < IFP_TEXT_BLOCK_BYTES && data[i] >= 0x20 && data[i] < 0x80 && data[i] != '"' &&
		data[i] != '\\')
		i++;
	return i;
#endif
}

/* Which of the 16 bytes at data are this one once the bits of fold are set in them: bit by byte. */
static inline uint32_t ifp_text_matches_in_block(const uint8_t *data, uint8_t byte, uint8_t fold)
{
#if defined(__SSE2__)
	const __m128i bytes = _mm_or_si128(
		_mm_loadu_si128((const __m128i *)(const void *)data), _mm_set1_epi8((char)fold));

	return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)byte)));
#else
	uint32_t mask = 0;

	for (unsigned int i = 0; i < IFP_TEXT_BLOCK_BYTES; i++)
		mask |= (uint32_t)((data[i] | fold) == byte) << i;
	return mask;
#endif
}

/* The same for 64 bytes. */
static inline uint64_t ifp_text_matches(const uint8_t *data, uint8_t byte, uint8_t fold)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < 4; i++)
		mask |= (uint64_t)ifp_text_matches_in_block(
				data + i * IFP_TEXT_BLOCK_BYTES, byte, fold)
			<< i * IFP_TEXT_BLOCK_BYTES;
	return mask;
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
