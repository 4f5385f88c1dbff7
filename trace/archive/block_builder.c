/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block_builder.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/template.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ifp_block_builder_new(struct ifp_block_builder **out)
{
	IFP_CLEANUP(ifp_block_builder_free)
	struct ifp_block_builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return ifp_fail(-ENOMEM, "make a block builder");
	/* Touched as it is filled, so a builder of few events costs few pages. */
	builder->entries = malloc(IFP_BLOCK_MAX_EVENTS * sizeof(*builder->entries));
	builder->zstd = ZSTD_createCCtx();
	builder->stamp = 1;
	if (!builder->entries || !builder->zstd)
		return ifp_fail(-ENOMEM, "make a block builder");
	*out = IFP_TAKE_PTR(builder);
	return 0;
}

void ifp_block_builder_free(struct ifp_block_builder **builder)
{
	if (!*builder)
		return;
	free((*builder)->entries);
	free((*builder)->values);
	free((*builder)->memos);
	ifp_intern_free(&(*builder)->texts);
	ifp_intern_free(&(*builder)->templates);
	ifp_intern_free(&(*builder)->lanes);
	ifp_buf_free(&(*builder)->form);
	ZSTD_freeCCtx((*builder)->zstd);
	free(*builder);
	*builder = NULL;
}

uint32_t ifp_block_builder_count(const struct ifp_block_builder *builder)
{
	return builder->count;
}

/* Room for the numbers of one more event. */
static int reserve_values(struct ifp_block_builder *builder)
{
	return IFP_ARRAY_RESERVE(builder->values, builder->value_capacity, builder->value_count,
		IFP_ARGS_MAX_SLOTS, "numbers of args");
}

/* The form is left in builder->form, the numbers behind those of the events before. */
static int split_args(
	struct ifp_block_builder *builder, struct ifp_str args, struct ifp_args_split *split)
{
	uint64_t *values;
	int err = reserve_values(builder);

	if (err)
		return err;
	values = builder->values + builder->value_count;
	*split = (struct ifp_args_split){.values = values};
	ifp_buf_clear(&builder->form);
	ifp_buf_append_u8(&builder->form, IFP_TEMPLATE_SPLIT);
	split->count = ifp_template_split(args, &builder->form, values, IFP_ARGS_MAX_SLOTS);
	if (split->count == UINT32_MAX) {
		split->count = 0;
		ifp_buf_clear(&builder->form);
		ifp_buf_append_u8(&builder->form, IFP_TEMPLATE_PLAIN);
		ifp_buf_append(&builder->form, args.ptr, args.len_bytes);
	}
	split->form = (struct ifp_str){
		(const char *)builder->form.data, (uint32_t)builder->form.len_bytes};
	return ifp_buf_status(&builder->form);
}

static int intern_lane(struct ifp_block_builder *builder, const struct ifp_lane *lane, uint32_t *id)
{
	struct ifp_block_lane key = {.pid = lane->pid, .tid = lane->tid, .kind = lane->kind};
	int err = ifp_intern(&builder->texts, lane->pid_text, &key.pid_text);

	if (!err)
		err = ifp_intern(&builder->texts, lane->tid_text, &key.tid_text);
	if (!err)
		err = ifp_intern(
			&builder->lanes, (struct ifp_str){(const char *)&key, sizeof(key)}, id);
	return err;
}

static int intern_texts(struct ifp_block_builder *builder, const struct ifp_event *event,
	const struct ifp_args_split *args, struct ifp_block_entry *entry)
{
	uint32_t known = builder->templates.count;
	int err = ifp_intern(&builder->texts, event->name, &entry->name);

	if (!err)
		err = ifp_intern(&builder->texts, event->category, &entry->category);
	if (!err)
		err = ifp_intern(&builder->texts, event->extra, &entry->extra);
	if (!err)
		err = ifp_intern(&builder->templates, args->form, &entry->template);
	if (!err && builder->templates.count > known)
		builder->slot_count += entry->slots;
	return err;
}

static bool is_lane(
	const struct ifp_block_builder *builder, uint32_t id, const struct ifp_lane *lane)
{
	struct ifp_block_lane key;

	memcpy(&key, ifp_intern_text(&builder->lanes, id).ptr, sizeof(key));
	return key.pid == lane->pid && key.tid == lane->tid && key.kind == lane->kind &&
	       ifp_str_equal(ifp_intern_text(&builder->texts, key.pid_text), lane->pid_text) &&
	       ifp_str_equal(ifp_intern_text(&builder->texts, key.tid_text), lane->tid_text);
}

/* As intern_texts() and intern_lane(), for events of which there are many with the same texts. */
static int intern_look(struct ifp_block_builder *builder, const struct ifp_event *event,
	const struct ifp_args_split *args, struct ifp_block_entry *entry)
{
	struct ifp_block_memo *memo;
	int err = 0;

	if (!builder->memos)
		builder->memos = calloc(IFP_BLOCK_MEMOS, sizeof(*builder->memos));
	if (!builder->memos)
		return ifp_fail(-ENOMEM, "no memory for the looks of a block's events");
	memo = &builder->memos[args->look % IFP_BLOCK_MEMOS];
	if (memo->look != args->look || memo->stamp != builder->stamp) {
		err = intern_lane(builder, &event->lane, &entry->lane);
		if (!err)
			err = intern_texts(builder, event, args, entry);
	} else {
		entry->name = memo->name;
		entry->category = memo->category;
		entry->extra = memo->extra;
		entry->template = memo->template;
		entry->lane = memo->lane;
		if (!is_lane(builder, memo->lane, &event->lane))
			err = intern_lane(builder, &event->lane, &entry->lane);
	}
	if (!err)
		*memo = (struct ifp_block_memo){args->look, builder->stamp, entry->name,
			entry->category, entry->extra, entry->template, entry->lane};
	return err;
}

static int intern_all(struct ifp_block_builder *builder, const struct ifp_event *event,
	const struct ifp_args_split *args, struct ifp_block_entry *entry)
{
	int err;

	if (args->look)
		return intern_look(builder, event, args, entry);
	err = intern_lane(builder, &event->lane, &entry->lane);
	return err ? err : intern_texts(builder, event, args, entry);
}

static size_t texts_bytes(const struct ifp_event *event, uint32_t args_bytes)
{
	return (size_t)event->name.len_bytes + event->category.len_bytes + args_bytes +
	       event->extra.len_bytes + event->lane.pid_text.len_bytes +
	       event->lane.tid_text.len_bytes;
}

/* 0, or why an event cannot be added now or ever. */
static int check(
	const struct ifp_block_builder *builder, const struct ifp_event *event, size_t raw_bytes)
{
	if (raw_bytes > IFP_BLOCK_MAX_RAW_BYTES)
		return ifp_fail(-EMSGSIZE,
			"an event with %zu bytes of text exceeds the limit of %u", raw_bytes,
			IFP_BLOCK_MAX_RAW_BYTES);
	if (event->kind >= IFP_EVENT_KIND_MAX || event->source >= IFP_SOURCE_MAX ||
		event->clock >= IFP_CLOCK_DOMAIN_MAX || event->lane.kind >= IFP_LANE_KIND_MAX)
		return ifp_fail(-EINVAL, "an event of kind %u, source %u, clock %u, lane kind %u",
			event->kind, event->source, event->clock, event->lane.kind);
	if (builder->count == IFP_BLOCK_MAX_EVENTS ||
		builder->raw_bytes + raw_bytes > IFP_BLOCK_MAX_RAW_BYTES)
		return -ENOSPC;
	return 0;
}

/* The numbers stand behind those of the events before already. */
static int put(struct ifp_block_builder *builder, const struct ifp_event *event,
	const struct ifp_args_split *args, size_t raw_bytes)
{
	struct ifp_block_entry entry = {
		.start = event->start,
		.dur = event->dur,
		.correlation = event->correlation,
		.first_value = (uint32_t)builder->value_count,
		.slots = args->count,
		.kind = (uint8_t)event->kind,
		.source = (uint8_t)event->source,
		.clock = (uint8_t)event->clock,
	};
	int err;

	if (builder->value_count + entry.slots > IFP_BLOCK_MAX_VALUES ||
		builder->slot_count + entry.slots > IFP_BLOCK_MAX_SLOTS)
		return -ENOSPC;
	err = intern_all(builder, event, args, &entry);
	if (err)
		return err;
	builder->entries[builder->count++] = entry;
	builder->value_count += entry.slots;
	builder->raw_bytes += raw_bytes;
	return 0;
}

int ifp_block_builder_add(struct ifp_block_builder *builder, const struct ifp_event *event)
{
	size_t raw_bytes = texts_bytes(event, event->args.len_bytes);
	struct ifp_args_split args;
	int err = check(builder, event, raw_bytes);

	if (!err)
		err = split_args(builder, event->args, &args);
	return err ? err : put(builder, event, &args, raw_bytes);
}

int ifp_block_builder_add_split(struct ifp_block_builder *builder, const struct ifp_event *event,
	const struct ifp_args_split *args)
{
	size_t raw_bytes = texts_bytes(event, args->text_bytes);
	int err;

	if (!args->form.len_bytes)
		return ifp_block_builder_add(builder, event);
	if (args->count > IFP_ARGS_MAX_SLOTS)
		return ifp_fail(-EINVAL, "args with %u numbers", args->count);
	err = check(builder, event, raw_bytes);
	if (!err)
		err = reserve_values(builder);
	if (err)
		return err;
	memcpy(builder->values + builder->value_count, args->values,
		args->count * sizeof(*args->values));
	return put(builder, event, args, raw_bytes);
}

void ifp_block_builder_clear(struct ifp_block_builder *builder)
{
	builder->count = 0;
	builder->raw_bytes = 0;
	builder->value_count = 0;
	builder->slot_count = 0;
	builder->stamp++;
	ifp_intern_clear(&builder->texts);
	ifp_intern_clear(&builder->templates);
	ifp_intern_clear(&builder->lanes);
}
