/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/pen.h"

#include "trace/chrome/escape.h"

#include <inttypes.h>

/* Flow ids of a rank are rank x 2^32 + n: below 2^53, which JavaScript's numbers hold exactly. */
#define FLOW_RANK_SHIFT 32

void ifp_pen_free(struct ifp_pen *pen)
{
	ifp_buf_free(&pen->text);
}

static struct ifp_str text_of(const struct ifp_pen *pen)
{
	return (struct ifp_str){(const char *)pen->text.data, (uint32_t)pen->text.len_bytes};
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

void ifp_pen_rank(struct ifp_pen *pen, const struct ifp_run_rank *rank, uint32_t order)
{
	ifp_buf_clear(&pen->text);
	ifp_buf_printf(&pen->text, "rank %u · ", rank->rank);
	ifp_json_escape(&pen->text, ifp_str(rank->host ? rank->host : "?"));
	ifp_buf_append_text(&pen->text, " · ");
	append_bound(&pen->text, rank->map);
	pen->rank_order = order;
	pen->sink->ops->rank(pen->sink,
		&(struct ifp_sink_rank){.rank = rank, .order = order, .title = text_of(pen)});
}

void ifp_pen_number_lanes(struct ifp_pen *pen, struct ifp_scene *scene)
{
	for (uint32_t i = 0; i < scene->order_count; i++) {
		struct ifp_lane_row *row = &scene->view.lanes.rows[scene->order[i]];

		row->first_tid = pen->last_lane + 1;
		pen->last_lane += row->sublanes;
	}
}

void ifp_pen_lane(struct ifp_pen *pen, const struct ifp_lane_row *row, uint32_t sublane)
{
	ifp_buf_clear(&pen->text);
	ifp_lanes_title(row, sublane, &pen->text);
	pen->sink->ops->lane(pen->sink, &(struct ifp_sink_lane){
						.number = row->first_tid + sublane,
						.title = text_of(pen),
						.lane = row->lane,
						.of_steps = row->of_steps,
						.main_thread = row->main_thread,
						.sublane = sublane,
					});
}

static uint32_t lane_of(const struct ifp_scene *scene, const struct ifp_slice *slice)
{
	return scene->view.lanes.rows[slice->lane].first_tid + slice->sublane;
}

static struct ifp_str step_name(struct ifp_pen *pen, const struct ifp_step *step)
{
	ifp_buf_clear(&pen->text);
	ifp_buf_printf(&pen->text, "step %" PRId64, step->number);
	return text_of(pen);
}

static void describe_step(
	struct ifp_pen *pen, const struct ifp_step *step, struct ifp_sink_slice *out)
{
	out->kind = IFP_SINK_STEP;
	out->name = step_name(pen, step);
	out->category = ifp_str("step");
	out->step = step->number;
}

static void describe_event(
	const struct ifp_scene *scene, const struct ifp_slice *slice, struct ifp_sink_slice *out)
{
	const struct ifp_timed_event *timed = &scene->view.loaded.events[slice->event];
	const struct ifp_step *step = ifp_steps_at(&scene->view.steps, slice->start_ns);

	out->kind = IFP_SINK_EVENT;
	out->event = timed;
	out->name = timed->event.name;
	out->category = timed->event.category;
	out->args = timed->event.args;
	out->extra = timed->event.extra;
	out->step = step ? step->number : -1;
}

void ifp_pen_slice(
	struct ifp_pen *pen, const struct ifp_scene *scene, const struct ifp_slice *slice)
{
	struct ifp_sink_slice out = {
		.lane = lane_of(scene, slice),
		.start_ns = slice->start_ns,
		.dur_ns = slice->dur_ns,
	};

	if (slice->event == IFP_SLICE_NONE)
		describe_step(pen, &scene->view.steps.items[slice->step], &out);
	else
		describe_event(scene, slice, &out);
	pen->sink->ops->slice(pen->sink, &out);
}

void ifp_pen_step_end(
	struct ifp_pen *pen, const struct ifp_scene *scene, const struct ifp_step *step)
{
	pen->sink->ops->moment(
		pen->sink, &(struct ifp_sink_moment){
				   .kind = IFP_SINK_STEP,
				   .lane = scene->view.lanes.rows[scene->steps_row].first_tid,
				   .at_ns = step->end_ns,
				   .name = step_name(pen, step),
				   .category = ifp_str("step"),
			   });
}

void ifp_pen_moment(struct ifp_pen *pen, const struct ifp_scene *scene, uint64_t event)
{
	const struct ifp_rank_view *view = &scene->view;
	const struct ifp_timed_event *timed = &view->loaded.events[event];

	pen->sink->ops->moment(
		pen->sink, &(struct ifp_sink_moment){
				   .kind = IFP_SINK_EVENT,
				   .lane = view->lanes.rows[view->lane_of[event]].first_tid,
				   .counter = timed->event.kind == IFP_EVENT_COUNTER,
				   .at_ns = timed->start_ns,
				   .name = timed->event.name,
				   .category = timed->event.category,
				   .args = timed->event.args,
			   });
}

static struct ifp_sink_flow_end end_at(
	const struct ifp_pen *pen, const struct ifp_scene *scene, uint32_t i)
{
	const struct ifp_slice *slice = &scene->slices.items[i];

	return (struct ifp_sink_flow_end){
		.rank_order = pen->rank_order,
		.lane = lane_of(scene, slice),
		.start_ns = slice->start_ns,
	};
}

void ifp_pen_flow(struct ifp_pen *pen, const struct ifp_scene *scene, uint32_t i)
{
	const struct ifp_flow *flow = &scene->flows.items[i];
	const struct ifp_event *event = &scene->view.loaded.events[flow->event].event;

	pen->sink->ops->flow(pen->sink,
		&(struct ifp_sink_flow){
			.id = ((uint64_t)scene->view.rank->rank << FLOW_RANK_SHIFT) + i + 1,
			.name = event->name,
			.category = event->category,
			.from = end_at(pen, scene, flow->from),
			.to = end_at(pen, scene, flow->to),
		});
}
