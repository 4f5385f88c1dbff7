/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/outline.h"

#include "collector/timeline/brief.h"
#include "core/array.h"
#include "core/decimal.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* The braces and the commas between members are counted with the members, but for one. */
#define MEMBER_BYTES ((uint32_t)sizeof(",\"\":") - 1)

/* The args of a look, walked through member by member. */
struct walk {
	struct ifp_block_args args;
	uint32_t slot;	 /* the next one */
	uint32_t shared; /* the place of its number among those that do not differ */
};

int ifp_outlines_begin(const struct ifp_rank_events *events, struct ifp_outlines *outlines)
{
	*outlines = (struct ifp_outlines){.events = events};
	outlines->items = calloc(events->look_count + 1u, sizeof(*outlines->items));
	return outlines->items ? 0 : ifp_fail(-ENOMEM, "measure %u looks", events->look_count);
}

void ifp_outlines_free(struct ifp_outlines *outlines)
{
	free(outlines->items);
	free(outlines->values);
	free(outlines->columns);
	ifp_buf_free(&outlines->text);
	ifp_buf_free(&outlines->whole);
}

static bool has_columns(const struct ifp_block_args *args)
{
	for (uint32_t i = 0; i < args->slots; i++)
		if (args->columns[i] != IFP_BLOCK_SHARED)
			return true;
	return false;
}

/* Steps over the slots before a place in the form; how many there were. */
static uint32_t skip_slots(struct walk *walk, uint32_t end)
{
	uint32_t first = walk->slot;

	while (walk->slot < walk->args.slots && walk->args.slot_at[walk->slot] < end) {
		walk->shared += walk->args.columns[walk->slot] == IFP_BLOCK_SHARED;
		walk->slot++;
	}
	return walk->slot - first;
}

/* A value of which all numbers are the same, as it is shown. */
static uint32_t shared_value_bytes(
	struct ifp_outlines *outlines, const struct walk *before, struct ifp_str value)
{
	const struct ifp_block_args *args = &before->args;
	struct ifp_buf *text = &outlines->text;
	uint32_t slot = before->slot, shared = before->shared;
	uint32_t literal = (uint32_t)(value.ptr - args->form.ptr);
	uint32_t end = literal + value.len_bytes;

	ifp_buf_clear(text);
	for (; slot < args->slots && args->slot_at[slot] < end; slot++) {
		ifp_buf_append(text, args->form.ptr + literal, args->slot_at[slot] - literal);
		ifp_buf_append_unsigned(text, args->shared[shared++], 1);
		literal = args->slot_at[slot] + 1;
	}
	ifp_buf_append(text, args->form.ptr + literal, end - literal);
	ifp_buf_clear(&outlines->whole);
	ifp_brief_value(&outlines->whole,
		(struct ifp_str){(const char *)text->data, (uint32_t)text->len_bytes});
	return (uint32_t)outlines->whole.len_bytes;
}

/* A value that is shown: its length, or what is known of it. */
static int take_value(struct ifp_outlines *outlines, struct walk *walk, struct ifp_str value,
	struct ifp_outline *outline)
{
	const struct ifp_block_args *args = &walk->args;
	uint32_t end = (uint32_t)(value.ptr - args->form.ptr) + value.len_bytes;
	struct ifp_outline_value out = {value.len_bytes, outlines->column_count, 0};
	struct walk before = *walk;
	int err = 0;

	for (; walk->slot < args->slots && args->slot_at[walk->slot] < end && !err; walk->slot++) {
		out.fixed_bytes--;
		if (args->columns[walk->slot] == IFP_BLOCK_SHARED) {
			out.fixed_bytes += ifp_decimal_digits(args->shared[walk->shared++]);
			continue;
		}
		err = IFP_ARRAY_RESERVE(outlines->columns, outlines->column_capacity,
			outlines->column_count, 1, "numbers of args");
		if (err)
			return err;
		outlines->columns[outlines->column_count++] = args->columns[walk->slot];
		out.column_count++;
	}
	if (!out.column_count) {
		outline->args_bytes += shared_value_bytes(outlines, &before, value);
		return 0;
	}
	err = IFP_ARRAY_RESERVE(outlines->values, outlines->value_capacity, outlines->value_count,
		1, "values of args");
	if (err)
		return err;
	outlines->values[outlines->value_count++] = out;
	outline->value_count++;
	return 0;
}

/* Of args in which some numbers differ. */
static int walk_args(struct ifp_outlines *outlines, const struct ifp_block_args *args,
	struct ifp_outline *outline)
{
	struct walk walk = {.args = *args};
	struct ifp_str key, value;
	uint32_t at = 0;
	int err = 0;

	outline->first_value = outlines->value_count;
	while (!err && !outline->each && ifp_args_next(args->form, &at, &key, &value)) {
		skip_slots(&walk, (uint32_t)(key.ptr - args->form.ptr));
		/* Of keys with numbers it is not known which they are. */
		outline->each = skip_slots(&walk, (uint32_t)(value.ptr - args->form.ptr)) != 0;
		if (key.len_bytes && !ifp_brief_leaves_out(key)) {
			outline->args_bytes += MEMBER_BYTES + key.len_bytes;
			err = take_value(outlines, &walk, value, outline);
		}
	}
	/* The last brace. */
	outline->args_bytes += outline->args_bytes != 0;
	return err;
}

static int brief_bytes(
	struct ifp_outlines *outlines, const struct ifp_timed_event *timed, uint32_t *bytes)
{
	struct ifp_str args = ifp_rank_events_args(outlines->events, timed, &outlines->whole);

	args = ifp_brief_args(timed->event.source, args, &outlines->text);
	*bytes = args.len_bytes;
	return outlines->whole.failed || outlines->text.failed
		       ? ifp_fail(-ENOMEM, "measure the args of an event")
		       : 0;
}

static uint32_t name_bytes_of(struct ifp_outlines *outlines, const struct ifp_timed_event *timed)
{
	return ifp_brief_text(timed->event.name, IFP_BRIEF_NAME_BYTES, &outlines->text).len_bytes;
}

static int learn(struct ifp_outlines *outlines, const struct ifp_timed_event *timed,
	struct ifp_outline *outline)
{
	struct ifp_block_args args;
	int err;

	*outline = (struct ifp_outline){.name_bytes = name_bytes_of(outlines, timed)};
	if (!timed->args_bytes || timed->event.source != IFP_SOURCE_KINETO) {
		outline->each = timed->args_bytes || timed->event.args.len_bytes;
		outline->known = true;
		return 0;
	}
	args = ifp_rank_events_form(outlines->events, timed->look);
	err = has_columns(&args) ? walk_args(outlines, &args, outline) : 0;
	/* The numbers that differ are not shown. */
	if (!err && !outline->value_count && !outline->each)
		err = brief_bytes(outlines, timed, &outline->args_bytes);
	outline->known = !err;
	return err;
}

/* False where some of it is cut, or left out. */
static bool add_values(const struct ifp_outlines *outlines, const struct ifp_outline *outline,
	const struct ifp_timed_event *timed, uint32_t *bytes)
{
	uint32_t sum = outline->args_bytes;

	for (uint32_t i = 0; i < outline->value_count; i++) {
		const struct ifp_outline_value *value = &outlines->values[outline->first_value + i];
		uint32_t length = value->fixed_bytes;

		for (uint32_t k = 0; k < value->column_count; k++)
			length += ifp_decimal_digits(ifp_rank_events_number(outlines->events, timed,
				outlines->columns[value->first_column + k]));
		if (length > IFP_BRIEF_VALUE_BYTES)
			return false;
		sum += length;
	}
	*bytes = sum;
	/* Without the last brace. */
	return !outline->value_count || sum - 1 < IFP_BRIEF_ARGS_BYTES;
}

int ifp_outlines_of(struct ifp_outlines *outlines, const struct ifp_timed_event *timed,
	uint32_t *name_bytes, uint32_t *args_bytes)
{
	struct ifp_outline *outline = &outlines->items[timed->look];
	int err = 0;

	/* Look 0 is that of events which have nothing to do with each other. */
	if (!outline->known || !timed->look)
		err = learn(outlines, timed, outline);
	if (err)
		return err;
	*name_bytes = outline->name_bytes;
	if (outline->each || !add_values(outlines, outline, timed, args_bytes))
		return brief_bytes(outlines, timed, args_bytes);
	return 0;
}
