/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block_plan.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <stdlib.h>

#define ZSTD_LEVEL 1 /* what repeats has been taken out: higher ones gain a hundredth */
#define SERIES_COUNT ((IFP_SECTION_COUNT - IFP_SECTION_VARIANTS) / 2)

struct writer {
	const struct ifp_block_builder *builder;
	const struct ifp_block_plan *plan;
	struct ifp_buf text_lengths, texts, tables;
	struct ifp_pack series[SERIES_COUNT];
	struct ifp_buf compressed; /* all sections, one after the other */
	struct ifp_arena arena;
};

static void writer_free(struct writer *writer)
{
	ifp_buf_free(&writer->text_lengths);
	ifp_buf_free(&writer->texts);
	ifp_buf_free(&writer->tables);
	for (size_t i = 0; i < SERIES_COUNT; i++)
		ifp_pack_free(&writer->series[i]);
	ifp_buf_free(&writer->compressed);
	ifp_arena_free(&writer->arena);
}

static struct ifp_pack *series(struct writer *writer, enum ifp_block_section section)
{
	return &writer->series[(section - IFP_SECTION_VARIANTS) / 2];
}

static struct ifp_buf *section(struct writer *writer, unsigned int i)
{
	struct ifp_pack *pack;

	switch (i) {
	case IFP_SECTION_TEXT_LENGTHS:
		return &writer->text_lengths;
	case IFP_SECTION_TEXTS:
		return &writer->texts;
	case IFP_SECTION_TABLES:
		return &writer->tables;
	default:
		pack = &writer->series[(i - IFP_SECTION_VARIANTS) / 2];
		return (i - IFP_SECTION_VARIANTS) % 2 ? &pack->bits : &pack->tokens;
	}
}

static void write_texts(struct writer *writer, const struct ifp_intern *texts)
{
	for (uint32_t i = 0; i < texts->count; i++) {
		struct ifp_str text = ifp_intern_text(texts, i);

		ifp_buf_append_varint(&writer->text_lengths, text.len_bytes);
		ifp_buf_append(&writer->texts, text.ptr, text.len_bytes);
	}
}

static void write_lanes(struct writer *writer)
{
	for (uint32_t i = 0; i < writer->builder->lanes.count; i++) {
		struct ifp_block_lane lane;

		memcpy(&lane, ifp_intern_text(&writer->builder->lanes, i).ptr, sizeof(lane));
		ifp_buf_append_u8(&writer->tables, (uint8_t)lane.kind);
		ifp_buf_append_svarint(&writer->tables, lane.pid);
		ifp_buf_append_svarint(&writer->tables, lane.tid);
		ifp_buf_append_varint(&writer->tables, lane.pid_text);
		ifp_buf_append_varint(&writer->tables, lane.tid_text);
	}
}

static void write_tracks(struct writer *writer)
{
	for (uint32_t i = 0; i < writer->plan->tracks.count; i++) {
		const struct ifp_block_track *track = &writer->plan->track_modes[i];

		ifp_buf_append_varint(&writer->tables, track->lane);
		ifp_buf_append_u8(&writer->tables, (uint8_t)track->kind);
		ifp_buf_append_u8(&writer->tables, (uint8_t)track->source);
		ifp_buf_append_u8(&writer->tables, (uint8_t)track->clock);
		ifp_buf_append_u8(&writer->tables, (uint8_t)track->start_mode);
		ifp_buf_append_u8(&writer->tables, (uint8_t)track->duration_mode);
		ifp_buf_append_u8(&writer->tables, (uint8_t)track->correlation_mode);
	}
}

static void write_slots(struct writer *writer)
{
	for (uint32_t i = 0; i < writer->plan->slot_count; i++) {
		const struct ifp_block_column *column = writer->plan->slots[i];

		if (!column) {
			ifp_buf_append_u8(&writer->tables, IFP_SLOT_OF_VARIANT);
			continue;
		}
		ifp_buf_append_u8(&writer->tables, (uint8_t)(1 + column->mode));
		ifp_buf_append_varint(&writer->tables, column->key);
	}
}

/* Templates of all variants, then, template by template, the values slot by slot. */
static int write_variants(struct writer *writer)
{
	const struct ifp_block_plan *plan = writer->plan;
	uint32_t variants = plan->variants.count, templates = writer->builder->templates.count;
	struct ifp_pack *out = series(writer, IFP_SECTION_VARIANTS);
	uint32_t *template, *first, *order, fresh = 0;

	IFP_TAKE_ZEROED(&writer->arena, template, variants);
	IFP_TAKE_ZEROED(&writer->arena, first, templates + 1);
	IFP_TAKE_ZEROED(&writer->arena, order, variants);
	for (uint32_t v = 0; v < variants; v++) {
		template[v] = writer->builder->entries[plan->variant_entry[v]].template;
		ifp_pack_put(out, ifp_fresh_code(template[v], &fresh));
	}
	ifp_group(template, variants, templates, first, order);
	for (uint32_t t = 0; t < templates; t++) {
		for (uint32_t slot = 0; slot < plan->template_slots[t]; slot++) {
			if (plan->slots[plan->template_first[t] + slot])
				continue;
			for (uint32_t i = first[t]; i < first[t + 1]; i++) {
				uint32_t event = plan->variant_entry[order[i]];

				ifp_pack_put(
					out, writer->builder->values[writer->builder->entries[event]
									     .first_value +
								     slot]);
			}
		}
	}
	return 0;
}

static void write_shapes(struct writer *writer)
{
	struct ifp_pack *out = series(writer, IFP_SECTION_SHAPES);
	uint32_t count = writer->plan->shapes.count;
	struct ifp_block_shape fresh = {0};

	for (uint32_t i = 0; i < count; i++)
		ifp_pack_put(out,
			ifp_fresh_code(ifp_block_plan_shape(writer->plan, i).track, &fresh.track));
	for (uint32_t i = 0; i < count; i++)
		ifp_pack_put(out, ifp_block_plan_shape(writer->plan, i).category);
	for (uint32_t i = 0; i < count; i++)
		ifp_pack_put(out, ifp_block_plan_shape(writer->plan, i).name);
	for (uint32_t i = 0; i < count; i++)
		ifp_pack_put(out, ifp_fresh_code(ifp_block_plan_shape(writer->plan, i).variant,
					  &fresh.variant));
	for (uint32_t i = 0; i < count; i++)
		ifp_pack_put(out, ifp_block_plan_shape(writer->plan, i).extra);
}

static int write_sequence(struct writer *writer)
{
	struct ifp_pack *out = series(writer, IFP_SECTION_SEQUENCE);
	struct ifp_block_sequence *sequence;

	IFP_TAKE_ZEROED(&writer->arena, sequence, 1);
	for (uint32_t i = 0; i < writer->builder->count; i++) {
		uint32_t shape = writer->plan->shape[i];

		if (*ifp_sequence_slot(sequence) == shape + 1)
			ifp_pack_put(out, 0);
		else if (shape == sequence->next_fresh)
			ifp_pack_put(out, 1);
		else
			ifp_pack_put(out, (uint64_t)shape + 2);
		ifp_sequence_step(sequence, shape);
	}
	return 0;
}

/* Starts, durations and correlations, track by track. */
static int write_numbers(struct writer *writer)
{
	const struct ifp_block_plan *plan = writer->plan;
	uint32_t count = writer->builder->count;
	uint32_t *first, *order;

	IFP_TAKE_ZEROED(&writer->arena, first, plan->tracks.count + 1);
	IFP_TAKE_ZEROED(&writer->arena, order, count);
	ifp_group(plan->track, count, plan->tracks.count, first, order);
	for (uint32_t i = 0; i < count; i++) {
		ifp_pack_put(series(writer, IFP_SECTION_STARTS), plan->starts[order[i]]);
		ifp_pack_put(series(writer, IFP_SECTION_DURATIONS), plan->durations[order[i]]);
		ifp_pack_put(
			series(writer, IFP_SECTION_CORRELATIONS), plan->correlations[order[i]]);
	}
	for (uint32_t c = 0; c < plan->column_count; c++)
		for (uint32_t i = 0; i < plan->columns[c].next; i++)
			ifp_pack_put(series(writer, IFP_SECTION_ARGS), plan->columns[c].values[i]);
	return 0;
}

static int write_sections(struct writer *writer)
{
	int err;

	write_texts(writer, &writer->builder->texts);
	write_texts(writer, &writer->builder->templates);
	write_lanes(writer);
	write_tracks(writer);
	write_slots(writer);
	err = write_variants(writer);
	if (err)
		return err;
	write_shapes(writer);
	err = write_sequence(writer);
	if (!err)
		err = write_numbers(writer);
	for (size_t i = 0; i < SERIES_COUNT; i++)
		ifp_pack_end(&writer->series[i]);
	return err;
}

/* Appends a section to the compressed ones; as it is where zstd does not make it smaller. */
static int compress_section(struct writer *writer, const struct ifp_buf *raw, size_t *stored_bytes)
{
	struct ifp_buf *out = &writer->compressed;
	size_t bound = ZSTD_compressBound(raw->len_bytes), got;

	ifp_buf_reserve(out, bound);
	if (ifp_buf_status(raw) || ifp_buf_status(out))
		return -ENOMEM;
	got = ZSTD_compressCCtx(writer->builder->zstd, out->data + out->len_bytes, bound, raw->data,
		raw->len_bytes, ZSTD_LEVEL);
	if (ZSTD_isError(got))
		return ifp_fail(-ENOMEM, "compress a block: %s", ZSTD_getErrorName(got));
	if (got < raw->len_bytes) {
		out->len_bytes += got;
		*stored_bytes = got;
		return 0;
	}
	ifp_buf_append(out, raw->data, raw->len_bytes);
	*stored_bytes = raw->len_bytes;
	return 0;
}

static int write_payload(struct writer *writer, struct ifp_buf *payload)
{
	const uint32_t counts[IFP_TABLE_COUNT] = {
		[IFP_TABLE_EVENTS] = writer->builder->count,
		[IFP_TABLE_TEXTS] = writer->builder->texts.count,
		[IFP_TABLE_LANES] = writer->builder->lanes.count,
		[IFP_TABLE_TRACKS] = writer->plan->tracks.count,
		[IFP_TABLE_TEMPLATES] = writer->builder->templates.count,
		[IFP_TABLE_VARIANTS] = writer->plan->variants.count,
		[IFP_TABLE_SHAPES] = writer->plan->shapes.count,
		[IFP_TABLE_KEYS] = writer->plan->keys.count,
	};
	size_t raw_bytes = 0;

	for (unsigned int i = 0; i < IFP_SECTION_COUNT; i++)
		raw_bytes += section(writer, i)->len_bytes;
	if (raw_bytes > IFP_BLOCK_MAX_SECTION_BYTES) /* no decoder would take it */
		return ifp_fail(-EOVERFLOW, "a block of %zu bytes before compression", raw_bytes);
	ifp_buf_append_u8(payload, IFP_BLOCK_VERSION);
	for (size_t i = 0; i < IFP_TABLE_COUNT; i++)
		ifp_buf_append_varint(payload, counts[i]);
	for (unsigned int i = 0; i < IFP_SECTION_COUNT; i++) {
		const struct ifp_buf *raw = section(writer, i);
		size_t stored_bytes = 0;
		int err = compress_section(writer, raw, &stored_bytes);

		if (err)
			return err;
		ifp_buf_append_varint(payload, raw->len_bytes);
		ifp_buf_append_varint(payload, stored_bytes);
	}
	ifp_buf_append(payload, writer->compressed.data, writer->compressed.len_bytes);
	return ifp_buf_status(payload);
}

int ifp_block_builder_encode(struct ifp_block_builder *builder, struct ifp_buf *payload)
{
	IFP_CLEANUP(ifp_block_plan_free) struct ifp_block_plan plan = {0};
	IFP_CLEANUP(writer_free) struct writer writer = {.builder = builder, .plan = &plan};
	size_t before = payload->len_bytes;
	int err;

	if (!builder->count)
		return 0;
	err = ifp_block_plan(builder, &plan);
	if (!err)
		err = write_sections(&writer);
	if (!err)
		err = write_payload(&writer, payload);
	if (err) {
		payload->len_bytes = before;
		return err;
	}
	ifp_block_builder_clear(builder);
	return 0;
}
