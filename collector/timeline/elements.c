/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/elements.h"

#include "collector/report/words.h"
#include "collector/timeline/brief.h"
#include "trace/chrome/escape.h"

#include <inttypes.h>
#include <math.h>

/* Flow ids of a rank are rank x 2^32 + n: below 2^53, which JavaScript's numbers hold exactly. */
#define FLOW_RANK_SHIFT 32

static struct ifp_str text_of(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

/* A failure is forgotten when a buffer is cleared. */
static void remember(struct ifp_element_texts *texts)
{
	texts->failed |= texts->name.failed || texts->args.failed || texts->whole.failed;
}

/* The certified bound first: it is what a reader of the timeline has to know. */
static void append_clock(struct ifp_buf *out, const struct ifp_clock_map *map)
{
	struct ifp_clock_summary clock;

	if (!map) {
		ifp_buf_append_text(out, "no clock, not drawn");
		return;
	}
	clock = ifp_clock_map_summary(map);
	if (clock.method == IFP_CLOCK_UNALIGNED || clock.bound_ns == INT64_MAX) {
		ifp_buf_append_text(out, "NOT ALIGNED");
		return;
	}
	ifp_buf_append_text(out, "±");
	ifp_words_duration(out, clock.bound_ns);
	if (!ifp_clock_map_epoch_count(map))
		return;
	ifp_buf_append_text(out, " (sigma ");
	ifp_words_duration(out, llround(clock.sigma_ns));
	ifp_buf_append_text(out, ", ");
	ifp_words_offset(out, clock.offset_ns);
	ifp_buf_printf(out, ", %+.3f ppm)", clock.rate_ppm);
}

struct ifp_sink_rank ifp_element_rank(
	const struct ifp_run_rank *rank, uint32_t order, struct ifp_element_texts *texts)
{
	struct ifp_buf *title = &texts->name;

	ifp_buf_clear(title);
	ifp_buf_printf(title, "rank %u · ", rank->rank);
	ifp_json_escape(title, ifp_str(rank->host ? rank->host : "?"));
	ifp_buf_append_text(title, " · ");
	append_clock(title, rank->map);
	remember(texts);
	return (struct ifp_sink_rank){.rank = rank, .order = order, .title = text_of(title)};
}

struct ifp_sink_lane ifp_element_lane(const struct ifp_lane_row *row, uint32_t sublane, bool brief,
	struct ifp_element_texts *texts)
{
	ifp_lanes_title(row, sublane, brief, &texts->name);
	remember(texts);
	return (struct ifp_sink_lane){
		.number = row->first_tid + sublane,
		.title = text_of(&texts->name),
		.lane = row->lane,
		.of_steps = row->of_steps,
		.main_thread = row->main_thread,
		.sublane = sublane,
	};
}

static uint32_t lane_of(const struct ifp_scene *scene, const struct ifp_slice *slice)
{
	return scene->view.lanes.rows[slice->lane].first_tid + slice->sublane;
}

static struct ifp_str step_name(const struct ifp_step *step, struct ifp_element_texts *texts)
{
	ifp_buf_clear(&texts->name);
	ifp_buf_printf(&texts->name, "step %" PRId64, step->number);
	remember(texts);
	return text_of(&texts->name);
}

static void describe_event(const struct ifp_scene *scene, const struct ifp_slice *slice, bool brief,
	struct ifp_element_texts *texts, struct ifp_sink_slice *out)
{
	const struct ifp_step *step = ifp_steps_at(&scene->view.steps, slice->start_ns);
	const struct ifp_event *event;
	struct ifp_str args;

	out->kind = IFP_SINK_EVENT;
	out->event = &scene->view.loaded.events[slice->event];
	event = &out->event->event;
	args = ifp_rank_events_args(&scene->view.loaded, out->event, &texts->whole);
	out->category = event->category;
	out->step = step ? step->number : -1;
	if (!brief) {
		out->name = event->name;
		out->args = args;
		out->extra = event->extra;
	} else {
		out->name = ifp_brief_text(event->name, IFP_BRIEF_NAME_BYTES, &texts->name);
		out->args = ifp_brief_args(event->source, args, &texts->args);
	}
	remember(texts);
}

struct ifp_sink_slice ifp_element_slice(
	const struct ifp_scene *scene, uint32_t i, bool brief, struct ifp_element_texts *texts)
{
	const struct ifp_slice *slice = &scene->slices.items[i];
	struct ifp_sink_slice out = {
		.lane = lane_of(scene, slice),
		.start_ns = slice->start_ns,
		.dur_ns = slice->dur_ns,
	};

	if (slice->event == IFP_SLICE_NONE) {
		const struct ifp_step *step = &scene->view.steps.items[slice->step];

		out.kind = IFP_SINK_STEP;
		out.name = step_name(step, texts);
		out.category = ifp_str("step");
		out.step = step->number;
	} else {
		describe_event(scene, slice, brief, texts, &out);
	}
	return out;
}

struct ifp_sink_slice ifp_element_outline(const struct ifp_scene *scene, uint32_t i)
{
	const struct ifp_slice *slice = &scene->slices.items[i];
	const struct ifp_timed_event *timed = &scene->view.loaded.events[slice->event];

	return (struct ifp_sink_slice){
		.kind = IFP_SINK_EVENT,
		.lane = lane_of(scene, slice),
		.start_ns = slice->start_ns,
		.dur_ns = slice->dur_ns,
		.name = timed->event.name,
		.category = timed->event.category,
		.extra = timed->event.extra,
		.event = timed,
		.step = -1,
	};
}

struct ifp_sink_moment ifp_element_step_end(
	const struct ifp_scene *scene, uint32_t i, struct ifp_element_texts *texts)
{
	const struct ifp_step *step = &scene->view.steps.items[i];

	return (struct ifp_sink_moment){
		.kind = IFP_SINK_STEP,
		.lane = scene->view.lanes.rows[scene->steps_row].first_tid,
		.at_ns = step->end_ns,
		.name = step_name(step, texts),
		.category = ifp_str("step"),
	};
}

struct ifp_sink_moment ifp_element_moment(
	const struct ifp_scene *scene, uint64_t event, bool brief, struct ifp_element_texts *texts)
{
	const struct ifp_rank_view *view = &scene->view;
	const struct ifp_timed_event *timed = &view->loaded.events[event];
	bool counter = timed->event.kind == IFP_EVENT_COUNTER;
	struct ifp_sink_moment out = {
		.kind = IFP_SINK_EVENT,
		.lane = view->lanes.rows[view->lane_of[event]].first_tid,
		.counter = counter,
		.at_ns = timed->start_ns,
		.name = timed->event.name,
		.category = timed->event.category,
		.args = timed->event.args,
	};

	if (!brief)
		return out;
	out.name = ifp_brief_text(out.name, IFP_BRIEF_NAME_BYTES, &texts->name);
	/* The args of a counter are its values. */
	if (!counter)
		out.args = ifp_brief_args(timed->event.source, timed->event.args, &texts->args);
	remember(texts);
	return out;
}

uint16_t ifp_element_moment_level(const struct ifp_scene *scene, uint64_t event)
{
	enum ifp_event_source source = scene->view.loaded.events[event].event.source;

	return source == IFP_SOURCE_MARK || source == IFP_SOURCE_NVTX
		       ? ifp_level_of(IFP_SUBJECT_MARK, true, 0)
		       : IFP_LEVEL_MOMENTS;
}

static void append_value(struct ifp_buf *out, int64_t value, unsigned int decimals)
{
	if (decimals)
		ifp_buf_printf(out, "%" PRId64 ".%03d", value / 1000, (int)(value % 1000));
	else
		ifp_buf_printf(out, "%" PRId64, value);
}

struct ifp_sink_moment ifp_element_value(const struct ifp_counter *counter, uint32_t i,
	uint32_t lane, struct ifp_element_texts *texts)
{
	const struct ifp_sample *sample = &counter->samples.items[i];

	ifp_buf_clear(&texts->args);
	ifp_buf_printf(&texts->args, "{\"%s\":", counter->unit);
	append_value(&texts->args, sample->value, counter->decimals);
	ifp_buf_append_u8(&texts->args, '}');
	remember(texts);
	return (struct ifp_sink_moment){
		.kind = IFP_SINK_VALUE,
		.lane = lane,
		.counter = true,
		.at_ns = sample->at_ns,
		.name = ifp_str(counter->name),
		.category = ifp_str("counter"),
		.args = text_of(&texts->args),
	};
}

static struct ifp_sink_flow_end end_at(
	const struct ifp_scene *scene, uint32_t i, uint32_t rank_order)
{
	const struct ifp_slice *slice = &scene->slices.items[i];

	return (struct ifp_sink_flow_end){
		.rank_order = rank_order,
		.lane = lane_of(scene, slice),
		.start_ns = slice->start_ns,
	};
}

struct ifp_sink_flow ifp_element_flow(
	const struct ifp_scene *scene, uint32_t i, uint32_t rank_order)
{
	const struct ifp_flow *flow = &scene->flows.items[i];
	const struct ifp_event *event = &scene->view.loaded.events[flow->event].event;

	return (struct ifp_sink_flow){
		.id = ((uint64_t)scene->view.rank->rank << FLOW_RANK_SHIFT) + i + 1,
		.name = event->name,
		.category = event->category,
		.from = end_at(scene, flow->from, rank_order),
		.to = end_at(scene, flow->to, rank_order),
	};
}

uint16_t ifp_element_flow_level(const struct ifp_scene *scene, uint32_t i)
{
	const struct ifp_flow *flow = &scene->flows.items[i];
	uint16_t from = scene->nodes.items[flow->from].shown;
	uint16_t to = scene->nodes.items[flow->to].shown;

	return from > to ? from : to;
}

void ifp_element_texts_free(struct ifp_element_texts *texts)
{
	ifp_buf_free(&texts->name);
	ifp_buf_free(&texts->args);
	ifp_buf_free(&texts->whole);
}
