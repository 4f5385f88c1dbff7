/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers in decimal, as they stand in texts. Pure functions. */
#pragma once

#include <stdint.h>
#include <string.h>

#define IFP_DECIMAL_MOST_DIGITS 20u

/* How many digits the number has: 1 to IFP_DECIMAL_MOST_DIGITS. */
static inline unsigned int ifp_decimal_digits(uint64_t value)
{
	static const uint64_t powers[IFP_DECIMAL_MOST_DIGITS] = {0, 10, 100, 1000, 10000, 100000,
		1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
		10000000000000, 100000000000000, 1000000000000000, 10000000000000000,
		100000000000000000, 1000000000000000000, UINT64_C(10000000000000000000)};
	unsigned int bits = 64u - (unsigned int)__builtin_clzll(value | 1);
	/* 1233 / 4096 is the logarithm of 2, near enough for 64 bits. */
	unsigned int place = bits * 1233u >> 12;

	return place + 1 - (value < powers[place]);
}

/* Writes the last so many digits of the number, zeros in front; gives the place behind them. */
static inline char *ifp_decimal_write(char *out, uint64_t value, unsigned int digits)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";
	char *end = out + digits, *at = end;

	while (at - out >= 2) {
		at -= 2;
		memcpy(at, pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (at > out)
		*out = (char)('0' + value % 10);
	return end;
}
