/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/decimal.h"

#include <limits.h>
#include <stddef.h>

/* ns = us x 10^3 */
#define US_TO_NS_EXPONENT 3

/* Beyond this an exponent makes every number but 0 too large or too small to matter. */
#define EXPONENT_LIMIT 100000

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Where the parts of a number stand: digits without the point, and the power of ten behind. */
struct parts {
	bool negative;
	const char *digits, *end; /* integer digits, '.', fraction digits */
	int64_t exponent;
};

static bool read_exponent(const char *p, const char *end, int64_t *exponent)
{
	bool negative = false;
	int64_t value = 0;

	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	if (p == end)
		return false;
	for (; p < end; p++) {
		if (!is_digit(*p))
			return false;
		if (value < EXPONENT_LIMIT)
			value = value * 10 + (*p - '0');
	}
	*exponent = negative ? -value : value;
	return true;
}

static bool split(struct ifp_str text, struct parts *parts)
{
	const char *p = text.ptr;
	const char *end;

	*parts = (struct parts){0};
	if (!text.len_bytes)
		return false;
	end = p + text.len_bytes;
	if (*p == '-') {
		parts->negative = true;
		p++;
	}
	parts->digits = p;
	if (p == end || !is_digit(*p))
		return false;
	while (p < end && (is_digit(*p) || *p == '.'))
		p++;
	parts->end = p;
	if (p == end)
		return true;
	return (*p == 'e' || *p == 'E') && read_exponent(p + 1, end, &parts->exponent);
}

/* value = value x 10 + digit; false when that leaves the range of int64_t (towards minus). */
static bool push_digit(int64_t *value, int digit)
{
	int64_t grown;

	return !__builtin_mul_overflow(*value, 10, &grown) &&
	       !__builtin_sub_overflow(grown, digit, value);
}

/*
 * Collects digits as long as they count (places > 0 before the end of the ns), as a negative
 * number because those reach one further, and rounds by the first digit behind.
 */
static bool collect(const struct parts *parts, int64_t places, int64_t *value)
{
	bool rounded = false;

	*value = 0;
	for (const char *p = parts->digits; p < parts->end; p++) {
		if (*p == '.')
			continue;
		if (places > 0) {
			if (!push_digit(value, *p - '0'))
				return false;
			places--;
		} else if (places == 0 && !rounded) {
			rounded = true;
			if (*p >= '5' && __builtin_sub_overflow(*value, 1, value))
				return false;
		}
	}
	for (; places > 0 && *value; places--)
		if (!push_digit(value, 0))
			return false;
	return true;
}

/* What profilers write: up to 15 digits, and up to three behind the point. */
static bool read_plain(struct ifp_str text, int64_t *ns)
{
	const char *p = text.ptr, *end = p + text.len_bytes;
	unsigned int places = US_TO_NS_EXPONENT;
	int64_t value = 0;

	while (p < end && p - text.ptr < 15 && is_digit(*p))
		value = value * 10 + (*p++ - '0');
	if (p == text.ptr)
		return false;
	if (p < end && *p == '.')
		for (p++; p < end && places && is_digit(*p); places--)
			value = value * 10 + (*p++ - '0');
	if (p < end)
		return false;
	for (; places; places--)
		value *= 10;
	*ns = value;
	return true;
}

bool ifp_decimal_us_to_ns(struct ifp_str text, int64_t *ns)
{
	struct parts parts;
	const char *point;
	int64_t value, places;

	if (text.len_bytes && read_plain(text, ns))
		return true;
	if (!split(text, &parts))
		return false;
	point = memchr(parts.digits, '.', (size_t)(parts.end - parts.digits));
	places = (point ? point : parts.end) - parts.digits;
	places += parts.exponent + US_TO_NS_EXPONENT;
	if (places < 0)
		value = 0; /* all digits stand behind the ns, the first more than one place */
	else if (!collect(&parts, places, &value))
		return false;
	if (parts.negative) {
		*ns = value;
		return true;
	}
	if (value == INT64_MIN)
		return false;
	*ns = -value;
	return true;
}

bool ifp_decimal_int(struct ifp_str text, int64_t *value)
{
	bool negative = text.len_bytes && text.ptr[0] == '-';
	uint32_t first = negative ? 1 : 0;
	int64_t sum = 0;

	if (text.len_bytes == first)
		return false;
	for (uint32_t i = first; i < text.len_bytes; i++)
		if (!is_digit(text.ptr[i]) || !push_digit(&sum, text.ptr[i] - '0'))
			return false;
	if (!negative && sum == INT64_MIN)
		return false;
	*value = negative ? sum : -sum;
	return true;
}
