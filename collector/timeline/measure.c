/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/measure.h"

#include "collector/timeline/fold_bounds.h"
#include "collector/timeline/outline.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* What the slices of a look take but for times and args: with short texts, and whole how much more.
 */
struct frame {
	int64_t brief, more;
	uint8_t of; /* HAS_ of both args of that event; 0 = not known yet */
};

#define IS_KNOWN 1u
#define HAS_BRIEF 2u
#define HAS_WHOLE 4u

struct measuring {
	struct ifp_measure *to;
	const struct ifp_scene *scene;
	uint32_t rank_order;
	struct ifp_fold_limits limits;
	struct ifp_outlines outlines;
	struct frame *frames; /* by look */
	int64_t *folds;	      /* what a fold takes, by what is around it; 0 = not known yet */
};

static void measuring_free(struct measuring *m)
{
	ifp_fold_limits_free(&m->limits);
	ifp_outlines_free(&m->outlines);
	free(m->frames);
	free(m->folds);
}

/* level: from which on the slice is shown like this. */
static int64_t slice_bytes(
	struct ifp_measure *to, const struct ifp_sink_slice *slice, uint16_t level)
{
	const struct ifp_sink *sink = to->sink;

	to->once.level = level;
	return sink->ops->slice_bytes ? (int64_t)sink->ops->slice_bytes(sink, slice, &to->once) : 0;
}

static int64_t moment_bytes(
	struct ifp_measure *to, const struct ifp_sink_moment *moment, uint16_t level)
{
	const struct ifp_sink *sink = to->sink;

	to->once.level = level;
	return sink->ops->moment_bytes ? (int64_t)sink->ops->moment_bytes(sink, moment, &to->once)
				       : 0;
}

void ifp_measure_rank(struct ifp_measure *measure, const struct ifp_run_rank *rank, uint32_t order)
{
	const struct ifp_sink *sink = measure->sink;
	struct ifp_sink_rank element = ifp_element_rank(rank, order, &measure->texts);

	if (sink->ops->rank_bytes)
		measure->plan.always.bytes += (int64_t)sink->ops->rank_bytes(sink, &element);
}

void ifp_measure_flow(struct ifp_measure *measure, const struct ifp_sink_flow *flow, uint16_t level)
{
	const struct ifp_sink *sink = measure->sink;
	int64_t bytes = 0;

	measure->once.level = level;
	if (sink->ops->flow_bytes)
		bytes = (int64_t)sink->ops->flow_bytes(sink, flow, &measure->once);
	ifp_plan_add(&measure->plan, level, IFP_LEVEL_COUNT, (struct ifp_size){bytes, 2});
}

void ifp_measure_counters(struct ifp_measure *measure, const struct ifp_counters *counters)
{
	for (uint32_t i = 0; i < counters->count; i++)
		for (uint32_t k = 0; k < counters->items[i].samples.count; k++) {
			struct ifp_sink_moment value = ifp_element_value(
				&counters->items[i], k, IFP_MEASURE_MAX_LANE, &measure->texts);
			int64_t bytes = moment_bytes(measure, &value, IFP_LEVEL_COUNTERS);

			ifp_plan_add(&measure->plan, IFP_LEVEL_COUNTERS, IFP_LEVEL_COUNT,
				(struct ifp_size){bytes, 1});
		}
}

static int64_t lane_bytes(
	struct measuring *m, const struct ifp_lane_row *row, uint32_t sublane, bool brief)
{
	const struct ifp_sink *sink = m->to->sink;
	struct ifp_sink_lane lane = ifp_element_lane(row, sublane, brief, &m->to->texts);

	return sink->ops->lane_bytes ? (int64_t)sink->ops->lane_bytes(sink, &lane) : 0;
}

static void measure_lanes(struct measuring *m)
{
	for (uint32_t i = 0; i < m->scene->order_count; i++) {
		const struct ifp_lane_row *row = &m->scene->view.lanes.rows[m->scene->order[i]];
		uint32_t count = ifp_lane_row_places(row);

		for (uint32_t k = 0; k < count; k++) {
			int64_t brief = lane_bytes(m, row, k, true);
			int64_t full = lane_bytes(m, row, k, false);

			m->to->plan.always.bytes += brief;
			ifp_plan_add(&m->to->plan, IFP_LEVEL_FULL, IFP_LEVEL_COUNT,
				(struct ifp_size){full - brief, 0});
		}
	}
}

/* The moment with the longest number. */
static int64_t longest_number(const struct ifp_scene *scene)
{
	int64_t last = scene->end_ns < 0 ? -scene->end_ns : scene->end_ns;

	if (scene->start_ns >= 0)
		return last;
	return -scene->start_ns > last ? scene->start_ns : -last;
}

/* The largest fold that can begin with slice i. */
static int64_t largest_fold(struct measuring *m, uint32_t i)
{
	struct ifp_fold_bounds bounds = ifp_fold_limits_of(&m->limits, i);
	struct ifp_sink_slice fold = {
		.kind = IFP_SINK_FOLD,
		.lane = m->scene->view.lanes.rows[m->scene->slices.items[i].lane].first_tid,
		.start_ns = longest_number(m->scene),
		.dur_ns = bounds.extent_ns,
		.category = ifp_str("fold"),
	};

	/* Only lengths count. */
	fold.name.len_bytes = (uint32_t)ifp_fold_most_name_bytes(&bounds);
	fold.args.len_bytes = (uint32_t)ifp_fold_most_args_bytes(&bounds);
	return slice_bytes(m->to, &fold, IFP_LEVEL_FULL);
}

static int64_t fold_bytes(struct measuring *m, uint32_t i)
{
	int64_t *bytes = &m->folds[ifp_fold_limits_around(&m->limits, i)];

	if (!*bytes)
		*bytes = largest_fold(m, i);
	return *bytes;
}

/* An element that is brief before the last level and whole there. */
static void add_element(struct measuring *m, uint16_t level, int64_t brief, int64_t full)
{
	ifp_plan_add(&m->to->plan, level, IFP_LEVEL_COUNT, (struct ifp_size){brief, 1});
	ifp_plan_add(
		&m->to->plan, IFP_LEVEL_FULL, IFP_LEVEL_COUNT, (struct ifp_size){full - brief, 0});
}

/* What a slice takes with short texts and with whole ones. */
static void described_bytes(
	struct measuring *m, uint32_t i, uint16_t shown, int64_t *brief, int64_t *full)
{
	struct ifp_sink_slice slice = ifp_element_slice(m->scene, i, true, &m->to->texts);

	*brief = slice_bytes(m->to, &slice, shown);
	slice = ifp_element_slice(m->scene, i, false, &m->to->texts);
	*full = slice_bytes(m->to, &slice, IFP_LEVEL_FULL);
}

/* brief_args, whole_args: bytes of its args, which are not in slice. */
static void learn_frame(struct measuring *m, uint32_t i, struct frame *frame, uint32_t name_bytes,
	uint32_t brief_args, uint32_t whole_args)
{
	struct ifp_sink_slice slice = ifp_element_outline(m->scene, i), cut = slice;

	cut.name.len_bytes = name_bytes;
	cut.args.len_bytes = brief_args;
	cut.extra = (struct ifp_str){0};
	slice.args.len_bytes = whole_args;
	frame->brief = slice_bytes(m->to, &cut, IFP_LEVEL_FULL) - brief_args;
	frame->more = slice_bytes(m->to, &slice, IFP_LEVEL_FULL) - whole_args - frame->brief;
	frame->brief -= m->to->sink->ops->times_bytes(slice.start_ns, slice.dur_ns);
}

/* The same of an event for a sink to which of texts only lengths count. */
static int outlined_bytes(struct measuring *m, uint32_t i, int64_t *brief, int64_t *full)
{
	const struct ifp_slice *slice = &m->scene->slices.items[i];
	const struct ifp_timed_event *timed = &m->scene->view.loaded.events[slice->event];
	struct frame *frame = &m->frames[timed->look];
	uint32_t name_bytes, brief_args;
	uint32_t whole_args = timed->args_bytes ? timed->args_bytes : timed->event.args.len_bytes;
	int err = ifp_outlines_of(&m->outlines, timed, &name_bytes, &brief_args);
	uint8_t of = IS_KNOWN;

	if (err)
		return err;
	of |= (brief_args ? HAS_BRIEF : 0) | (whole_args ? HAS_WHOLE : 0);
	if (frame->of != of || !timed->look)
		learn_frame(m, i, frame, name_bytes, brief_args, whole_args);
	frame->of = of;
	*brief = frame->brief + brief_args +
		 m->to->sink->ops->times_bytes(slice->start_ns, slice->dur_ns);
	*full = *brief + frame->more + whole_args - brief_args;
	return 0;
}

static int measure_slice(struct measuring *m, uint32_t i)
{
	uint16_t first, end, shown = m->scene->nodes.items[i].shown;
	int64_t brief, full;
	int err = 0;

	ifp_nodes_fold_levels(&m->scene->nodes, &m->scene->slices, i, &first, &end);
	if (first < end)
		ifp_plan_add(&m->to->plan, first, end, (struct ifp_size){fold_bytes(m, i), 1});
	if (shown == IFP_LEVEL_NEVER)
		return 0;
	if (m->to->sink->lean && m->scene->slices.items[i].event != IFP_SLICE_NONE)
		err = outlined_bytes(m, i, &brief, &full);
	else
		described_bytes(m, i, shown, &brief, &full);
	if (err)
		return err;
	add_element(m, shown, brief, full);
	return 0;
}

static void measure_step_ends(struct measuring *m)
{
	const struct ifp_steps *steps = &m->scene->view.steps;

	for (uint32_t i = 0; i < steps->count; i++) {
		struct ifp_sink_moment moment;

		if (steps->items[i].whole)
			continue;
		moment = ifp_element_step_end(m->scene, i, &m->to->texts);
		ifp_plan_add(&m->to->plan, IFP_LEVEL_STEPS, IFP_LEVEL_COUNT,
			(struct ifp_size){moment_bytes(m->to, &moment, IFP_LEVEL_STEPS), 1});
	}
}

static void measure_moments(struct measuring *m)
{
	for (uint32_t i = 0; i < m->scene->moment_count; i++) {
		uint32_t event = m->scene->moments[i];
		uint16_t level = ifp_element_moment_level(m->scene, event);
		struct ifp_sink_moment moment =
			ifp_element_moment(m->scene, event, true, &m->to->texts);
		int64_t brief = moment_bytes(m->to, &moment, level);

		moment = ifp_element_moment(m->scene, event, false, &m->to->texts);
		add_element(m, level, brief, moment_bytes(m->to, &moment, IFP_LEVEL_FULL));
	}
}

static void measure_flows(struct measuring *m)
{
	for (uint32_t i = 0; i < m->scene->flows.count; i++) {
		struct ifp_sink_flow flow = ifp_element_flow(m->scene, i, m->rank_order);

		ifp_measure_flow(m->to, &flow, ifp_element_flow_level(m->scene, i));
	}
}

int ifp_measure_scene(struct ifp_measure *measure, struct ifp_scene *scene, uint32_t rank_order)
{
	IFP_CLEANUP(measuring_free)
	struct measuring m = {.to = measure, .scene = scene, .rank_order = rank_order};
	int err = ifp_fold_limits_find(scene, &m.limits);

	if (!err)
		err = ifp_outlines_begin(&scene->view.loaded, &m.outlines);
	m.frames = calloc(scene->view.loaded.look_count + 1u, sizeof(*m.frames));
	m.folds = calloc(m.limits.count + 1, sizeof(*m.folds));
	if (!err && (!m.frames || !m.folds))
		err = ifp_fail(-ENOMEM, "measure %u slices", scene->slices.count);
	if (err)
		return err;
	for (uint32_t i = 0; i < scene->view.lanes.count; i++)
		scene->view.lanes.rows[i].first_tid = IFP_MEASURE_MAX_LANE - IFP_MAX_SUBLANES;
	measure_lanes(&m);
	for (uint32_t i = 0; i < scene->slices.count && !err; i++)
		err = measure_slice(&m, i);
	measure_step_ends(&m);
	measure_moments(&m);
	measure_flows(&m);
	return err;
}

int ifp_measure_end(struct ifp_measure *measure)
{
	int err = ifp_once_add(&measure->once, &measure->plan);

	if (!err && measure->texts.failed)
		err = ifp_fail(-ENOMEM, "out of memory for the texts of a timeline");
	return err;
}

void ifp_measure_free(struct ifp_measure *measure)
{
	ifp_once_free(&measure->once);
	ifp_element_texts_free(&measure->texts);
}
