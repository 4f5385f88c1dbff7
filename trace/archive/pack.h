/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs a series of unsigned numbers as one token byte each, which holds the number's length and
 * its leading bits, and the bits that are left. Tokens of small or similar numbers are few and
 * repeat, which zstd turns into little; the other bits of a time are noise and are kept as such.
 *
 *   0..7     the number itself
 *   8..251   8 + 4 * (length - 4) + the two bits behind the leading one; length - 3 bits follow
 */
#pragma once

#include "core/buf.h"

#include <stdint.h>

/* {0} is an empty one; both buffers are complete after ifp_pack_end(). */
struct ifp_pack {
	struct ifp_buf tokens;
	struct ifp_buf bits; /* low bits first */
	uint64_t pending;    /* fewer than 32 bits that are not in the buffer yet */
	unsigned int pending_bits;
};

void ifp_pack_put(struct ifp_pack *pack, uint64_t value);
void ifp_pack_end(struct ifp_pack *pack);
void ifp_pack_free(struct ifp_pack *pack);

/* Reading beyond either end, or an impossible token, sets failed and yields zeros. */
struct ifp_unpack {
	struct ifp_cursor tokens;
	const uint8_t *bits;
	uint64_t bits_len; /* in bits */
	uint64_t bits_at;
};

uint64_t ifp_unpack_get(struct ifp_unpack *unpack);
/* As many calls of ifp_unpack_get(). */
void ifp_unpack_series(struct ifp_unpack *unpack, uint64_t *values, uint32_t count);

/* Signed differences as small unsigned numbers: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... */
static inline uint64_t ifp_zigzag(uint64_t value, uint64_t predicted)
{
	uint64_t difference = value - predicted;

	return (difference << 1) ^ (uint64_t) - (int64_t)(difference >> 63);
}

static inline uint64_t ifp_unzigzag(uint64_t residual, uint64_t predicted)
{
	return predicted + ((residual >> 1) ^ (uint64_t) - (int64_t)(residual & 1));
}

static inline unsigned int ifp_bit_length(uint64_t value)
{
	return value ? 64 - (unsigned int)__builtin_clzll(value) : 0;
}
