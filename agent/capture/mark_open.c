/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/mark_open.h"

#include "core/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DRAINS_TO_WAIT 2

/* From the latest on: most ranges are short. */
static struct ifp_mark_open_range *find(struct ifp_mark_open *open, uint64_t id)
{
	for (size_t i = open->count; i-- > 0;) {
		if (open->ranges[i].id == id)
			return &open->ranges[i];
	}
	return NULL;
}

/* NULL when there is no memory. */
static struct ifp_mark_open_range *add(struct ifp_mark_open *open, uint64_t id)
{
	if (IFP_ARRAY_RESERVE(open->ranges, open->capacity, open->count, 1, "open ranges") != 0)
		return NULL;
	open->ranges[open->count] = (struct ifp_mark_open_range){.id = id};
	return &open->ranges[open->count++];
}

static void forget(struct ifp_mark_open *open, struct ifp_mark_open_range *range)
{
	free(range->name);
	*range = open->ranges[--open->count];
}

static void emit(const struct ifp_mark_open_range *range, struct ifp_mark_emitter *emitter)
{
	struct ifp_mark_range out = {
		.lane = range->lane,
		.origin = range->origin,
		.start = range->start,
		.end = range->end,
		.name = {range->name, range->name_bytes},
		.unfinished = !range->ended,
	};

	ifp_mark_emit_range(emitter, &out);
}

static int set_start(struct ifp_mark_open_range *range, const struct ifp_lane *lane,
	const struct ifp_mark_record *record, struct ifp_str name)
{
	range->started = true;
	range->start = record->stamp;
	range->lane = *lane;
	range->origin = record->origin;
	if (!name.len_bytes)
		return 0;
	range->name = malloc(name.len_bytes);
	if (!range->name)
		return -ENOMEM;
	memcpy(range->name, name.ptr, name.len_bytes);
	range->name_bytes = name.len_bytes;
	return 0;
}

void ifp_mark_open_take(struct ifp_mark_open *open, const struct ifp_lane *lane,
	const struct ifp_mark_record *record, struct ifp_str name, struct ifp_mark_emitter *emitter,
	struct ifp_mark_thread_counters *counters)
{
	struct ifp_mark_open_range *range = find(open, record->value);

	if (!range && open->count == IFP_MARK_OPEN_MAX) {
		counters->too_deep += record->kind == IFP_MARK_START;
		counters->pops_unmatched += record->kind == IFP_MARK_END;
		return;
	}
	if (!range)
		range = add(open, record->value);
	if (!range) {
		emitter->result = -ENOMEM;
		return;
	}
	if (record->kind == IFP_MARK_END) {
		range->ended = true;
		range->end = record->stamp;
	} else if (set_start(range, lane, record, name) != 0) {
		emitter->result = -ENOMEM;
		forget(open, range);
		return;
	}
	if (range->started && range->ended) {
		emit(range, emitter);
		forget(open, range);
	}
}

void ifp_mark_open_age(struct ifp_mark_open *open, struct ifp_mark_thread_counters *counters)
{
	for (size_t i = open->count; i-- > 0;) {
		struct ifp_mark_open_range *range = &open->ranges[i];

		if (!range->started && range->drains_waited++ == DRAINS_TO_WAIT) {
			counters->pops_unmatched++;
			forget(open, range);
		}
	}
}

void ifp_mark_open_end(struct ifp_mark_open *open, uint64_t end, struct ifp_mark_emitter *emitter,
	struct ifp_mark_thread_counters *counters)
{
	for (size_t i = 0; i < open->count; i++) {
		struct ifp_mark_open_range *range = &open->ranges[i];

		if (range->started) {
			range->end = end;
			emit(range, emitter);
			counters->unfinished++;
		} else {
			counters->pops_unmatched++;
		}
	}
	ifp_mark_open_free(open);
}

void ifp_mark_open_free(struct ifp_mark_open *open)
{
	for (size_t i = 0; i < open->count; i++)
		free(open->ranges[i].name);
	free(open->ranges);
	*open = (struct ifp_mark_open){0};
}
