/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block_tables.h"

#include "core/error.h"

struct reader {
	const struct ifp_cursor *section;
	struct ifp_block_tables *tables;
	uint32_t value_count; /* numbers of args that have been asked for */
};

static int malformed(const char *what)
{
	return ifp_fail(-EBADMSG, "a block with malformed %s", what);
}

static struct ifp_unpack series(const struct reader *reader, enum ifp_block_section section)
{
	return (struct ifp_unpack){.tokens = reader->section[section],
		.bits = reader->section[section + 1].data,
		.bits_len = (uint64_t)reader->section[section + 1].len_bytes * 8};
}

/* All tokens must have been used: numbers left over are a sign of damage. */
static int series_end(const struct ifp_unpack *in, const char *what)
{
	bool used_up = in->tokens.position_bytes == in->tokens.len_bytes;

	return in->tokens.failed || !used_up ? malformed(what) : 0;
}

static uint32_t below(struct ifp_unpack *in, uint64_t value, uint32_t limit)
{
	if (value >= limit) {
		in->tokens.failed = true;
		return 0;
	}
	return (uint32_t)value;
}

static uint32_t get_below(struct ifp_unpack *in, uint32_t limit)
{
	return below(in, ifp_unpack_get(in), limit);
}

static uint32_t get_fresh(struct ifp_unpack *in, uint32_t *next_fresh, uint32_t limit)
{
	return below(in, ifp_fresh_id(ifp_unpack_get(in), next_fresh), limit);
}

/* Memory for more numbers of args, within the limit of a block. */
static int take_values(struct reader *reader, uint64_t count, uint64_t **values)
{
	if (count > IFP_BLOCK_MAX_VALUES - reader->value_count)
		return ifp_fail(-EBADMSG, "a block with more than %u numbers in its args",
			IFP_BLOCK_MAX_VALUES);
	reader->value_count += (uint32_t)count;
	IFP_TAKE_ARRAY(&reader->tables->arena, *values, count);
	return 0;
}

static int read_variants(struct reader *reader)
{
	struct ifp_block_tables *tables = reader->tables;
	struct ifp_unpack in = series(reader, IFP_SECTION_VARIANTS);
	uint32_t variants = tables->counts[IFP_TABLE_VARIANTS];
	uint32_t templates = tables->counts[IFP_TABLE_TEMPLATES], fresh = 0;
	uint32_t *template, *first, *order;

	IFP_TAKE_ZEROED(&tables->arena, tables->variants, variants);
	IFP_TAKE_ZEROED(&tables->passing, template, variants);
	IFP_TAKE_ZEROED(&tables->passing, first, templates + 1);
	IFP_TAKE_ZEROED(&tables->passing, order, variants);
	for (uint32_t v = 0; v < variants; v++)
		template[v] = get_fresh(&in, &fresh, templates);
	if (in.tokens.failed)
		return malformed("variants");
	for (uint32_t v = 0; v < variants; v++) {
		struct ifp_block_variant *variant = &tables->variants[v];
		int err;

		variant->template = template[v];
		err = take_values(
			reader, tables->templates[template[v]].of_variant, &variant->values);
		if (err)
			return err;
	}
	ifp_group(template, variants, templates, first, order);
	for (uint32_t t = 0; t < templates; t++)
		for (uint32_t slot = 0; slot < tables->templates[t].of_variant; slot++)
			for (uint32_t i = first[t]; i < first[t + 1]; i++)
				tables->variants[order[i]].values[slot] = ifp_unpack_get(&in);
	return series_end(&in, "variants");
}

static int read_shapes(struct reader *reader)
{
	struct ifp_block_tables *tables = reader->tables;
	struct ifp_unpack in = series(reader, IFP_SECTION_SHAPES);
	uint32_t count = tables->counts[IFP_TABLE_SHAPES];
	uint32_t texts = tables->counts[IFP_TABLE_TEXTS];
	struct ifp_block_shape *shapes, fresh = {0};

	IFP_TAKE_ZEROED(&tables->arena, shapes, count);
	for (uint32_t i = 0; i < count; i++)
		shapes[i].track = get_fresh(&in, &fresh.track, tables->counts[IFP_TABLE_TRACKS]);
	for (uint32_t i = 0; i < count; i++)
		shapes[i].category = get_below(&in, texts);
	for (uint32_t i = 0; i < count; i++)
		shapes[i].name = get_below(&in, texts);
	for (uint32_t i = 0; i < count; i++)
		shapes[i].variant =
			get_fresh(&in, &fresh.variant, tables->counts[IFP_TABLE_VARIANTS]);
	for (uint32_t i = 0; i < count; i++)
		shapes[i].extra = get_below(&in, texts);
	tables->shapes = shapes;
	return series_end(&in, "shapes");
}

static int read_sequence(struct reader *reader)
{
	struct ifp_block_tables *tables = reader->tables;
	struct ifp_unpack in = series(reader, IFP_SECTION_SEQUENCE);
	uint32_t shapes = tables->counts[IFP_TABLE_SHAPES];
	uint32_t events = tables->counts[IFP_TABLE_EVENTS];
	struct ifp_block_sequence *sequence;
	uint64_t *codes;

	IFP_TAKE_ZEROED(&tables->passing, sequence, 1);
	IFP_TAKE_ARRAY(&tables->passing, tables->sequence, events);
	IFP_TAKE_ARRAY(&tables->passing, codes, events);
	ifp_unpack_series(&in, codes, events);
	for (uint32_t i = 0; i < events && !in.tokens.failed; i++) {
		uint64_t code = codes[i];
		uint32_t guess = *ifp_sequence_slot(sequence), shape;

		if (code == 0)
			shape = below(&in, (uint64_t)guess - 1, shapes);
		else if (code == 1)
			shape = below(&in, sequence->next_fresh, shapes);
		else
			shape = below(&in, code - 2, shapes);
		tables->sequence[i] = shape;
		ifp_sequence_step(sequence, shape);
	}
	return series_end(&in, "sequence of shapes");
}

static int read_series(struct reader *reader, enum ifp_block_section section, uint64_t **values)
{
	uint32_t count = reader->tables->counts[IFP_TABLE_EVENTS];
	struct ifp_unpack in = series(reader, section);

	IFP_TAKE_ARRAY(&reader->tables->passing, *values, count);
	ifp_unpack_series(&in, *values, count);
	return series_end(&in, "times");
}

static int read_columns(struct reader *reader)
{
	struct ifp_block_tables *tables = reader->tables;
	struct ifp_unpack in = series(reader, IFP_SECTION_ARGS);

	for (uint32_t t = 0; t < tables->counts[IFP_TABLE_TEMPLATES]; t++) {
		const struct ifp_block_template *template = &tables->templates[t];

		for (uint32_t slot = 0; slot < template->slots; slot++) {
			uint32_t c = tables->slots[template->first_slot + slot];
			uint64_t *values;
			int err;

			if (c == IFP_NO_COLUMN)
				continue;
			err = take_values(reader, template->uses, &values);
			if (err)
				return err;
			ifp_unpack_series(&in, values, template->uses);
			tables->columns[c].values = values;
		}
	}
	return series_end(&in, "args");
}

/* How many events there are of every template, and where the numbers of every track start. */
static int count_uses(struct reader *reader)
{
	struct ifp_block_tables *tables = reader->tables;
	uint32_t tracks = tables->counts[IFP_TABLE_TRACKS], sum = 0;

	IFP_TAKE_ZEROED(&tables->passing, tables->track_next, tracks);
	for (uint32_t i = 0; i < tables->counts[IFP_TABLE_EVENTS]; i++) {
		const struct ifp_block_shape *shape = &tables->shapes[tables->sequence[i]];

		tables->track_next[shape->track]++;
		tables->templates[tables->variants[shape->variant].template].uses++;
	}
	for (uint32_t t = 0; t < tracks; t++) {
		uint32_t uses = tables->track_next[t];

		tables->track_next[t] = sum;
		sum += uses;
	}
	return 0;
}

int ifp_block_series_read(
	const struct ifp_cursor section[IFP_SECTION_COUNT], struct ifp_block_tables *tables)
{
	struct reader reader = {.section = section, .tables = tables};
	int err = read_variants(&reader);

	if (!err)
		err = read_shapes(&reader);
	if (!err)
		err = read_sequence(&reader);
	if (!err)
		err = count_uses(&reader);
	if (!err)
		err = read_series(&reader, IFP_SECTION_STARTS, &tables->starts);
	if (!err)
		err = read_series(&reader, IFP_SECTION_DURATIONS, &tables->durations);
	if (!err)
		err = read_series(&reader, IFP_SECTION_CORRELATIONS, &tables->correlations);
	if (!err)
		err = read_columns(&reader);
	return err;
}
