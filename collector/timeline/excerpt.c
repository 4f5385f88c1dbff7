/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/excerpt.h"

#include "collector/timeline/pen.h"
#include "core/array.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* An event to be drawn at a moment of a lane. */
struct moment {
	uint32_t lane;
	uint32_t event; /* its place among those loaded */
};

/* A rank while its part of the excerpt is drawn. */
struct drawing {
	const struct ifp_stretch *stretch;
	struct ifp_excerpt_result *result;
	struct ifp_pen *pen;
	struct ifp_scene scene;
	struct moment *moments; /* events that are neither slice nor arrow, by lane and time */
	uint32_t moment_count;
	size_t moment_capacity;
	uint32_t first_lane; /* of the rank */
	bool *used;	     /* by lane, from first_lane on */
};

static void drawing_free(struct drawing *drawing)
{
	ifp_scene_free(&drawing->scene);
	free(drawing->moments);
	free(drawing->used);
}

/* What takes time reaches into the stretch by any part of it, a moment by being inside. */
static bool reaches(const struct ifp_stretch *stretch, int64_t start_ns, int64_t dur_ns)
{
	return start_ns < stretch->to_ns &&
	       (start_ns >= stretch->from_ns || start_ns + dur_ns > stretch->from_ns);
}

static bool slice_reaches(const struct drawing *drawing, uint32_t i)
{
	const struct ifp_slice *slice = &drawing->scene.slices.items[i];

	return !ifp_slice_is_crowded(slice) &&
	       reaches(drawing->stretch, slice->start_ns, slice->dur_ns);
}

static bool is_flow(enum ifp_event_kind kind)
{
	return kind == IFP_EVENT_FLOW_START || kind == IFP_EVENT_FLOW_STEP ||
	       kind == IFP_EVENT_FLOW_END;
}

static bool is_moment(enum ifp_event_kind kind)
{
	return kind == IFP_EVENT_INSTANT || kind == IFP_EVENT_COUNTER;
}

static void extend(struct ifp_stretch *stretch, const struct ifp_timed_event *timed)
{
	if (timed->start_ns < stretch->from_ns)
		stretch->from_ns = timed->start_ns;
	if (timed->start_ns + timed->dur_ns > stretch->to_ns)
		stretch->to_ns = timed->start_ns + timed->dur_ns;
}

/*
 * Finds the moments of the stretch and opens the rows that hold nothing else. What has no picture
 * counts as such, where the format can hold it as it is.
 */
static int find_moments(struct drawing *drawing)
{
	struct ifp_rank_view *view = &drawing->scene.view;
	int err = 0;

	for (uint32_t i = 0; i < view->loaded.count && !err; i++) {
		const struct ifp_timed_event *timed = &view->loaded.events[i];
		enum ifp_event_kind kind = timed->event.kind;
		struct ifp_lane_row *row = &view->lanes.rows[view->lane_of[i]];

		if (kind == IFP_EVENT_META)
			continue;
		extend(&drawing->result->of, timed);
		if (kind == IFP_EVENT_SLICE || is_flow(kind) ||
			!reaches(drawing->stretch, timed->start_ns, 0))
			continue;
		if (!is_moment(kind) && !drawing->pen->sink->ops->other) {
			drawing->result->left_out[IFP_EXCERPT_HALF]++;
			continue;
		}
		err = IFP_ARRAY_RESERVE(drawing->moments, drawing->moment_capacity,
			drawing->moment_count, 1, "moments");
		if (err)
			return err;
		drawing->moments[drawing->moment_count++].event = i;
		if (!row->sublanes)
			row->sublanes = 1;
	}
	return err;
}

static int compare_moments(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return (a->event > b->event) - (a->event < b->event);
}

static void place_moments(struct drawing *drawing)
{
	const struct ifp_rank_view *view = &drawing->scene.view;

	for (uint32_t i = 0; i < drawing->moment_count; i++) {
		struct moment *moment = &drawing->moments[i];

		moment->lane = view->lanes.rows[view->lane_of[moment->event]].first_tid;
		drawing->used[moment->lane - drawing->first_lane] = true;
	}
	if (drawing->moment_count)
		qsort(drawing->moments, drawing->moment_count, sizeof(*drawing->moments),
			compare_moments);
}

static bool is_operator(const struct ifp_scene *scene, const struct ifp_slice *slice)
{
	return slice->event != IFP_SLICE_NONE &&
	       scene->view.loaded.events[slice->event].event.source == IFP_SOURCE_KINETO;
}

/* Notes which lanes are used; gives the number of slices. */
static uint32_t place_slices(struct drawing *drawing)
{
	const struct ifp_scene *scene = &drawing->scene;
	uint32_t count = 0;

	for (uint32_t i = 0; i < scene->slices.count; i++) {
		const struct ifp_slice *slice = &scene->slices.items[i];

		if (slice_reaches(drawing, i)) {
			uint32_t lane =
				scene->view.lanes.rows[slice->lane].first_tid + slice->sublane;

			drawing->used[lane - drawing->first_lane] = true;
			count += slice->event != IFP_SLICE_NONE;
			drawing->result->operators += is_operator(scene, slice);
		} else if (ifp_slice_is_crowded(slice) &&
			   reaches(drawing->stretch, slice->start_ns, slice->dur_ns)) {
			drawing->result->left_out[IFP_EXCERPT_CROWDED]++;
		}
	}
	return count;
}

static void draw_lanes(struct drawing *drawing)
{
	const struct ifp_scene *scene = &drawing->scene;

	for (uint32_t i = 0; i < scene->order_count; i++) {
		const struct ifp_lane_row *row = &scene->view.lanes.rows[scene->order[i]];

		for (uint32_t k = 0; k < row->sublanes; k++)
			if (drawing->used[row->first_tid + k - drawing->first_lane])
				ifp_pen_lane(drawing->pen, row, k);
	}
}

static void draw_slices(struct drawing *drawing)
{
	const struct ifp_scene *scene = &drawing->scene;

	for (uint32_t i = 0; i < scene->order_count; i++) {
		const struct ifp_lane_row *row = &scene->view.lanes.rows[scene->order[i]];
		uint32_t end = row->first_slice + row->slice_count;

		for (uint32_t k = 0; k < row->sublanes; k++)
			for (uint32_t j = row->first_slice; j < end; j++)
				if (scene->slices.items[j].sublane == k &&
					slice_reaches(drawing, j))
					ifp_pen_slice(drawing->pen, scene, j);
	}
}

static bool draw_moment(struct drawing *drawing, const struct moment *moment)
{
	const struct ifp_scene *scene = &drawing->scene;
	const struct ifp_timed_event *timed = &scene->view.loaded.events[moment->event];
	struct ifp_sink *sink = drawing->pen->sink;

	if (!is_moment(timed->event.kind))
		return sink->ops->other(sink, moment->lane, timed);
	ifp_pen_moment(drawing->pen, scene, moment->event);
	return true;
}

static void draw_moments(struct drawing *drawing)
{
	for (uint32_t i = 0; i < drawing->moment_count; i++) {
		bool drawn = draw_moment(drawing, &drawing->moments[i]);

		drawing->result->events += drawn;
		drawing->result->left_out[IFP_EXCERPT_HALF] += !drawn;
	}
}

static bool joins_crowded(const struct drawing *drawing, const struct ifp_flow *flow)
{
	const struct ifp_slice *slices = drawing->scene.slices.items;

	return ifp_slice_is_crowded(&slices[flow->from]) || ifp_slice_is_crowded(&slices[flow->to]);
}

static void draw_flows(struct drawing *drawing)
{
	const struct ifp_flows *flows = &drawing->scene.flows;

	for (uint32_t i = 0; i < flows->count; i++) {
		bool from = slice_reaches(drawing, flows->items[i].from);
		bool to = slice_reaches(drawing, flows->items[i].to);

		if (joins_crowded(drawing, &flows->items[i])) {
			drawing->result->left_out[IFP_EXCERPT_CROWDED] += from || to ? 2 : 0;
			continue;
		}
		if (from && to) {
			ifp_pen_flow(drawing->pen, &drawing->scene, i);
			drawing->result->events += 2;
		}
		drawing->result->leading_out += from != to;
	}
	for (uint64_t i = 0; i < flows->halves; i++) {
		const struct ifp_timed_event *timed =
			&drawing->scene.view.loaded.events[flows->alone[i]];

		drawing->result->left_out[IFP_EXCERPT_ARROW] +=
			reaches(drawing->stretch, timed->start_ns, 0);
	}
}

static int draw_scene(struct drawing *drawing)
{
	uint32_t slices;
	int err = find_moments(drawing);

	if (err)
		return err;
	drawing->first_lane = drawing->pen->last_lane + 1;
	ifp_pen_number_lanes(drawing->pen, &drawing->scene);
	drawing->used = calloc(drawing->pen->last_lane + 1u, sizeof(*drawing->used));
	if (!drawing->used)
		return ifp_fail(-ENOMEM, "out of memory for %u lanes", drawing->pen->last_lane);
	slices = place_slices(drawing);
	place_moments(drawing);
	if (!slices && !drawing->moment_count)
		return 0;
	ifp_pen_rank(drawing->pen, drawing->scene.view.rank, drawing->result->ranks++);
	drawing->result->events += slices;
	draw_lanes(drawing);
	draw_slices(drawing);
	draw_moments(drawing);
	draw_flows(drawing);
	return ifp_pen_status(drawing->pen);
}

static int draw_rank(struct ifp_run *run, uint32_t i, const struct ifp_stretch *stretch,
	struct ifp_pen *pen, struct ifp_excerpt_result *result)
{
	IFP_CLEANUP(drawing_free)
	struct drawing drawing = {.stretch = stretch, .pen = pen, .result = result};
	int err;

	if (!ifp_run_rank(run, i)->map) {
		result->unaligned++;
		return 0;
	}
	err = ifp_scene_load(run, i, &drawing.scene);
	/* Such a time may be anywhere: not in a stretch that has an end. */
	if (stretch->to_ns == INT64_MAX)
		result->left_out[IFP_EXCERPT_MISPLACED] += drawing.scene.view.misplaced;
	return err ? err : draw_scene(&drawing);
}

uint64_t ifp_excerpt_left_out(const struct ifp_excerpt_result *result)
{
	uint64_t sum = 0;

	for (int i = 0; i < IFP_EXCERPT_CAUSES; i++)
		sum += result->left_out[i];
	return sum;
}

void ifp_excerpt_left_out_text(const struct ifp_excerpt_result *result, struct ifp_buf *out)
{
	static const char *const causes[] = {
		[IFP_EXCERPT_ARROW] = "halves and steps of arrows that join nothing",
		[IFP_EXCERPT_CROWDED] = "where 64 or more others overlap on the lane",
		[IFP_EXCERPT_HALF] = "halves of slices alone, and kinds without a picture",
		[IFP_EXCERPT_MISPLACED] = "with a time that cannot be",
	};
	uint64_t sum = ifp_excerpt_left_out(result);
	const char *between = ": ";

	ifp_buf_printf(out, "%" PRIu64 " %s no place in this format and %s left out", sum,
		sum == 1 ? "event has" : "events have", sum == 1 ? "is" : "are");
	for (int i = 0; i < IFP_EXCERPT_CAUSES; i++) {
		if (!result->left_out[i])
			continue;
		ifp_buf_printf(out, "%s%" PRIu64 " %s", between, result->left_out[i], causes[i]);
		between = ", ";
	}
}

int ifp_excerpt_draw(struct ifp_run *run, const struct ifp_excerpt *excerpt, struct ifp_sink *sink,
	struct ifp_excerpt_result *result)
{
	struct ifp_excerpt_result drawn = {.of = {INT64_MAX, INT64_MIN}};
	struct ifp_pen pen = {.sink = sink};
	int err = 0;

	for (uint32_t i = 0; i < ifp_run_rank_count(run) && !err; i++)
		if (!excerpt->ranks || ifp_ranges_hold(excerpt->ranks, ifp_run_rank(run, i)->rank))
			err = draw_rank(run, i, &excerpt->stretch, &pen, &drawn);
	ifp_pen_free(&pen);
	if (!err)
		*result = drawn;
	return err;
}
