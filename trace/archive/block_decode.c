/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block_tables.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/template.h"

#include <stdlib.h>

/* What an ifp_block owns. */
struct memory {
	struct ifp_arena arena; /* texts but the args */
	struct ifp_buf args;
};

static void memory_free(struct memory **memory)
{
	if (!*memory)
		return;
	ifp_arena_free(&(*memory)->arena);
	ifp_buf_free(&(*memory)->args);
	free(*memory);
	*memory = NULL;
}

struct decoder {
	struct ifp_block_tables tables;
	struct ifp_block_state state;
	struct ifp_event *events;
	size_t *args_at;  /* by event: place of its args in memory->args */
	uint64_t *values; /* of one event's args */
	struct memory *memory;
};

static void decoder_free(struct decoder *decoder)
{
	ifp_block_tables_free(&decoder->tables);
	free(decoder->events);
	free(decoder->args_at);
	free(decoder->values);
	memory_free(&decoder->memory);
}

/* The numbers of an event's args: those of its variant and those of the columns. */
static void read_values(struct decoder *decoder, const struct ifp_block_template *template,
	const uint64_t *of_variant, uint64_t correlation)
{
	struct ifp_block_tables *tables = &decoder->tables;

	for (uint32_t slot = 0; slot < template->slots; slot++) {
		uint32_t c = tables->slots[template->first_slot + slot];
		uint64_t neighbour = slot ? decoder->values[slot - 1] : 0;
		struct ifp_block_column *column;

		if (c == IFP_NO_COLUMN) {
			decoder->values[slot] = *of_variant++;
			continue;
		}
		column = &tables->columns[c];
		decoder->values[slot] = ifp_unzigzag(column->values[column->next++],
			ifp_predict_column(
				&decoder->state, column, column->mode, correlation, neighbour));
		column->last = decoder->values[slot];
		decoder->state.key_last[column->key] = decoder->values[slot];
	}
}

static void join_args(
	struct decoder *decoder, const struct ifp_block_template *template, struct ifp_event *event)
{
	struct ifp_buf *args = &decoder->memory->args;
	size_t first = args->len_bytes;

	if (template->plain)
		ifp_buf_append(args, template->form.ptr, template->form.len_bytes);
	else
		ifp_template_join(template->form, decoder->values, args);
	event->args.len_bytes = (uint32_t)(args->len_bytes - first);
}

static void read_event(struct decoder *decoder, uint32_t i)
{
	struct ifp_block_tables *tables = &decoder->tables;
	uint32_t s = tables->sequence[i];
	const struct ifp_block_shape *shape = &tables->shapes[s];
	const struct ifp_block_track *track = &tables->tracks[shape->track];
	const struct ifp_block_variant *variant = &tables->variants[shape->variant];
	const struct ifp_block_template *template = &tables->templates[variant->template];
	uint32_t at = tables->track_next[shape->track]++;
	struct ifp_event *event = &decoder->events[i];

	*event = (struct ifp_event){.kind = track->kind,
		.source = track->source,
		.clock = track->clock,
		.lane = tables->lanes[track->lane],
		.name = tables->texts[shape->name],
		.category = tables->texts[shape->category],
		.extra = tables->texts[shape->extra]};
	event->start = (int64_t)ifp_unzigzag(tables->starts[at],
		ifp_predict_start(&decoder->state, track->start_mode, track->lane, shape->track));
	event->dur = (int64_t)ifp_unzigzag(tables->durations[at],
		ifp_predict_duration(&decoder->state, track->duration_mode, s));
	event->correlation = ifp_unzigzag(tables->correlations[at],
		ifp_predict_correlation(&decoder->state, track->correlation_mode, shape->track));
	read_values(decoder, template, variant->values, event->correlation);
	decoder->args_at[i] = decoder->memory->args.len_bytes;
	join_args(decoder, template, event);
	ifp_block_state_update(&decoder->state,
		(struct ifp_block_numbers){
			(uint64_t)event->start, (uint64_t)event->dur, event->correlation},
		track->lane, shape->track, s);
}

static int read_events(struct decoder *decoder)
{
	struct ifp_block_tables *tables = &decoder->tables;
	struct ifp_buf *args = &decoder->memory->args;
	uint32_t count = tables->counts[IFP_TABLE_EVENTS];
	int err = ifp_block_state_init(&decoder->state, &tables->arena,
		(struct ifp_block_state_sizes){.lanes = tables->counts[IFP_TABLE_LANES],
			.tracks = tables->counts[IFP_TABLE_TRACKS],
			.shapes = tables->counts[IFP_TABLE_SHAPES],
			.keys = tables->counts[IFP_TABLE_KEYS]});

	decoder->events = calloc((size_t)count + 1, sizeof(*decoder->events));
	decoder->args_at = calloc((size_t)count + 1, sizeof(*decoder->args_at));
	decoder->values = calloc(IFP_ARGS_MAX_SLOTS, sizeof(*decoder->values));
	if (err || !decoder->events || !decoder->args_at || !decoder->values)
		return ifp_fail(-ENOMEM, "read a block of %u events", count);
	for (uint32_t i = 0; i < count; i++) {
		read_event(decoder, i);
		if (args->len_bytes > IFP_BLOCK_MAX_RAW_BYTES)
			return ifp_fail(-EBADMSG, "a block whose args exceed %u bytes",
				IFP_BLOCK_MAX_RAW_BYTES);
	}
	err = ifp_buf_status(args);
	/* The buffer stays where it is from now on. */
	for (uint32_t i = 0; !err && i < count; i++)
		if (decoder->events[i].args.len_bytes)
			decoder->events[i].args.ptr =
				(const char *)args->data + decoder->args_at[i];
	return err;
}

int ifp_block_decode(const void *payload, size_t len_bytes, struct ifp_block *out)
{
	IFP_CLEANUP(decoder_free) struct decoder decoder = {0};
	int err;

	if (!len_bytes) {
		*out = (struct ifp_block){0};
		return 0;
	}
	decoder.memory = calloc(1, sizeof(*decoder.memory));
	if (!decoder.memory)
		return ifp_fail(-ENOMEM, "read a block");
	err = ifp_block_tables_read(payload, len_bytes, &decoder.tables, &decoder.memory->arena);
	if (!err)
		err = read_events(&decoder);
	if (err)
		return err;
	*out = (struct ifp_block){.events = IFP_TAKE_PTR(decoder.events),
		.count = decoder.tables.counts[IFP_TABLE_EVENTS],
		.memory = IFP_TAKE_PTR(decoder.memory)};
	return 0;
}

void ifp_block_free_events(struct ifp_block *block)
{
	free(block->events);
	block->events = NULL;
	block->count = 0;
}

void ifp_block_free(struct ifp_block *block)
{
	struct memory *memory = block->memory;

	memory_free(&memory);
	free(block->events);
	*block = (struct ifp_block){0};
}
