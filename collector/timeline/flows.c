/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/flows.h"

#include "collector/timeline/id_map.h"
#include "core/array.h"
#include "core/checksum.h"

#include <errno.h>
#include <stdlib.h>

/* The halves of a rank while they are joined. */
struct joining {
	struct ifp_rank_view *view;
	const struct ifp_slices *slices;
	struct ifp_flows *flows;
	struct ifp_id_map known; /* the arrows by their keys */
	struct ifp_str category; /* of the half before, and what it gives to a key */
	uint64_t category_key;
	uint32_t *before; /* by row: how many of its slices have begun */
	size_t row_capacity;
};

static void joining_free(struct joining *joining)
{
	ifp_id_map_free(&joining->known);
	free(joining->before);
}

static int add(struct ifp_flows *flows, uint64_t event)
{
	int err = IFP_ARRAY_RESERVE(flows->items, flows->capacity, flows->count, 1, "flows");

	if (!err)
		flows->items[flows->count++] = (struct ifp_flow){.from = IFP_SLICE_NONE,
			.to = IFP_SLICE_NONE,
			.event = event,
			.halves = {IFP_FLOW_NONE, IFP_FLOW_NONE}};
	return err;
}

static int leave_alone(struct ifp_flows *flows, uint64_t event)
{
	int err;

	if (event == IFP_FLOW_NONE)
		return 0;
	err = IFP_ARRAY_RESERVE(
		flows->alone, flows->alone_capacity, flows->halves, 1, "halves of flows");
	if (!err)
		flows->alone[flows->halves++] = event;
	return err;
}

/* Ids count within a category: "ac2g" 5 and "fwdbwd" 5 are two arrows. */
static uint64_t key_of(struct joining *joining, const struct ifp_event *event)
{
	uint64_t key;

	if (event->category.ptr != joining->category.ptr ||
		event->category.len_bytes != joining->category.len_bytes) {
		joining->category = event->category;
		joining->category_key =
			ifp_checksum(event->category.ptr, event->category.len_bytes);
	}
	key = event->correlation * UINT64_C(0x9e3779b97f4a7c15) ^ joining->category_key;
	return key == UINT64_MAX ? 0 : key;
}

/*
 * Kineto names a GPU's lane by device and stream where a thread's has process and thread, so the
 * lane of a half may be meant as a stream's.
 */
static int slice_of(struct joining *joining, uint64_t i, uint32_t *slice)
{
	struct ifp_rank_view *view = joining->view;
	size_t rows = joining->row_capacity;
	const struct ifp_timed_event *timed = &view->loaded.events[i];
	uint32_t row = view->lane_of[i];
	int err = 0;

	if (!view->lanes.rows[row].slice_count && timed->event.lane.kind == IFP_LANE_THREAD) {
		struct ifp_lane stream = timed->event.lane;

		stream.kind = IFP_LANE_STREAM;
		err = ifp_lanes_find(&view->lanes, &stream, &row);
	}
	if (!err)
		err = IFP_ARRAY_RESERVE(joining->before, joining->row_capacity, row, 1, "lanes");
	if (err)
		return err;
	for (; rows < joining->row_capacity; rows++)
		joining->before[rows] = 0;
	*slice = ifp_slices_at_next(
		joining->slices, &view->lanes.rows[row], timed->start_ns, &joining->before[row]);
	return 0;
}

/* A new arrow under this key. */
static int begin(struct joining *joining, uint64_t key, uint64_t event)
{
	int err = ifp_id_map_set(&joining->known, key, joining->flows->count);

	return err ? err : add(joining->flows, event);
}

static uint32_t *end_of(struct ifp_flow *flow, enum ifp_event_kind kind)
{
	return kind == IFP_EVENT_FLOW_START ? &flow->from : &flow->to;
}

/*
 * In order of time. A second half of the same kind begins a new arrow: ids count from 1 again in
 * each window.
 */
static int take_half(struct joining *joining, uint64_t i)
{
	const struct ifp_event *event = &joining->view->loaded.events[i].event;
	struct ifp_flows *flows = joining->flows;
	uint64_t *half, key = key_of(joining, event), place;
	int err = 0;

	if (!ifp_id_map_get(&joining->known, key, &place) ||
		*end_of(&flows->items[place], event->kind) != IFP_SLICE_NONE) {
		place = flows->count;
		err = begin(joining, key, i);
	}
	if (err)
		return err;
	/* Of two of a kind, the first of which lies in no slice, the second one counts. */
	half = &flows->items[place].halves[event->kind == IFP_EVENT_FLOW_END];
	err = leave_alone(flows, *half);
	*half = i;
	return err ? err : slice_of(joining, i, end_of(&flows->items[place], event->kind));
}

/* Keeps the flows with both ends. */
static int drop_halves(struct ifp_flows *flows)
{
	uint32_t kept = 0;
	int err = 0;

	for (uint32_t i = 0; i < flows->count && !err; i++) {
		const struct ifp_flow *flow = &flows->items[i];

		if (flow->from != IFP_SLICE_NONE && flow->to != IFP_SLICE_NONE) {
			flows->items[kept++] = *flow;
			continue;
		}
		err = leave_alone(flows, flow->halves[0]);
		if (!err)
			err = leave_alone(flows, flow->halves[1]);
	}
	flows->count = kept;
	return err;
}

int ifp_flows_collect(
	struct ifp_rank_view *view, const struct ifp_slices *slices, struct ifp_flows *flows)
{
	IFP_CLEANUP(joining_free)
	struct joining joining = {.view = view, .slices = slices, .flows = flows};
	int err = 0;

	for (uint64_t i = 0; i < view->loaded.count && !err; i++) {
		enum ifp_event_kind kind = view->loaded.events[i].event.kind;

		if (kind == IFP_EVENT_FLOW_STEP)
			err = leave_alone(flows, i);
		else if (kind == IFP_EVENT_FLOW_START || kind == IFP_EVENT_FLOW_END)
			err = take_half(&joining, i);
	}
	return err ? err : drop_halves(flows);
}

void ifp_flows_free(struct ifp_flows *flows)
{
	free(flows->items);
	free(flows->alone);
	*flows = (struct ifp_flows){0};
}
