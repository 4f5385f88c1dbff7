/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/pack.h"

#include <endian.h>

#define SMALL_VALUES 8u /* tokens below are the values themselves */
#define LEAST_LENGTH 4u /* bits of the smallest value above */
#define LAST_TOKEN (SMALL_VALUES + 4u * (64u - LEAST_LENGTH) + 3u)

/* At most 32 bits: together with what is pending they fit 64. */
static void put_bits(struct ifp_pack *pack, uint64_t value, unsigned int count)
{
	pack->pending |= value << pack->pending_bits;
	pack->pending_bits += count;
	if (pack->pending_bits >= 32) {
		ifp_buf_append_u32(&pack->bits, (uint32_t)pack->pending);
		pack->pending >>= 32;
		pack->pending_bits -= 32;
	}
}

void ifp_pack_put(struct ifp_pack *pack, uint64_t value)
{
	unsigned int length = ifp_bit_length(value), left;

	if (value < SMALL_VALUES) {
		ifp_buf_append_u8(&pack->tokens, (uint8_t)value);
		return;
	}
	left = length - 3;
	ifp_buf_append_u8(&pack->tokens,
		(uint8_t)(SMALL_VALUES + 4 * (length - LEAST_LENGTH) + (value >> left & 3)));
	value &= (UINT64_C(1) << left) - 1;
	if (left > 32) {
		put_bits(pack, (uint32_t)value, 32);
		value >>= 32;
		left -= 32;
	}
	put_bits(pack, value, left);
}

void ifp_pack_end(struct ifp_pack *pack)
{
	for (unsigned int done = 0; done < pack->pending_bits; done += 8)
		ifp_buf_append_u8(&pack->bits, (uint8_t)(pack->pending >> done));
	pack->pending = 0;
	pack->pending_bits = 0;
}

void ifp_pack_free(struct ifp_pack *pack)
{
	ifp_buf_free(&pack->tokens);
	ifp_buf_free(&pack->bits);
}

/* The slow way, up to the last bit. */
static uint64_t bits_near_end(const uint8_t *bits, uint64_t at, unsigned int count)
{
	uint64_t value = 0;
	unsigned int have = 0;

	while (have < count) {
		unsigned int skip = (unsigned int)(at % 8);
		unsigned int part = 8 - skip < count - have ? 8 - skip : count - have;
		uint64_t byte = (uint64_t)bits[at / 8] >> skip;

		value |= (byte & ((1u << part) - 1)) << have;
		at += part;
		have += part;
	}
	return value;
}

/* count: 1 to 61. */
static inline uint64_t get_bits(struct ifp_unpack *unpack, unsigned int count)
{
	uint64_t at = unpack->bits_at, have = unpack->bits_len - at;
	unsigned int skip = (unsigned int)(at % 8);
	const uint8_t *from;
	uint64_t value;

	if (have < count) {
		unpack->tokens.failed = true;
		return 0;
	}
	unpack->bits_at += count;
	/* Nine bytes have all of them, mostly eight do. */
	if (have < 9 * 8)
		return bits_near_end(unpack->bits, at, count);
	from = unpack->bits + at / 8;
	memcpy(&value, from, sizeof(value));
	value = le64toh(value) >> skip;
	if (skip + count > 64)
		value |= (uint64_t)from[8] << (64 - skip);
	return value & ((UINT64_C(1) << count) - 1);
}

static inline uint64_t unpack_token(struct ifp_unpack *unpack, unsigned int token)
{
	unsigned int left;

	if (token < SMALL_VALUES)
		return token;
	if (token > LAST_TOKEN) {
		unpack->tokens.failed = true;
		return 0;
	}
	token -= SMALL_VALUES;
	left = token / 4 + LEAST_LENGTH - 3;
	return (uint64_t)(4 + token % 4) << left | get_bits(unpack, left);
}

uint64_t ifp_unpack_get(struct ifp_unpack *unpack)
{
	return unpack_token(unpack, ifp_cursor_u8(&unpack->tokens));
}

void ifp_unpack_series(struct ifp_unpack *unpack, uint64_t *values, uint32_t count)
{
	const uint8_t *tokens = ifp_cursor_bytes(&unpack->tokens, count);
	/* Nobody else knows it: it stays in registers. */
	struct ifp_unpack in = *unpack;

	for (uint32_t i = 0; i < count; i++)
		values[i] = tokens ? unpack_token(&in, tokens[i]) : 0;
	*unpack = in;
}
