/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/template.h"

#include <stdbool.h>

#define SLOT '1'

static bool is_digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

uint32_t ifp_template_split(
	struct ifp_str text, struct ifp_buf *form, uint64_t *values, uint32_t max_slots)
{
	const char *p = text.ptr, *end;
	uint32_t count = 0;
	uint8_t *out;

	ifp_buf_reserve(form, text.len_bytes);
	if (form->failed || !text.len_bytes)
		return 0;
	end = p + text.len_bytes;
	out = form->data + form->len_bytes;
	while (p < end) {
		uint64_t value = 0;
		uint32_t digits = 0;

		if (!is_digit(p, end) || (*p == '0' && is_digit(p + 1, end))) {
			*out++ = (uint8_t)*p++;
			continue;
		}
		if (count == max_slots)
			return UINT32_MAX;
		*out++ = SLOT;
		for (; digits < IFP_TEMPLATE_SLOT_DIGITS && is_digit(p, end); digits++)
			value = value * 10 + (uint64_t)(*p++ - '0');
		values[count++] = value;
	}
	form->len_bytes = (size_t)(out - form->data);
	return count;
}

uint32_t ifp_template_slots(struct ifp_str form)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < form.len_bytes; i++)
		count += form.ptr[i] == SLOT;
	return count;
}

void ifp_template_find_slots(struct ifp_str form, uint32_t *slot_at)
{
	for (uint32_t i = 0; i < form.len_bytes; i++)
		if (form.ptr[i] == SLOT)
			*slot_at++ = i;
}

void ifp_template_join(struct ifp_str form, const uint64_t *values, struct ifp_buf *text)
{
	uint32_t literal = 0;

	for (uint32_t at = 0; at < form.len_bytes; at++) {
		if (form.ptr[at] != SLOT)
			continue;
		ifp_buf_append(text, form.ptr + literal, at - literal);
		ifp_buf_append_unsigned(text, *values++, 1);
		literal = at + 1;
	}
	ifp_buf_append(text, form.ptr ? form.ptr + literal : NULL, form.len_bytes - literal);
}
