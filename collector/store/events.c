/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/store/run_internal.h"

#include "clocksync/estimate/converter.h"
#include "collector/store/sort.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* A mapped duration may differ from the measured one by drift: one in a thousand and 1 us. */
#define DRIFT_SHARE 1000
#define DRIFT_SLACK_NS 1000

/* An event takes three, and what is looked at most is in the first one. */
#define CACHE_LINE_BYTES 64
_Static_assert(sizeof(struct ifp_timed_event) % CACHE_LINE_BYTES == 0,
	"events begin with a line of the cache");

/* Decoded blocks: they own the texts of all events that are handed out. */
struct blocks {
	char *args; /* of the events that have theirs */
	uint32_t count;
	struct block {
		struct ifp_block_rows rows;
		uint32_t first_look; /* that of its first shape */
		bool *has_args;	     /* by shape; NULL = all */
	} items[];
};

static void blocks_free(struct blocks **blocks)
{
	for (uint32_t i = 0; *blocks && i < (*blocks)->count; i++) {
		ifp_block_rows_free(&(*blocks)->items[i].rows);
		free((*blocks)->items[i].has_args);
	}
	if (*blocks)
		free((*blocks)->args);
	free(*blocks);
	*blocks = NULL;
}

static int64_t subtract_saturating(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return difference;
}

/* Whether it is a move of the map that made an event longer or shorter than it was measured. */
static bool is_moved(struct ifp_clock_converter *converter, enum ifp_clock_domain clock,
	const struct ifp_block_row *event, int64_t slack)
{
	int64_t off;

	if (!converter->moves)
		return false;
	off = subtract_saturating(
		subtract_saturating(
			ifp_clock_convert_line(converter, clock, event->start + event->dur).ns,
			ifp_clock_convert_line(converter, clock, event->start).ns),
		event->dur);
	return off <= slack && off >= -slack;
}

/*
 * The end is mapped as well, so that what lies inside of another slice stays inside. Where the
 * clock was set in between, the measured duration is the better one; ticks have only the map.
 */
static int64_t map_duration(struct ifp_clock_converter *converter, enum ifp_clock_domain clock,
	const struct ifp_block_row *event, ifp_global_ns start)
{
	int64_t end, mapped, off, slack;

	if (event->dur <= 0 || __builtin_add_overflow(event->start, event->dur, &end))
		return 0;
	mapped = subtract_saturating(ifp_clock_convert(converter, clock, end).ns, start.ns);
	if (clock == IFP_CLOCK_TSC)
		return mapped > 0 ? mapped : 0;
	off = subtract_saturating(mapped, event->dur);
	slack = event->dur / DRIFT_SHARE + DRIFT_SLACK_NS;
	if ((off > slack || off < -slack) && !is_moved(converter, clock, event, slack))
		return event->dur;
	return mapped;
}

static void place(const struct ifp_run *run, struct ifp_clock_converter *converter,
	const struct ifp_event *shape, const struct ifp_block_row *row, struct ifp_place *out)
{
	ifp_global_ns start = ifp_clock_convert(converter, shape->clock, row->start);

	out->start_ns = subtract_saturating(start.ns, run->base.ns);
	out->dur_ns = shape->kind == IFP_EVENT_SLICE
			      ? map_duration(converter, shape->clock, row, start)
			      : 0;
}

int ifp_run_report_damage(struct ifp_run *run, uint32_t i)
{
	struct ifp_run_member *member = &run->members[i];
	uint32_t rank = member->seen.rank;
	int err = 0;

	for (uint32_t b = 0; b < member->block_count && !err; b++) {
		struct ifp_run_block *block = &member->blocks[b];

		if (!block->damaged || block->reported)
			continue;
		block->reported = true;
		err = ifp_run_ledger_printf(run, rank, "archive-damaged", block->event_count,
			"a damaged block of rank %" PRIu32 " was left out, with %" PRIu32
			" event%s",
			rank, block->event_count, block->event_count == 1 ? "" : "s");
	}
	return err ? err : ifp_run_report_gpus(run, member);
}

static int load_block(struct ifp_run *run, struct ifp_run_block *from, struct ifp_buf *buf,
	bool (*wants_args)(const struct ifp_event *look), struct block *out)
{
	struct ifp_block_rows *rows = &out->rows;
	struct ifp_frame frame;
	int err = ifp_archive_reader_load(run->reader, from->frame, buf, &frame);

	if (!err)
		err = ifp_block_rows_decode(frame.payload, frame.payload_bytes, rows);
	if (err || !wants_args)
		return err;
	out->has_args = malloc(rows->shape_count + 1u);
	if (!out->has_args) {
		ifp_block_rows_free(rows);
		return ifp_fail(-ENOMEM, "load a block");
	}
	for (uint32_t s = 0; s < rows->shape_count; s++)
		out->has_args[s] = wants_args(&rows->shapes[s]);
	return 0;
}

/* Decodes all blocks of a rank; damaged ones are left out. */
static int load_blocks(struct ifp_run *run, struct ifp_run_member *member,
	bool (*wants_args)(const struct ifp_event *look), struct blocks **out)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	IFP_CLEANUP(blocks_free) struct blocks *blocks = NULL;

	blocks = calloc(1, sizeof(*blocks) + member->block_count * sizeof(blocks->items[0]));
	if (!blocks)
		return ifp_fail(-ENOMEM, "load %u blocks", member->block_count);
	for (uint32_t i = 0; i < member->block_count; i++) {
		int err = load_block(
			run, &member->blocks[i], &buf, wants_args, &blocks->items[blocks->count]);

		if (!err)
			blocks->count++;
		if (err && err != -EBADMSG)
			return err;
		if (err)
			ifp_error_clear();
		member->blocks[i].damaged |= err != 0;
	}
	*out = IFP_TAKE_PTR(blocks);
	return 0;
}

static bool has_args(const struct block *block, const struct ifp_block_row *row)
{
	return !block->has_args || block->has_args[row->shape];
}

/* How many events there are and how long the args are that are put together. */
static uint64_t count_rows(const struct blocks *blocks, size_t *args_bytes)
{
	uint64_t count = 0;

	*args_bytes = 0;
	for (uint32_t b = 0; b < blocks->count; b++) {
		const struct block *block = &blocks->items[b];

		count += block->rows.count;
		for (uint32_t e = 0; e < block->rows.count; e++)
			if (has_args(block, &block->rows.items[e]))
				*args_bytes += block->rows.items[e].args_bytes;
	}
	return count;
}

/* Gives the place behind its args. */
static char *make_event(const struct block *block, const struct ifp_place *place, char *args,
	struct ifp_timed_event *out)
{
	const struct ifp_block_row *row = &block->rows.items[place->row];

	out->event = block->rows.shapes[row->shape];
	out->event.start = row->start;
	out->event.dur = row->dur;
	out->event.correlation = row->correlation;
	out->event.args = (struct ifp_str){0};
	out->start_ns = place->start_ns;
	out->dur_ns = place->dur_ns;
	out->look = block->first_look + row->shape;
	out->args_at = row->args_at;
	out->args_bytes = 0;
	if (!row->args_bytes)
		return args;
	if (!has_args(block, row)) {
		out->args_bytes = row->args_bytes;
		return args;
	}
	out->event.args = (struct ifp_str){args, row->args_bytes};
	return ifp_block_rows_write_args(&block->rows, row, args);
}

/* Finds the GPUs of the rank; the same blocks give the same ones. */
static int find_gpus(
	struct ifp_run *run, struct ifp_run_member *member, const struct blocks *blocks)
{
	IFP_CLEANUP_FREE const struct ifp_block_rows **rows =
		malloc((blocks->count + 1u) * sizeof(*rows));

	if (!rows)
		return ifp_fail(-ENOMEM, "look for GPUs");
	for (uint32_t b = 0; b < blocks->count; b++)
		rows[b] = &blocks->items[b].rows;
	return ifp_run_find_gpus(run, member, rows, blocks->count);
}

/* Moves what a GPU has stamped to where it certainly was by its host's clock. */
static struct ifp_block_row correct(const struct ifp_run_member *member,
	const struct ifp_event *shape, const struct ifp_block_row *row)
{
	struct ifp_block_row moved = *row;
	int64_t end;

	if (!ifp_gpu_is_timed_by(shape))
		return moved;
	moved.start = ifp_run_gpu_time(member, shape->lane.pid, row->start, row->start);
	if (row->dur > 0 && !__builtin_add_overflow(row->start, row->dur, &end))
		moved.dur =
			ifp_run_gpu_time(member, shape->lane.pid, row->start, end) - moved.start;
	return moved;
}

static void place_rows(const struct ifp_run *run, const struct ifp_run_member *member,
	const struct blocks *blocks, struct ifp_place *places)
{
	bool moves = ifp_run_moves_gpus(run, member);
	struct ifp_clock_converter converter;

	ifp_clock_converter_init(&converter, member->seen.map);
	for (uint32_t b = 0; b < blocks->count; b++) {
		const struct ifp_block_rows *rows = &blocks->items[b].rows;

		for (uint32_t e = 0; e < rows->count; e++, places++) {
			const struct ifp_block_row *row = &rows->items[e];
			const struct ifp_event *shape = &rows->shapes[row->shape];
			struct ifp_block_row moved;

			if (moves) {
				moved = correct(member, shape, row);
				row = &moved;
			}
			place(run, &converter, shape, row, places);
			places->block = b;
			places->row = e;
		}
	}
}

static int place_events(const struct ifp_run *run, const struct ifp_run_member *member,
	struct blocks *blocks, struct ifp_rank_events *out)
{
	IFP_CLEANUP_FREE struct ifp_place *places = NULL;
	IFP_CLEANUP_FREE struct ifp_timed_event *events = NULL;
	size_t args_bytes;
	uint64_t count = count_rows(blocks, &args_bytes);
	char *args;
	int err;

	places = malloc((count + 1) * sizeof(*places));
	events = aligned_alloc(CACHE_LINE_BYTES, (count + 1) * sizeof(*events));
	blocks->args = args = malloc(args_bytes + 1);
	if (!places || !events || !args)
		return ifp_fail(-ENOMEM, "place %" PRIu64 " events in time", count);
	place_rows(run, member, blocks, places);
	err = ifp_places_sort(places, count);
	if (err)
		return err;
	out->look_count = 1;
	for (uint32_t b = 0; b < blocks->count; b++) {
		blocks->items[b].first_look = out->look_count;
		out->look_count += blocks->items[b].rows.shape_count;
	}
	for (uint64_t i = 0; i < count; i++)
		args = make_event(&blocks->items[places[i].block], &places[i], args, &events[i]);
	for (uint32_t b = 0; b < blocks->count; b++)
		ifp_block_rows_free_items(&blocks->items[b].rows);
	out->events = IFP_TAKE_PTR(events);
	out->count = count;
	return 0;
}

int ifp_run_read_events(struct ifp_run *run, uint32_t i,
	bool (*wants_args)(const struct ifp_event *look), struct ifp_rank_events *out)
{
	IFP_CLEANUP(blocks_free) struct blocks *blocks = NULL;
	struct ifp_run_member *member = &run->members[i];
	struct ifp_rank_events loaded = {0};
	int err;

	if (!member->seen.map) { /* the ledger has said so since the run was opened */
		*out = loaded;
		return 0;
	}
	err = load_blocks(run, member, wants_args, &blocks);
	if (!err)
		err = find_gpus(run, member, blocks);
	if (!err)
		err = place_events(run, member, blocks, &loaded);
	if (err)
		return ifp_fail(err, "load the events of rank %" PRIu32, member->seen.rank);
	loaded.memory = IFP_TAKE_PTR(blocks);
	*out = loaded;
	return 0;
}

int ifp_run_look_for_gpus(struct ifp_run *run, uint32_t i)
{
	IFP_CLEANUP(blocks_free) struct blocks *blocks = NULL;
	struct ifp_run_member *member = &run->members[i];
	int err;

	if (member->gpus_known || !member->seen.map)
		return 0;
	err = load_blocks(run, member, NULL, &blocks);
	if (!err)
		err = find_gpus(run, member, blocks);
	return err ? ifp_fail(err, "look for GPUs of rank %" PRIu32, member->seen.rank) : 0;
}

int ifp_run_load_events(struct ifp_run *run, uint32_t i, struct ifp_rank_events *out)
{
	struct ifp_rank_events loaded;
	int err = ifp_run_read_events(run, i, NULL, &loaded);

	if (err)
		return err;
	err = ifp_run_report_damage(run, i);
	if (err)
		ifp_rank_events_free(&loaded);
	else
		*out = loaded;
	return err;
}

/* The block that a look comes from, and which of its shapes it is. */
static const struct block *block_of(const struct blocks *blocks, uint32_t look, uint32_t *shape)
{
	uint32_t low = 0, high = blocks->count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (blocks->items[middle].first_look <= look)
			low = middle;
		else
			high = middle;
	}
	*shape = look - blocks->items[low].first_look;
	return &blocks->items[low];
}

struct ifp_str ifp_rank_events_args(const struct ifp_rank_events *events,
	const struct ifp_timed_event *timed, struct ifp_buf *scratch)
{
	struct ifp_block_row row = {.args_bytes = timed->args_bytes, .args_at = timed->args_at};
	const struct block *block;

	if (!timed->args_bytes)
		return timed->event.args;
	ifp_buf_clear(scratch);
	ifp_buf_reserve(scratch, timed->args_bytes);
	if (scratch->failed)
		return (struct ifp_str){0};
	block = block_of(events->memory, timed->look, &row.shape);
	ifp_block_rows_write_args(&block->rows, &row, (char *)scratch->data);
	scratch->len_bytes = timed->args_bytes;
	return (struct ifp_str){(const char *)scratch->data, timed->args_bytes};
}

struct ifp_block_args ifp_rank_events_form(const struct ifp_rank_events *events, uint32_t look)
{
	uint32_t shape;
	const struct block *block = block_of(events->memory, look, &shape);

	return ifp_block_rows_args(&block->rows, shape);
}

uint64_t ifp_rank_events_number(
	const struct ifp_rank_events *events, const struct ifp_timed_event *timed, uint32_t column)
{
	uint32_t shape;
	const struct block *block = block_of(events->memory, timed->look, &shape);

	return ifp_block_rows_number(&block->rows, column, timed->args_at);
}

void ifp_rank_events_free(struct ifp_rank_events *events)
{
	struct blocks *blocks = events->memory;

	blocks_free(&blocks);
	free(events->events);
	*events = (struct ifp_rank_events){0};
}
