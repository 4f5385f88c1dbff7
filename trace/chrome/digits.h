/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of decimal digits, eight at a time in one machine word. They look at bytes behind the run:
 * the caller has IFP_DIGITS_LOOK_BYTES readable ones at text.
 */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define IFP_DIGITS_MOST 18u /* that always fit an int64_t */
#define IFP_DIGITS_LOOK_BYTES 32u

/* How many of the 8 bytes at text are digits before the first that is none, and their value. */
static inline unsigned int ifp_digits_of_word(const uint8_t *text, uint64_t *value)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t word, others;
	unsigned int count;

	memcpy(&word, text, sizeof(word));
	word = le64toh(word) ^ ('0' * ones); /* a digit's byte is its value now */
	/* The high bit of bytes above 9. What a byte carries reaches only those behind it. */
	others = ((word + (0x80 - 10) * ones) | word) & (0x80 * ones);
	count = others ? (unsigned int)__builtin_ctzll(others) / 8 : 8;
	if (!count) {
		*value = 0;
		return 0;
	}
	word <<= 8 * (8 - count); /* as if zeros led them */
	word = (word * 10 + (word >> 8)) & (0xff * UINT64_C(0x0001000100010001));
	word = (word * 100 + (word >> 16)) & (0xffff * UINT64_C(0x0000000100000001));
	*value = (word * 10000 + (word >> 32)) & UINT64_C(0xffffffff);
	return count;
}

/* The length of the run at text, and its value where it has at most IFP_DIGITS_MOST digits. */
static inline unsigned int ifp_digits(const uint8_t *text, uint64_t *value)
{
	static const uint32_t powers[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
	unsigned int count = ifp_digits_of_word(text, value), part = count;

	while (part == 8 && count <= IFP_DIGITS_MOST) {
		uint64_t further;

		part = ifp_digits_of_word(text + count, &further);
		*value = *value * powers[part] + further;
		count += part;
	}
	return count;
}
