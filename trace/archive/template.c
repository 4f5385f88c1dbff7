/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/template.h"

#include <stdbool.h>

#define SLOT '1'

static bool is_digit(struct ifp_str text, uint32_t at)
{
	return at < text.len_bytes && text.ptr[at] >= '0' && text.ptr[at] <= '9';
}

uint32_t ifp_template_split(
	struct ifp_str text, struct ifp_buf *form, uint64_t *values, uint32_t max_slots)
{
	uint32_t at = 0, literal = 0, count = 0;

	while (at < text.len_bytes) {
		uint64_t value = 0;
		uint32_t digits = 0;

		if (!is_digit(text, at) || (text.ptr[at] == '0' && is_digit(text, at + 1))) {
			at++;
			continue;
		}
		if (count == max_slots)
			return UINT32_MAX;
		ifp_buf_append(form, text.ptr + literal, at - literal);
		ifp_buf_append_u8(form, SLOT);
		for (; digits < IFP_TEMPLATE_SLOT_DIGITS && is_digit(text, at); digits++, at++)
			value = value * 10 + (uint64_t)(text.ptr[at] - '0');
		values[count++] = value;
		literal = at;
	}
	ifp_buf_append(form, text.ptr ? text.ptr + literal : NULL, at - literal);
	return count;
}

uint32_t ifp_template_slots(struct ifp_str form)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < form.len_bytes; i++)
		count += form.ptr[i] == SLOT;
	return count;
}

static void append_decimal(struct ifp_buf *text, uint64_t value)
{
	char digits[20];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	ifp_buf_append(text, digits + first, sizeof(digits) - first);
}

void ifp_template_join(struct ifp_str form, const uint64_t *values, struct ifp_buf *text)
{
	uint32_t literal = 0;

	for (uint32_t at = 0; at < form.len_bytes; at++) {
		if (form.ptr[at] != SLOT)
			continue;
		ifp_buf_append(text, form.ptr + literal, at - literal);
		append_decimal(text, *values++);
		literal = at + 1;
	}
	ifp_buf_append(text, form.ptr ? form.ptr + literal : NULL, form.len_bytes - literal);
}
