/* SPDX-License-Identifier: Apache-2.0 */
/* The events of one rank in job time. */
#include "collector/store/run_internal.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/block.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* A mapped duration may differ from the measured one by drift: one in a thousand and 1 us. */
#define DRIFT_SHARE 1000
#define DRIFT_SLACK_NS 1000

/* Decoded blocks: they own the texts of all events that are handed out. */
struct blocks {
	uint32_t count;
	struct ifp_block items[];
};

static void blocks_free(struct blocks **blocks)
{
	for (uint32_t i = 0; *blocks && i < (*blocks)->count; i++)
		ifp_block_free(&(*blocks)->items[i]);
	free(*blocks);
	*blocks = NULL;
}

/* What events are sorted by; they themselves are large. */
struct key {
	int64_t start_ns, dur_ns;
	uint32_t block, event;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *left = a, *right = b;

	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	if (left->dur_ns != right->dur_ns)
		return left->dur_ns > right->dur_ns ? -1 : 1;
	if (left->block != right->block)
		return left->block < right->block ? -1 : 1;
	return (left->event > right->event) - (left->event < right->event);
}

static int64_t subtract_saturating(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return difference;
}

/*
 * The end is mapped as well, so that what lies inside of another slice stays inside. Where the
 * clock was set in between, the measured duration is the better one; ticks have only the map.
 */
static int64_t map_duration(
	const struct ifp_clock_map *map, const struct ifp_event *event, ifp_global_ns start)
{
	int64_t end, mapped, off, slack;

	if (event->kind != IFP_EVENT_SLICE || event->dur <= 0 ||
		__builtin_add_overflow(event->start, event->dur, &end))
		return 0;
	mapped = subtract_saturating(ifp_clock_map_global(map, event->clock, end).ns, start.ns);
	if (event->clock == IFP_CLOCK_TSC)
		return mapped > 0 ? mapped : 0;
	off = subtract_saturating(mapped, event->dur);
	slack = event->dur / DRIFT_SHARE + DRIFT_SLACK_NS;
	if (off > slack || off < -slack)
		return event->dur;
	return mapped;
}

static struct key make_key(
	const struct ifp_run *run, const struct ifp_clock_map *map, const struct ifp_event *event)
{
	ifp_global_ns start = ifp_clock_map_global(map, event->clock, event->start);

	return (struct key){.start_ns = subtract_saturating(start.ns, run->base.ns),
		.dur_ns = map_duration(map, event, start)};
}

int ifp_run_report_damage(struct ifp_run *run, uint32_t i)
{
	const struct ifp_run_member *member = &run->members[i];
	uint32_t rank = member->seen.rank;
	int err = 0;

	for (uint32_t b = 0; b < member->block_count && !err; b++) {
		struct ifp_run_block *block = &member->blocks[b];

		if (!block->damaged || block->reported)
			continue;
		block->reported = true;
		err = ifp_run_ledger_printf(run, rank, "archive-damaged", block->event_count,
			"a damaged block of rank %" PRIu32 " was left out, with %" PRIu32 " events",
			rank, block->event_count);
	}
	return err;
}

/* Decodes all blocks of a rank; damaged ones are left out. */
static int load_blocks(struct ifp_run *run, struct ifp_run_member *member, struct blocks **out)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	IFP_CLEANUP(blocks_free) struct blocks *blocks = NULL;

	blocks = calloc(1, sizeof(*blocks) + member->block_count * sizeof(blocks->items[0]));
	if (!blocks)
		return ifp_fail(-ENOMEM, "load %u blocks", member->block_count);
	for (uint32_t i = 0; i < member->block_count; i++) {
		struct ifp_frame frame;
		int err =
			ifp_archive_reader_load(run->reader, member->blocks[i].frame, &buf, &frame);

		if (!err)
			err = ifp_block_decode(
				frame.payload, frame.payload_bytes, &blocks->items[blocks->count]);
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

static int place_events(const struct ifp_run *run, const struct ifp_clock_map *map,
	struct blocks *blocks, struct ifp_rank_events *out)
{
	IFP_CLEANUP_FREE struct key *keys = NULL;
	struct ifp_timed_event *events;
	uint64_t count = 0, next = 0;

	for (uint32_t b = 0; b < blocks->count; b++)
		count += blocks->items[b].count;
	keys = calloc(count + 1, sizeof(*keys));
	events = calloc(count + 1, sizeof(*events));
	if (!keys || !events) {
		free(events);
		return ifp_fail(-ENOMEM, "place %" PRIu64 " events in time", count);
	}
	for (uint32_t b = 0; b < blocks->count; b++) {
		for (uint32_t e = 0; e < blocks->items[b].count; e++, next++) {
			keys[next] = make_key(run, map, &blocks->items[b].events[e]);
			keys[next].block = b;
			keys[next].event = e;
		}
	}
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (uint64_t i = 0; i < count; i++)
		events[i] = (struct ifp_timed_event){
			.event = blocks->items[keys[i].block].events[keys[i].event],
			.start_ns = keys[i].start_ns,
			.dur_ns = keys[i].dur_ns};
	for (uint32_t b = 0; b < blocks->count; b++)
		ifp_block_free_events(&blocks->items[b]);
	out->events = events;
	out->count = count;
	return 0;
}

int ifp_run_read_events(struct ifp_run *run, uint32_t i, struct ifp_rank_events *out)
{
	IFP_CLEANUP(blocks_free) struct blocks *blocks = NULL;
	struct ifp_run_member *member = &run->members[i];
	struct ifp_rank_events loaded = {0};
	int err;

	if (!member->seen.map) { /* the ledger has said so since the run was opened */
		*out = loaded;
		return 0;
	}
	err = load_blocks(run, member, &blocks);
	if (!err)
		err = place_events(run, member->seen.map, blocks, &loaded);
	if (err)
		return ifp_fail(err, "load the events of rank %" PRIu32, member->seen.rank);
	loaded.memory = IFP_TAKE_PTR(blocks);
	*out = loaded;
	return 0;
}

int ifp_run_load_events(struct ifp_run *run, uint32_t i, struct ifp_rank_events *out)
{
	struct ifp_rank_events loaded;
	int err = ifp_run_read_events(run, i, &loaded);

	if (err)
		return err;
	err = ifp_run_report_damage(run, i);
	if (err)
		ifp_rank_events_free(&loaded);
	else
		*out = loaded;
	return err;
}

void ifp_rank_events_free(struct ifp_rank_events *events)
{
	struct blocks *blocks = events->memory;

	blocks_free(&blocks);
	free(events->events);
	*events = (struct ifp_rank_events){0};
}
