/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/picture.h"

#include "collector/timeline/scene.h"
#include "core/error.h"
#include "trace/chrome/escape.h"

#include <inttypes.h>

/* Flow ids of a rank are rank x 2^32 + n: below 2^53, which JavaScript's numbers hold exactly. */
#define FLOW_RANK_SHIFT 32

struct drawing {
	struct ifp_run *run;
	struct ifp_sink *sink;
	struct ifp_scene scene; /* of the rank that is being drawn */
	uint32_t rank_order;
	uint32_t next_lane;
	struct ifp_buf text; /* while one element is made */
};

static struct ifp_str text_of(const struct drawing *drawing)
{
	return (struct ifp_str){
		(const char *)drawing->text.data, (uint32_t)drawing->text.len_bytes};
}

static void append_bound(struct ifp_buf *out, const struct ifp_clock_map *map)
{
	int64_t bound_ns;

	if (!map) {
		ifp_buf_append_text(out, "no clock, not drawn");
		return;
	}
	bound_ns = ifp_clock_map_summary(map).bound_ns;
	if (bound_ns == INT64_MAX)
		ifp_buf_append_text(out, "NOT ALIGNED");
	else if (bound_ns < IFP_NS_PER_US)
		ifp_buf_printf(out, "±%" PRId64 " ns", bound_ns);
	else if (bound_ns < IFP_NS_PER_MS)
		ifp_buf_printf(out, "±%.1f us", (double)bound_ns / IFP_NS_PER_US);
	else
		ifp_buf_printf(out, "±%.1f ms", (double)bound_ns / IFP_NS_PER_MS);
}

static void draw_process(struct drawing *drawing, const struct ifp_run_rank *rank)
{
	struct ifp_buf *title = &drawing->text;

	ifp_buf_clear(title);
	ifp_buf_printf(title, "rank %u · ", rank->rank);
	ifp_json_escape(title, ifp_str(rank->host ? rank->host : "?"));
	ifp_buf_append_text(title, " · ");
	append_bound(title, rank->map);
	drawing->sink->ops->rank(drawing->sink, &(struct ifp_sink_rank){
							.rank = rank,
							.order = drawing->rank_order,
							.title = text_of(drawing),
						});
}

static void draw_lane(struct drawing *drawing, const struct ifp_lane_row *row, uint32_t sublane)
{
	ifp_buf_clear(&drawing->text);
	ifp_lanes_title(row, sublane, &drawing->text);
	drawing->sink->ops->lane(drawing->sink, &(struct ifp_sink_lane){
							.number = row->first_tid + sublane,
							.title = text_of(drawing),
							.lane = row->lane,
							.of_steps = row->of_steps,
							.main_thread = row->main_thread,
							.sublane = sublane,
						});
}

static void draw_lanes(struct drawing *drawing)
{
	struct ifp_scene *scene = &drawing->scene;

	for (uint32_t i = 0; i < scene->order_count; i++) {
		struct ifp_lane_row *row = &scene->view.lanes.rows[scene->order[i]];

		row->first_tid = drawing->next_lane;
		drawing->next_lane += row->sublanes;
		for (uint32_t k = 0; k < row->sublanes; k++)
			draw_lane(drawing, row, k);
	}
}

static uint32_t lane_of(const struct ifp_scene *scene, const struct ifp_slice *slice)
{
	return scene->view.lanes.rows[slice->lane].first_tid + slice->sublane;
}

static struct ifp_str step_name(struct drawing *drawing, const struct ifp_step *step)
{
	ifp_buf_clear(&drawing->text);
	ifp_buf_printf(&drawing->text, "step %" PRId64, step->number);
	return text_of(drawing);
}

static void draw_slice(struct drawing *drawing, const struct ifp_slice *slice)
{
	const struct ifp_scene *scene = &drawing->scene;
	const struct ifp_steps *steps = &scene->view.steps;
	struct ifp_sink_slice out = {
		.lane = lane_of(scene, slice),
		.start_ns = slice->start_ns,
		.dur_ns = slice->dur_ns,
	};

	if (slice->event == IFP_SLICE_NONE) {
		const struct ifp_step *step = &steps->items[slice->step];

		out.kind = IFP_SINK_STEP;
		out.name = step_name(drawing, step);
		out.category = ifp_str("step");
		out.step = step->number;
	} else {
		const struct ifp_step *step = ifp_steps_at(steps, slice->start_ns);

		out.kind = IFP_SINK_EVENT;
		out.event = &scene->view.loaded.events[slice->event];
		out.name = out.event->event.name;
		out.category = out.event->event.category;
		out.args = out.event->event.args;
		out.extra = out.event->event.extra;
		out.step = step ? step->number : -1;
	}
	drawing->sink->ops->slice(drawing->sink, &out);
}

static void draw_slices(struct drawing *drawing)
{
	const struct ifp_scene *scene = &drawing->scene;

	for (uint32_t i = 0; i < scene->order_count; i++) {
		const struct ifp_lane_row *row = &scene->view.lanes.rows[scene->order[i]];
		const struct ifp_slice *slices = scene->slices.items + row->first_slice;

		for (uint32_t k = 0; k < row->sublanes; k++)
			for (uint32_t j = 0; j < row->slice_count; j++)
				if (slices[j].sublane == k)
					draw_slice(drawing, &slices[j]);
	}
}

/* Steps of which only the end is known. */
static void draw_step_ends(struct drawing *drawing)
{
	const struct ifp_scene *scene = &drawing->scene;
	const struct ifp_steps *steps = &scene->view.steps;

	for (uint32_t i = 0; i < steps->count; i++)
		if (!steps->items[i].whole)
			drawing->sink->ops->moment(drawing->sink,
				&(struct ifp_sink_moment){
					.kind = IFP_SINK_STEP,
					.lane = scene->view.lanes.rows[scene->steps_row].first_tid,
					.at_ns = steps->items[i].end_ns,
					.name = step_name(drawing, &steps->items[i]),
					.category = ifp_str("step"),
				});
}

static void draw_moments(struct drawing *drawing)
{
	const struct ifp_rank_view *view = &drawing->scene.view;

	draw_step_ends(drawing);
	for (uint32_t i = 0; i < drawing->scene.moment_count; i++) {
		uint32_t place = drawing->scene.moments[i];
		const struct ifp_timed_event *timed = &view->loaded.events[place];

		drawing->sink->ops->moment(drawing->sink,
			&(struct ifp_sink_moment){
				.kind = IFP_SINK_EVENT,
				.lane = view->lanes.rows[view->lane_of[place]].first_tid,
				.counter = timed->event.kind == IFP_EVENT_COUNTER,
				.at_ns = timed->start_ns,
				.name = timed->event.name,
				.category = timed->event.category,
				.args = timed->event.args,
			});
	}
}

static struct ifp_sink_flow_end end_at(const struct drawing *drawing, uint32_t i)
{
	const struct ifp_slice *slice = &drawing->scene.slices.items[i];

	return (struct ifp_sink_flow_end){
		.rank_order = drawing->rank_order,
		.lane = lane_of(&drawing->scene, slice),
		.start_ns = slice->start_ns,
	};
}

static void draw_flows(struct drawing *drawing)
{
	const struct ifp_scene *scene = &drawing->scene;

	for (uint32_t i = 0; i < scene->flows.count; i++) {
		const struct ifp_flow *flow = &scene->flows.items[i];
		const struct ifp_event *event = &scene->view.loaded.events[flow->event].event;

		drawing->sink->ops->flow(drawing->sink,
			&(struct ifp_sink_flow){
				.id = ((uint64_t)scene->view.rank->rank << FLOW_RANK_SHIFT) + i + 1,
				.name = event->name,
				.category = event->category,
				.from = end_at(drawing, flow->from),
				.to = end_at(drawing, flow->to),
			});
	}
}

static int left_out(struct drawing *drawing, const char *label, uint64_t count, const char *why)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	int err;

	if (!count)
		return 0;
	ifp_buf_printf(&text, "%s: %s", label, why);
	ifp_buf_append_u8(&text, 0);
	err = ifp_buf_status(&text);
	if (err)
		return err;
	return ifp_run_ledger_add(
		drawing->run, &(struct ifp_ledger_row){
				      .rank = ifp_run_rank(drawing->run, drawing->rank_order)->rank,
				      .what = "timeline-left-out",
				      .count = (int64_t)count,
				      .why = (const char *)text.data,
			      });
}

static int account(struct drawing *drawing)
{
	const struct ifp_scene *scene = &drawing->scene;
	const struct ifp_sink *sink = drawing->sink;
	int err = left_out(
		drawing, sink->label, scene->crowded, "more than 64 slices overlap on one lane");

	if (!err)
		err = left_out(drawing, sink->label_of_all, scene->view.misplaced,
			scene->view.rank->imported
				? "the time cannot be of this job"
				: "the time is more than a year away from the run's");
	if (!err)
		err = left_out(drawing, sink->label, scene->flows.halves,
			"halves of arrows whose other half was not recorded");
	if (!err)
		err = left_out(drawing, sink->label, scene->unpictured,
			"halves of slices whose other half was not recorded, and events of kinds "
			"that have no picture");
	return err;
}

static int draw_rank(struct drawing *drawing, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(drawing->run, i);
	int err;

	drawing->rank_order = i;
	draw_process(drawing, rank);
	if (!rank->map)
		return left_out(drawing, drawing->sink->label, rank->event_count,
			"nothing is known of this rank's clock");
	err = ifp_scene_load(drawing->run, i, &drawing->scene);
	if (err)
		return err;
	draw_lanes(drawing);
	draw_slices(drawing);
	draw_moments(drawing);
	draw_flows(drawing);
	err = account(drawing);
	ifp_scene_free(&drawing->scene);
	/* A name that did not find memory would be cut. */
	return err ? err : ifp_buf_status(&drawing->text);
}

int ifp_picture_draw(struct ifp_run *run, struct ifp_sink *sink)
{
	struct drawing drawing = {.run = run, .sink = sink, .next_lane = 1};
	int err = 0;

	for (uint32_t i = 0; i < ifp_run_rank_count(run) && !err; i++)
		err = draw_rank(&drawing, i);
	ifp_buf_free(&drawing.text);
	return err;
}
