/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block_builder.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/template.h"

#include <errno.h>
#include <stdlib.h>

int ifp_block_builder_new(struct ifp_block_builder **out)
{
	IFP_CLEANUP(ifp_block_builder_free)
	struct ifp_block_builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return ifp_fail(-ENOMEM, "make a block builder");
	/* Touched as it is filled, so a builder of few events costs few pages. */
	builder->entries = malloc(IFP_BLOCK_MAX_EVENTS * sizeof(*builder->entries));
	builder->zstd = ZSTD_createCCtx();
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

/* Leaves the template in form, the numbers behind values, and how many they are in *slots. */
static int split_args(struct ifp_block_builder *builder, struct ifp_str args, uint32_t *slots)
{
	int err = IFP_ARRAY_RESERVE(builder->values, builder->value_capacity, builder->value_count,
		IFP_ARGS_MAX_SLOTS, "numbers of args");

	if (err)
		return err;
	ifp_buf_clear(&builder->form);
	ifp_buf_append_u8(&builder->form, IFP_TEMPLATE_SPLIT);
	*slots = ifp_template_split(
		args, &builder->form, builder->values + builder->value_count, IFP_ARGS_MAX_SLOTS);
	if (*slots == UINT32_MAX) {
		*slots = 0;
		ifp_buf_clear(&builder->form);
		ifp_buf_append_u8(&builder->form, IFP_TEMPLATE_PLAIN);
		ifp_buf_append(&builder->form, args.ptr, args.len_bytes);
	}
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
	struct ifp_block_entry *entry)
{
	const struct ifp_str form = {
		(const char *)builder->form.data, (uint32_t)builder->form.len_bytes};
	uint32_t known = builder->templates.count;
	int err = intern_lane(builder, &event->lane, &entry->lane);

	if (!err)
		err = ifp_intern(&builder->texts, event->name, &entry->name);
	if (!err)
		err = ifp_intern(&builder->texts, event->category, &entry->category);
	if (!err)
		err = ifp_intern(&builder->texts, event->extra, &entry->extra);
	if (!err)
		err = ifp_intern(&builder->templates, form, &entry->template);
	if (!err && builder->templates.count > known)
		builder->slot_count += entry->slots;
	return err;
}

static size_t texts_bytes(const struct ifp_event *event)
{
	return (size_t)event->name.len_bytes + event->category.len_bytes + event->args.len_bytes +
	       event->extra.len_bytes + event->lane.pid_text.len_bytes +
	       event->lane.tid_text.len_bytes;
}

int ifp_block_builder_add(struct ifp_block_builder *builder, const struct ifp_event *event)
{
	struct ifp_block_entry entry = {.event = *event};
	size_t raw_bytes = texts_bytes(event);
	int err;

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
	err = split_args(builder, event->args, &entry.slots);
	if (err)
		return err;
	if (builder->value_count + entry.slots > IFP_BLOCK_MAX_VALUES ||
		builder->slot_count + entry.slots > IFP_BLOCK_MAX_SLOTS)
		return -ENOSPC;
	entry.first_value = (uint32_t)builder->value_count;
	err = intern_texts(builder, event, &entry);
	if (err)
		return err;
	builder->entries[builder->count++] = entry;
	builder->value_count += entry.slots;
	builder->raw_bytes += raw_bytes;
	return 0;
}

void ifp_block_builder_clear(struct ifp_block_builder *builder)
{
	builder->count = 0;
	builder->raw_bytes = 0;
	builder->value_count = 0;
	builder->slot_count = 0;
	ifp_intern_clear(&builder->texts);
	ifp_intern_clear(&builder->templates);
	ifp_intern_clear(&builder->lanes);
}
