/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block_tables.h"

#include "core/cleanup.h"
#include "core/decimal.h"
#include "core/error.h"
#include "trace/archive/template.h"

#include <stdlib.h>

struct decoder {
	struct ifp_block_tables *tables;
	struct ifp_block_state state;
	struct ifp_block_row *rows;
	uint32_t *next; /* by template: how many rows there were so far */
};

static void decoder_free(struct decoder *decoder)
{
	free(decoder->rows);
}

static void tables_free(struct ifp_block_tables **tables)
{
	if (*tables)
		ifp_block_tables_free(*tables);
	free(*tables);
	*tables = NULL;
}

/* What stands before a column's number in the same args. */
static uint64_t neighbour_of(
	const struct ifp_block_tables *tables, uint32_t c, const struct ifp_block_variant *variant)
{
	uint32_t before = tables->before[c];

	if (before == IFP_BEFORE_NOTHING)
		return 0;
	return before == IFP_BEFORE_COLUMN ? tables->columns[c - 1].last : variant->values[before];
}

/* Puts the numbers of an event into their columns, in place of the differences. */
static void read_numbers(
	struct decoder *decoder, const struct ifp_block_variant *variant, struct ifp_block_row *row)
{
	struct ifp_block_tables *tables = decoder->tables;
	const struct ifp_block_template *template = &tables->templates[variant->template];

	row->args_at = decoder->next[variant->template]++;
	row->args_bytes = variant->fixed_bytes;
	for (uint32_t i = 0; i < template->column_count; i++) {
		uint32_t c = template->first_column + i;
		struct ifp_block_column *column = &tables->columns[c];
		uint64_t *place = &column->values[row->args_at];
		uint64_t neighbour =
			column->mode == IFP_COLUMN_NEIGHBOUR ? neighbour_of(tables, c, variant) : 0;

		*place = ifp_unzigzag(*place, ifp_predict_column(&decoder->state, column,
						      column->mode, row->correlation, neighbour));
		column->last = *place;
		decoder->state.key_last[column->key] = *place;
		row->args_bytes += ifp_decimal_digits(*place);
	}
}

static void read_row(struct decoder *decoder, uint32_t i)
{
	struct ifp_block_tables *tables = decoder->tables;
	uint32_t s = tables->sequence[i];
	const struct ifp_block_shape *shape = &tables->shapes[s];
	const struct ifp_block_track *track = &tables->tracks[shape->track];
	uint32_t at = tables->track_next[shape->track]++;
	struct ifp_block_row *row = &decoder->rows[i];

	row->shape = s;
	row->start = (int64_t)ifp_unzigzag(tables->starts[at],
		ifp_predict_start(&decoder->state, track->start_mode, track->lane, shape->track));
	row->dur = (int64_t)ifp_unzigzag(tables->durations[at],
		ifp_predict_duration(&decoder->state, track->duration_mode, s));
	row->correlation = ifp_unzigzag(tables->correlations[at],
		ifp_predict_correlation(&decoder->state, track->correlation_mode, shape->track));
	read_numbers(decoder, &tables->variants[shape->variant], row);
	ifp_block_state_update(&decoder->state,
		(struct ifp_block_numbers){
			(uint64_t)row->start, (uint64_t)row->dur, row->correlation},
		track->lane, shape->track, s);
}

/* The lengths of args without the numbers that have columns. */
static void measure_variants(struct ifp_block_tables *tables)
{
	for (uint32_t v = 0; v < tables->counts[IFP_TABLE_VARIANTS]; v++) {
		struct ifp_block_variant *variant = &tables->variants[v];
		const struct ifp_block_template *template = &tables->templates[variant->template];

		variant->fixed_bytes = template->form.len_bytes - template->slots;
		for (uint32_t i = 0; i < template->of_variant; i++)
			variant->fixed_bytes += ifp_decimal_digits(variant->values[i]);
	}
}

static int read_rows(struct decoder *decoder)
{
	struct ifp_block_tables *tables = decoder->tables;
	uint32_t count = tables->counts[IFP_TABLE_EVENTS];
	uint64_t args_bytes = 0;
	int err = ifp_block_state_init(&decoder->state, &tables->passing,
		(struct ifp_block_state_sizes){.lanes = tables->counts[IFP_TABLE_LANES],
			.tracks = tables->counts[IFP_TABLE_TRACKS],
			.shapes = tables->counts[IFP_TABLE_SHAPES],
			.keys = tables->counts[IFP_TABLE_KEYS]});

	if (err)
		return err;
	IFP_TAKE_ZEROED(&tables->passing, decoder->next, tables->counts[IFP_TABLE_TEMPLATES]);
	decoder->rows = malloc(((size_t)count + 1) * sizeof(*decoder->rows));
	if (!decoder->rows)
		return ifp_fail(-ENOMEM, "read a block of %u events", count);
	measure_variants(tables);
	for (uint32_t i = 0; i < count; i++) {
		read_row(decoder, i);
		args_bytes += decoder->rows[i].args_bytes;
		if (args_bytes > IFP_BLOCK_MAX_RAW_BYTES)
			return ifp_fail(-EBADMSG, "a block whose args exceed %u bytes",
				IFP_BLOCK_MAX_RAW_BYTES);
	}
	return 0;
}

static int make_shapes(struct ifp_block_tables *tables, const struct ifp_event **out)
{
	uint32_t count = tables->counts[IFP_TABLE_SHAPES];
	struct ifp_event *events;

	IFP_TAKE_ARRAY(&tables->arena, events, count);
	for (uint32_t s = 0; s < count; s++) {
		const struct ifp_block_shape *shape = &tables->shapes[s];
		const struct ifp_block_track *track = &tables->tracks[shape->track];

		events[s] = (struct ifp_event){.kind = track->kind,
			.source = track->source,
			.clock = track->clock,
			.lane = tables->lanes[track->lane],
			.name = tables->texts[shape->name],
			.category = tables->texts[shape->category],
			.extra = tables->texts[shape->extra]};
	}
	*out = events;
	return 0;
}

int ifp_block_rows_decode(const void *payload, size_t len_bytes, struct ifp_block_rows *out)
{
	IFP_CLEANUP(tables_free) struct ifp_block_tables *tables = NULL;
	IFP_CLEANUP(decoder_free) struct decoder decoder = {0};
	const struct ifp_event *shapes = NULL;
	int err;

	if (!len_bytes) {
		*out = (struct ifp_block_rows){0};
		return 0;
	}
	decoder.tables = tables = calloc(1, sizeof(*tables));
	if (!tables)
		return ifp_fail(-ENOMEM, "read a block");
	err = ifp_block_tables_read(payload, len_bytes, tables);
	if (!err)
		err = read_rows(&decoder);
	if (!err)
		err = make_shapes(tables, &shapes);
	if (err)
		return err;
	ifp_arena_free(&tables->passing);
	*out = (struct ifp_block_rows){.items = IFP_TAKE_PTR(decoder.rows),
		.count = tables->counts[IFP_TABLE_EVENTS],
		.shapes = shapes,
		.shape_count = tables->counts[IFP_TABLE_SHAPES],
		.memory = IFP_TAKE_PTR(tables)};
	return 0;
}

void ifp_block_rows_free_items(struct ifp_block_rows *rows)
{
	free(rows->items);
	rows->items = NULL;
	rows->count = 0;
}

void ifp_block_rows_free(struct ifp_block_rows *rows)
{
	struct ifp_block_tables *tables = rows->memory;

	tables_free(&tables);
	free(rows->items);
	*rows = (struct ifp_block_rows){0};
}

static const struct ifp_block_variant *variant_of(
	const struct ifp_block_tables *tables, uint32_t shape)
{
	return &tables->variants[tables->shapes[shape].variant];
}

char *ifp_block_rows_write_args(
	const struct ifp_block_rows *rows, const struct ifp_block_row *row, char *out)
{
	const struct ifp_block_tables *tables = rows->memory;
	const struct ifp_block_variant *variant = variant_of(tables, row->shape);
	const struct ifp_block_template *template = &tables->templates[variant->template];
	const uint64_t *shared = variant->values;
	uint32_t literal = 0;

	for (uint32_t i = 0; i < template->slots; i++) {
		uint32_t c = tables->slots[template->first_slot + i];
		uint32_t at = tables->slot_at[template->first_slot + i];
		uint64_t value =
			c == IFP_NO_COLUMN ? *shared++ : tables->columns[c].values[row->args_at];

		memcpy(out, template->form.ptr + literal, at - literal);
		out = ifp_decimal_write(out + (at - literal), value, ifp_decimal_digits(value));
		literal = at + 1;
	}
	if (template->form.len_bytes > literal)
		memcpy(out, template->form.ptr + literal, template->form.len_bytes - literal);
	return out + (template->form.len_bytes - literal);
}

struct ifp_block_args ifp_block_rows_args(const struct ifp_block_rows *rows, uint32_t shape)
{
	const struct ifp_block_tables *tables = rows->memory;
	const struct ifp_block_variant *variant = variant_of(tables, shape);
	const struct ifp_block_template *template = &tables->templates[variant->template];

	return (struct ifp_block_args){
		.form = template->form,
		.slots = template->slots,
		.slot_at = tables->slot_at + template->first_slot,
		.columns = tables->slots + template->first_slot,
		.shared = variant->values,
	};
}

uint64_t ifp_block_rows_number(const struct ifp_block_rows *rows, uint32_t column, uint32_t args_at)
{
	const struct ifp_block_tables *tables = rows->memory;

	return tables->columns[column].values[args_at];
}
