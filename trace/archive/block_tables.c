/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block_tables.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/template.h"

#include <zstd.h>

/* Texts that an event can bring along: name, category, extra, and two of its lane. */
#define TEXTS_PER_EVENT 5u

struct reader {
	struct ifp_block_tables *tables;
	struct ifp_cursor section[IFP_SECTION_COUNT];
	struct ifp_arena raw; /* of uncompressed sections */
};

static void reader_free(struct reader *reader)
{
	ifp_arena_free(&reader->raw);
}

static int malformed(const char *what)
{
	return ifp_fail(-EBADMSG, "a block with %s", what);
}

/* A number below limit, else the cursor fails and it is 0. */
static uint32_t below(struct ifp_cursor *cursor, uint64_t value, uint32_t limit)
{
	if (value >= limit) {
		cursor->failed = true;
		return 0;
	}
	return (uint32_t)value;
}

static uint32_t read_below(struct ifp_cursor *cursor, uint32_t limit)
{
	return below(cursor, ifp_cursor_varint(cursor), limit);
}

static uint32_t read_byte_below(struct ifp_cursor *cursor, uint32_t limit)
{
	return below(cursor, ifp_cursor_u8(cursor), limit);
}

static int read_counts(struct ifp_cursor *head, uint32_t counts[IFP_TABLE_COUNT])
{
	uint8_t version = ifp_cursor_u8(head);
	uint32_t events;

	if (!head->failed && version != IFP_BLOCK_VERSION)
		return ifp_fail(
			-EBADMSG, "a block of version %u, not %u", version, IFP_BLOCK_VERSION);
	events = read_below(head, IFP_BLOCK_MAX_EVENTS + 1);
	counts[IFP_TABLE_EVENTS] = events;
	for (unsigned int i = IFP_TABLE_TEXTS; i < IFP_TABLE_COUNT; i++) {
		uint32_t most = i == IFP_TABLE_TEXTS  ? events * TEXTS_PER_EVENT
				: i == IFP_TABLE_KEYS ? IFP_BLOCK_MAX_SLOTS
						      : events;

		counts[i] = read_below(head, most + 1);
	}
	return head->failed || !events ? malformed("impossible counts") : 0;
}

static int load_section(struct reader *reader, unsigned int i, struct ifp_cursor *body,
	size_t raw_bytes, size_t stored_bytes)
{
	const uint8_t *stored = ifp_cursor_bytes(body, stored_bytes);
	uint8_t *raw;
	size_t got;

	if (!stored)
		return malformed("a section beyond its end");
	if (raw_bytes == stored_bytes) {
		reader->section[i] = ifp_cursor(stored, stored_bytes);
		return 0;
	}
	raw = ifp_arena_alloc(&reader->raw, raw_bytes + 1);
	if (!raw)
		return ifp_fail(-ENOMEM, "uncompress a block");
	got = ZSTD_decompress(raw, raw_bytes, stored, stored_bytes);
	if (ZSTD_isError(got) || got != raw_bytes)
		return malformed("a section that cannot be uncompressed");
	reader->section[i] = ifp_cursor(raw, raw_bytes);
	return 0;
}

static int load_sections(struct reader *reader, struct ifp_cursor *head)
{
	size_t raw_bytes[IFP_SECTION_COUNT], stored_bytes[IFP_SECTION_COUNT], sum_bytes = 0;
	int err = 0;

	for (unsigned int i = 0; i < IFP_SECTION_COUNT; i++) {
		raw_bytes[i] = read_below(head, IFP_BLOCK_MAX_SECTION_BYTES + 1);
		stored_bytes[i] = read_below(head, IFP_BLOCK_MAX_SECTION_BYTES + 1);
		sum_bytes += raw_bytes[i];
	}
	if (head->failed || sum_bytes > IFP_BLOCK_MAX_SECTION_BYTES)
		return malformed("impossible section sizes");
	for (unsigned int i = 0; !err && i < IFP_SECTION_COUNT; i++)
		err = load_section(reader, i, head, raw_bytes[i], stored_bytes[i]);
	if (!err && head->position_bytes != head->len_bytes)
		err = malformed("bytes behind its end");
	return err;
}

static int read_texts(struct reader *reader)
{
	struct ifp_block_tables *tables = reader->tables;
	struct ifp_cursor *lengths = &reader->section[IFP_SECTION_TEXT_LENGTHS];
	const struct ifp_cursor *from = &reader->section[IFP_SECTION_TEXTS];
	uint32_t count = tables->counts[IFP_TABLE_TEXTS] + tables->counts[IFP_TABLE_TEMPLATES];
	size_t left = from->len_bytes;
	char *copy = ifp_arena_alloc(&tables->arena, from->len_bytes + 1);

	if (from->len_bytes > IFP_BLOCK_MAX_RAW_BYTES + tables->counts[IFP_TABLE_TEMPLATES])
		return malformed("too much text");
	if (!copy)
		return ifp_fail(-ENOMEM, "read %zu bytes of texts", from->len_bytes);
	if (from->len_bytes)
		memcpy(copy, from->data, from->len_bytes);
	IFP_TAKE_ZEROED(&tables->arena, tables->texts, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t len = read_below(lengths, (uint32_t)left + 1);

		tables->texts[i] = (struct ifp_str){len ? copy : NULL, len};
		copy += len;
		left -= len;
	}
	return lengths->failed || left ? malformed("impossible lengths of texts") : 0;
}

static int read_lanes(struct reader *reader)
{
	struct ifp_block_tables *tables = reader->tables;
	struct ifp_cursor *in = &reader->section[IFP_SECTION_TABLES];
	uint32_t texts = tables->counts[IFP_TABLE_TEXTS];

	IFP_TAKE_ZEROED(&tables->arena, tables->lanes, tables->counts[IFP_TABLE_LANES]);
	for (uint32_t i = 0; !in->failed && i < tables->counts[IFP_TABLE_LANES]; i++) {
		struct ifp_lane *lane = &tables->lanes[i];
		uint32_t pid_text, tid_text;

		lane->kind = (enum ifp_lane_kind)read_byte_below(in, IFP_LANE_KIND_MAX);
		lane->pid = ifp_cursor_svarint(in);
		lane->tid = ifp_cursor_svarint(in);
		pid_text = read_below(in, texts);
		tid_text = read_below(in, texts);
		if (in->failed)
			break;
		lane->pid_text = tables->texts[pid_text];
		lane->tid_text = tables->texts[tid_text];
	}
	return in->failed ? malformed("malformed lanes") : 0;
}

static int read_tracks(struct reader *reader)
{
	struct ifp_block_tables *tables = reader->tables;
	struct ifp_cursor *in = &reader->section[IFP_SECTION_TABLES];

	IFP_TAKE_ZEROED(&tables->arena, tables->tracks, tables->counts[IFP_TABLE_TRACKS]);
	for (uint32_t i = 0; !in->failed && i < tables->counts[IFP_TABLE_TRACKS]; i++) {
		struct ifp_block_track *track = &tables->tracks[i];

		track->lane = read_below(in, tables->counts[IFP_TABLE_LANES]);
		track->kind = (enum ifp_event_kind)read_byte_below(in, IFP_EVENT_KIND_MAX);
		track->source = (enum ifp_event_source)read_byte_below(in, IFP_SOURCE_MAX);
		track->clock = (enum ifp_clock_domain)read_byte_below(in, IFP_CLOCK_DOMAIN_MAX);
		track->start_mode = (enum ifp_start_mode)read_byte_below(in, IFP_START_MODES);
		track->duration_mode =
			(enum ifp_duration_mode)read_byte_below(in, IFP_DURATION_MODES);
		track->correlation_mode =
			(enum ifp_correlation_mode)read_byte_below(in, IFP_CORRELATION_MODES);
	}
	return in->failed ? malformed("malformed tracks") : 0;
}

static int count_slots(struct reader *reader, uint32_t *slot_count)
{
	struct ifp_block_tables *tables = reader->tables;
	uint32_t texts = tables->counts[IFP_TABLE_TEXTS];

	IFP_TAKE_ZEROED(&tables->arena, tables->templates, tables->counts[IFP_TABLE_TEMPLATES]);
	for (uint32_t i = 0; i < tables->counts[IFP_TABLE_TEMPLATES]; i++) {
		struct ifp_block_template *template = &tables->templates[i];
		struct ifp_str text = tables->texts[texts + i];

		if (!text.len_bytes || (uint8_t)text.ptr[0] > IFP_TEMPLATE_SPLIT)
			return malformed("a template of unknown kind");
		template->plain = (uint8_t)text.ptr[0] == IFP_TEMPLATE_PLAIN;
		template->form = (struct ifp_str){text.ptr + 1, text.len_bytes - 1};
		template->first_slot = *slot_count;
		if (!template->plain)
			template->slots = ifp_template_slots(template->form);
		if (template->slots > IFP_ARGS_MAX_SLOTS ||
			(*slot_count += template->slots) > IFP_BLOCK_MAX_SLOTS)
			return malformed("too many numbers in its templates");
	}
	return 0;
}

static uint32_t before_slot(const struct ifp_block_tables *tables,
	const struct ifp_block_template *template, uint32_t slot)
{
	if (!slot)
		return IFP_BEFORE_NOTHING;
	return tables->slots[template->first_slot + slot - 1] == IFP_NO_COLUMN
		       ? template->of_variant - 1
		       : IFP_BEFORE_COLUMN;
}

static void read_slot(struct reader *reader, struct ifp_block_template *template, uint32_t slot)
{
	struct ifp_block_tables *tables = reader->tables;
	struct ifp_cursor *in = &reader->section[IFP_SECTION_TABLES];
	uint32_t code = read_byte_below(in, 1 + IFP_COLUMN_MODES);
	struct ifp_block_column *column = &tables->columns[tables->column_count];

	if (code == IFP_SLOT_OF_VARIANT) {
		tables->slots[template->first_slot + slot] = IFP_NO_COLUMN;
		template->of_variant++;
		return;
	}
	column->mode = (enum ifp_column_mode)(code - 1);
	column->key = read_below(in, tables->counts[IFP_TABLE_KEYS]);
	tables->before[tables->column_count] = before_slot(tables, template, slot);
	tables->slots[template->first_slot + slot] = tables->column_count++;
}

static int read_templates(struct reader *reader)
{
	struct ifp_block_tables *tables = reader->tables;
	struct ifp_cursor *in = &reader->section[IFP_SECTION_TABLES];
	uint32_t slot_count = 0;
	int err = count_slots(reader, &slot_count);

	if (err)
		return err;
	IFP_TAKE_ZEROED(&tables->arena, tables->slots, slot_count);
	IFP_TAKE_ZEROED(&tables->arena, tables->slot_at, slot_count);
	IFP_TAKE_ZEROED(&tables->arena, tables->before, slot_count);
	IFP_TAKE_ZEROED(&tables->arena, tables->columns, slot_count);
	for (uint32_t i = 0; i < tables->counts[IFP_TABLE_TEMPLATES]; i++) {
		struct ifp_block_template *template = &tables->templates[i];

		template->first_column = tables->column_count;
		if (template->slots)
			ifp_template_find_slots(
				template->form, &tables->slot_at[template->first_slot]);
		for (uint32_t slot = 0; slot < template->slots; slot++)
			read_slot(reader, template, slot);
		template->column_count = tables->column_count - template->first_column;
	}
	return in->failed || in->position_bytes != in->len_bytes ? malformed("malformed templates")
								 : 0;
}

int ifp_block_tables_read(const void *payload, size_t len_bytes, struct ifp_block_tables *tables)
{
	IFP_CLEANUP(reader_free) struct reader reader = {.tables = tables};
	struct ifp_cursor head = ifp_cursor(payload, len_bytes);
	int err = read_counts(&head, tables->counts);

	if (!err)
		err = load_sections(&reader, &head);
	if (!err)
		err = read_texts(&reader);
	if (!err)
		err = read_lanes(&reader);
	if (!err)
		err = read_tracks(&reader);
	if (!err)
		err = read_templates(&reader);
	if (!err)
		err = ifp_block_series_read(reader.section, tables);
	return err;
}

void ifp_block_tables_free(struct ifp_block_tables *tables)
{
	ifp_arena_free(&tables->arena);
	ifp_arena_free(&tables->passing);
}
