/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/stencil_form.h"

#include <string.h>

#define NS_PER_US 1000u

/* Whether two texts of length bytes are the same. */
static inline bool same(const uint8_t *a, const uint8_t *b, uint32_t length)
{
	static const uint8_t masks[2 * IFP_STENCIL_PIECE_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	uint64_t left[2], right[2], mask[2];

	for (; length > IFP_STENCIL_PIECE_BYTES; length -= IFP_STENCIL_PIECE_BYTES) {
		memcpy(left, a, sizeof(left));
		memcpy(right, b, sizeof(right));
		if ((left[0] ^ right[0]) | (left[1] ^ right[1]))
			return false;
		a += IFP_STENCIL_PIECE_BYTES;
		b += IFP_STENCIL_PIECE_BYTES;
	}
	memcpy(left, a, sizeof(left));
	memcpy(right, b, sizeof(right));
	memcpy(mask, masks + IFP_STENCIL_PIECE_BYTES - length, sizeof(mask));
	return !(((left[0] ^ right[0]) & mask[0]) | ((left[1] ^ right[1]) & mask[1]));
}

/* An integer without zeros that lead it: the place behind, or NULL. */
static inline const uint8_t *fit_integer(const uint8_t *text, uint64_t *value)
{
	unsigned int count = ifp_digits(text, value);

	if (!count || count > IFP_DIGITS_MOST || (*text == '0' && count > 1))
		return NULL;
	return text + count;
}

/* Microseconds with at most three places, exactly: the place behind, or NULL. */
static const uint8_t *fit_us(const uint8_t *text, int64_t *ns)
{
	static const uint32_t scale[] = {NS_PER_US, 100, 10, 1};
	unsigned int places = 0;
	uint64_t us, fraction = 0;

	text = fit_integer(text, &us);
	if (!text || us > INT64_MAX / NS_PER_US - 1)
		return NULL;
	if (*text == '.') {
		places = ifp_digits_of_word(++text, &fraction);
		if (!places || places >= IFP_ARRAY_SIZE(scale))
			return NULL;
	}
	*ns = (int64_t)(us * NS_PER_US + fraction * scale[places]);
	return text + places;
}

/* Keeps what stands in the slot, when it and the byte behind it fit a word. */
static void keep(struct ifp_stencil_slot *slot, const uint8_t *text, size_t digits)
{
	memcpy(&slot->kept, text, sizeof(slot->kept));
	memset(&slot->mask, 0, sizeof(slot->mask));
	slot->digits = 0;
	if (digits >= sizeof(slot->kept))
		return;
	memset(&slot->mask, 0xff, digits + 1);
	slot->digits = (uint8_t)digits;
}

static inline bool is_kept(const struct ifp_stencil_slot *slot, const uint8_t *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return slot->digits && !((word ^ slot->kept) & slot->mask);
}

/* An integer to where it belongs: the place behind, or NULL. */
static inline const uint8_t *fit_number(
	struct ifp_stencil *stencil, struct ifp_stencil_slot *slot, const uint8_t *text)
{
	const uint8_t *behind;
	uint64_t value;

	if (is_kept(slot, text)) {
		behind = text + slot->digits;
	} else {
		behind = fit_integer(text, &value);
		if (!behind)
			return NULL;
		keep(slot, text, (size_t)(behind - text));
		stencil->numbers.value[slot->field] = (int64_t)value;
		if (slot->value != IFP_STENCIL_NO_VALUE)
			stencil->values[slot->value] = value;
	}
	if (slot->value != IFP_STENCIL_NO_VALUE)
		stencil->args.text_bytes += (uint32_t)(behind - text);
	return behind;
}

/* Goes through the text from literal to literal: the place behind it, or NULL. */
static const uint8_t *fit_text(
	struct ifp_stencil *stencil, const uint8_t *text, int64_t *start_ns, int64_t *dur_ns)
{
	struct ifp_stencil_slot *slot = stencil->slots, *last = slot + stencil->slot_count;
	const uint8_t *literal = stencil->literals;

	stencil->args.text_bytes = stencil->constant_bytes;
	for (; slot < last; slot++) {
		if (!same(text, literal, slot->literal_bytes))
			return NULL;
		literal += slot->literal_bytes;
		text += slot->literal_bytes;
		if (slot->field == IFP_FIELD_TS)
			text = fit_us(text, start_ns);
		else if (slot->field == IFP_FIELD_DUR)
			text = fit_us(text, dur_ns);
		else
			text = fit_number(stencil, slot, text);
		if (!text)
			return NULL;
	}
	return same(text, literal, stencil->tail_bytes) ? text + stencil->tail_bytes : NULL;
}

/* Of a stream, the lane's texts are constant: none, while pid is the device and tid the stream. */
static bool has_same_texts(const struct ifp_stencil *stencil)
{
	const struct ifp_element_numbers *numbers = &stencil->numbers;
	const int64_t *value = numbers->value;
	const struct ifp_lane *lane = &stencil->event.lane;

	if (lane->kind != IFP_LANE_STREAM)
		return true;
	return (lane->pid_text.len_bytes || !(numbers->given >> IFP_FIELD_PID & 1) ||
		       !(numbers->given >> IFP_FIELD_DEVICE & 1) ||
		       value[IFP_FIELD_PID] == value[IFP_FIELD_DEVICE]) &&
	       (lane->tid_text.len_bytes || !(numbers->given >> IFP_FIELD_TID & 1) ||
		       !(numbers->given >> IFP_FIELD_STREAM & 1) ||
		       value[IFP_FIELD_TID] == value[IFP_FIELD_STREAM]);
}

const uint8_t *ifp_stencil_fit(struct ifp_stencil *stencil, const uint8_t *text, const uint8_t *end,
	int64_t base_ns, struct ifp_event *event, struct ifp_args_split *args)
{
	int64_t start_ns = stencil->event.start, dur_ns = stencil->event.dur, end_ns;
	const uint8_t *behind;

	if (end - text < (ptrdiff_t)stencil->text_bytes)
		return NULL;
	behind = fit_text(stencil, text, &start_ns, &dur_ns);
	if (!behind || !has_same_texts(stencil))
		return NULL;
	if (stencil->has_time && (__builtin_add_overflow(start_ns, base_ns, &start_ns) ||
					 __builtin_add_overflow(start_ns, dur_ns, &end_ns)))
		return NULL;
	*event = stencil->event;
	event->start = start_ns;
	event->dur = dur_ns;
	ifp_element_place(&stencil->numbers, event);
	*args = stencil->args;
	return behind;
}
