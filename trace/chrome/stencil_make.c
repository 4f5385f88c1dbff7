/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of an element that has been read to its stencil. */
#include "trace/chrome/stencil_form.h"

#include <string.h>

#define ARGS_DEPTH 2u	    /* of what stands in args' own braces */
#define SLOT_MOST_BYTES 20u /* 16 digits, a point, three places */

/* A walk over text that is known to be valid JSON. */
struct making {
	struct ifp_stencil_scratch *scratch;
	const struct ifp_event *event;
	const uint8_t *literal, *next, *end; /* literal: not copied yet */
	unsigned int depth;
	enum ifp_element_field member, argument; /* whose value is next */
	uint32_t seen;				 /* fields: one that comes twice is not for us */
	uint32_t slots;
	uint32_t value_count;  /* numbers of args so far, whether they have a slot or not */
	uint32_t value_digits; /* of those that have one */
	bool in_args;
};

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static struct ifp_str piece(const uint8_t *begin, const uint8_t *end)
{
	return (struct ifp_str){(const char *)begin, (uint32_t)(end - begin)};
}

/* Puts a slot over what stands from begin to end. */
static bool put_slot(struct making *making, const uint8_t *begin, const uint8_t *end,
	enum ifp_element_field field, uint32_t value)
{
	struct ifp_stencil_scratch *scratch = making->scratch;

	if (making->slots == IFP_STENCIL_MAX_SLOTS)
		return false;
	scratch->slots[making->slots++] = (struct ifp_stencil_slot){
		.literal_bytes = (uint32_t)(begin - making->literal),
		.value = (uint16_t)value,
		.field = (uint8_t)field,
	};
	ifp_buf_append(&scratch->literals, making->literal, (size_t)(begin - making->literal));
	if (value != IFP_STENCIL_NO_VALUE)
		making->value_digits += (uint32_t)(end - begin);
	making->literal = end;
	return true;
}

/* How many numbers of a template a piece of args has: they are passed over. */
static bool pass_values(struct making *making, const uint8_t *begin, const uint8_t *end)
{
	uint32_t count;

	ifp_buf_clear(&making->scratch->form);
	count = ifp_template_split(piece(begin, end), &making->scratch->form,
		making->scratch->values, IFP_STENCIL_MAX_SLOTS);
	making->value_count += count;
	return count != UINT32_MAX && making->value_count <= IFP_STENCIL_MAX_SLOTS;
}

static bool has_digits(const uint8_t *begin, const uint8_t *end, size_t most)
{
	if (begin == end || (size_t)(end - begin) > most)
		return false;
	while (begin < end && is_digit(*begin))
		begin++;
	return begin == end;
}

/* Digits, and up to three behind a point. */
static bool is_plain_us(const uint8_t *begin, const uint8_t *end)
{
	const uint8_t *point = memchr(begin, '.', (size_t)(end - begin));

	if (!point)
		return has_digits(begin, end, IFP_DIGITS_MOST);
	return has_digits(begin, point, IFP_DIGITS_MOST) && has_digits(point + 1, end, 3);
}

/* A number or string inside args: a slot for each run of digits that the template has one for. */
static bool put_runs(struct making *making, const uint8_t *begin, const uint8_t *end)
{
	while (begin < end) {
		const uint8_t *first = begin;

		if (!is_digit(*begin) || (*begin == '0' && begin + 1 < end && is_digit(begin[1]))) {
			begin++;
			continue;
		}
		while (begin < end && is_digit(*begin))
			begin++;
		if (begin - first > (ptrdiff_t)IFP_DIGITS_MOST) {
			if (!pass_values(making, first, begin))
				return false;
		} else if (!put_slot(
				   making, first, begin, IFP_FIELD_COUNT, making->value_count++)) {
			return false;
		}
	}
	return true;
}

/* A name tells whose value comes next. False when a field comes again. */
static bool take_name(struct making *making, struct ifp_str name)
{
	enum ifp_element_field field;

	if (making->depth == 1)
		field = making->member = ifp_element_member(name);
	else if (making->depth == ARGS_DEPTH && making->in_args)
		field = making->argument = ifp_element_argument(name);
	else
		return true;
	if (field != IFP_FIELD_COUNT && making->seen >> field & 1)
		return false;
	making->seen |= 1u << field;
	return true;
}

static bool is_name(const struct making *making, const uint8_t *behind)
{
	while (behind < making->end && strchr(" \t\r\n", *behind))
		behind++;
	return behind < making->end && *behind == ':';
}

/* Whether the value is one of those args that a field is made of. */
static bool is_argument(const struct making *making)
{
	return making->depth == ARGS_DEPTH && making->argument != IFP_FIELD_COUNT;
}

/*
 * In strings of args, digits get slots, too: any others may stand in their place. Not so in names,
 * beside escapes, which have digits of their own, and where the text has a meaning for the event.
 */
static bool pass_string(struct making *making)
{
	const uint8_t *begin = making->next, *end = begin + 1;
	bool escapes = false;

	while (*end != '"') {
		escapes = escapes || *end == '\\';
		end += *end == '\\' ? 2 : 1;
	}
	making->next = end + 1;
	if (is_name(making, end + 1))
		return take_name(making, piece(begin + 1, end)) &&
		       (!making->in_args || pass_values(making, begin, end));
	if (!making->in_args)
		return true;
	return escapes || is_argument(making) ? pass_values(making, begin, end)
					      : put_runs(making, begin, end);
}

/* Whether a number decides where the event is drawn, and the lane keeps its text. */
static bool is_kept(const struct making *making, enum ifp_element_field field)
{
	const struct ifp_lane *lane = &making->event->lane;

	if (field == IFP_FIELD_PID || field == IFP_FIELD_DEVICE)
		return lane->pid_text.len_bytes;
	if (field == IFP_FIELD_TID || field == IFP_FIELD_STREAM)
		return lane->tid_text.len_bytes;
	return false;
}

static bool number_of_args(struct making *making, const uint8_t *begin, const uint8_t *end)
{
	if (!is_argument(making))
		return put_runs(making, begin, end);
	if (has_digits(begin, end, IFP_DIGITS_MOST) && !is_kept(making, making->argument))
		return put_slot(making, begin, end, making->argument, making->value_count++);
	return pass_values(making, begin, end);
}

/* The value of a member of the element itself. What gets no slot stays as it is. */
static bool number_of_member(struct making *making, const uint8_t *begin, const uint8_t *end)
{
	enum ifp_element_field field = making->member;

	switch (field) {
	case IFP_FIELD_TS:
		return is_plain_us(begin, end) &&
		       put_slot(making, begin, end, field, IFP_STENCIL_NO_VALUE);
	case IFP_FIELD_DUR:
		if (making->event->kind != IFP_EVENT_SLICE)
			return true;
		return is_plain_us(begin, end) &&
		       put_slot(making, begin, end, field, IFP_STENCIL_NO_VALUE);
	case IFP_FIELD_ID:
		if (!ifp_element_is_flow(making->event->kind))
			return true;
		break;
	case IFP_FIELD_PID:
	case IFP_FIELD_TID:
		break;
	default:
		return true;
	}
	return !has_digits(begin, end, IFP_DIGITS_MOST) || is_kept(making, field) ||
	       put_slot(making, begin, end, field, IFP_STENCIL_NO_VALUE);
}

static bool pass_number(struct making *making)
{
	const uint8_t *begin = making->next, *end = begin;

	while (is_digit(*end) || strchr("+-.eE", *end))
		end++;
	making->next = end;
	if (making->in_args)
		return number_of_args(making, begin, end);
	return making->depth != 1 || number_of_member(making, begin, end);
}

static bool walk(struct making *making)
{
	while (making->next < making->end) {
		uint8_t c = *making->next;

		if (c == '"') {
			if (!pass_string(making))
				return false;
		} else if (is_digit(c) || c == '-') {
			if (!pass_number(making))
				return false;
		} else {
			making->next++;
			if (c == '{' || c == '[')
				making->depth++;
			if (c == '{' && making->depth == ARGS_DEPTH)
				making->in_args = making->member == IFP_FIELD_ARGS;
			if (c == '}' || c == ']')
				making->depth--;
			making->in_args = making->in_args && making->depth >= ARGS_DEPTH;
		}
	}
	return true;
}

static bool copy_text(struct ifp_arena *arena, struct ifp_str *text)
{
	*text = ifp_arena_copy(arena, *text);
	return text->ptr;
}

static bool copy_texts(struct ifp_arena *arena, struct ifp_event *event)
{
	event->args = (struct ifp_str){0};
	return copy_text(arena, &event->name) && copy_text(arena, &event->category) &&
	       copy_text(arena, &event->extra) && copy_text(arena, &event->lane.pid_text) &&
	       copy_text(arena, &event->lane.tid_text);
}

/* Args as the block's builder would split them. */
static bool split_args(struct ifp_arena *arena, struct ifp_stencil_scratch *scratch,
	struct ifp_str args, struct ifp_stencil *stencil)
{
	struct ifp_str form;
	uint32_t count;

	ifp_buf_clear(&scratch->form);
	ifp_buf_append_u8(&scratch->form, IFP_TEMPLATE_SPLIT);
	count = ifp_template_split(args, &scratch->form, scratch->values, IFP_STENCIL_MAX_SLOTS);
	if (count == UINT32_MAX || scratch->form.failed)
		return false;
	form = (struct ifp_str){
		(const char *)scratch->form.data, (uint32_t)scratch->form.len_bytes};
	stencil->values = ifp_arena_alloc(arena, (count + 1) * sizeof(*stencil->values));
	if (!stencil->values || !copy_text(arena, &form))
		return false;
	memcpy(stencil->values, scratch->values, count * sizeof(*stencil->values));
	stencil->args =
		(struct ifp_args_split){.form = form, .values = stencil->values, .count = count};
	return true;
}

static struct ifp_stencil *put_together(struct ifp_arena *arena, const struct making *making)
{
	const struct ifp_stencil_scratch *scratch = making->scratch;
	const struct ifp_buf *literals = &scratch->literals;
	struct ifp_stencil *stencil = ifp_arena_alloc(arena, sizeof(*stencil));
	uint32_t fields = 0;

	if (!stencil || literals->failed)
		return NULL;
	*stencil = (struct ifp_stencil){.slot_count = making->slots,
		.tail_bytes = (uint32_t)(making->end - making->literal)};
	stencil->slots = ifp_arena_alloc(arena, (making->slots + 1) * sizeof(*stencil->slots));
	stencil->literals = ifp_arena_alloc(arena, literals->len_bytes + IFP_STENCIL_PIECE_BYTES);
	if (!stencil->slots || !stencil->literals)
		return NULL;
	memset(stencil->literals, 0, literals->len_bytes + IFP_STENCIL_PIECE_BYTES);
	memcpy(stencil->literals, literals->data, literals->len_bytes);
	memcpy(stencil->slots, scratch->slots, making->slots * sizeof(*stencil->slots));
	for (uint32_t i = 0; i < making->slots; i++)
		fields |= 1u << scratch->slots[i].field;
	stencil->has_time = fields >> IFP_FIELD_TS & 1;
	stencil->text_bytes = (uint32_t)literals->len_bytes + SLOT_MOST_BYTES * making->slots +
			      IFP_DIGITS_LOOK_BYTES;
	return stencil;
}

struct ifp_stencil *ifp_stencil_make(struct ifp_arena *arena, struct ifp_stencil_scratch *scratch,
	const uint8_t *text, const uint8_t *text_end, const struct ifp_event *event,
	const struct ifp_element_numbers *numbers)
{
	struct making making = {.scratch = scratch,
		.event = event,
		.literal = text,
		.next = text,
		.end = text_end,
		.member = IFP_FIELD_COUNT,
		.argument = IFP_FIELD_COUNT};
	struct ifp_stencil *stencil;

	if (text_end - text > (ptrdiff_t)IFP_STENCIL_MAX_BYTES)
		return NULL;
	ifp_buf_clear(&scratch->literals);
	if (!walk(&making))
		return NULL;
	ifp_buf_append(&scratch->literals, making.literal, (size_t)(text_end - making.literal));
	stencil = put_together(arena, &making);
	if (!stencil || !split_args(arena, scratch, event->args, stencil) ||
		stencil->args.count != making.value_count)
		return NULL;
	stencil->constant_bytes = event->args.len_bytes - making.value_digits;
	stencil->event = *event;
	stencil->numbers = *numbers;
	return copy_texts(arena, &stencil->event) ? stencil : NULL;
}
