/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/measure.h"

#include "collector/timeline/fold_bounds.h"

struct measuring {
	const struct ifp_scene *scene;
	uint32_t rank_order;
	const struct ifp_sink *sink;
	struct ifp_plan *plan;
	struct ifp_element_texts *texts;
	struct ifp_fold_limits limits;
};

static void measuring_free(struct measuring *m)
{
	ifp_fold_limits_free(&m->limits);
}

static int64_t slice_bytes(const struct ifp_sink *sink, const struct ifp_sink_slice *slice)
{
	return sink->ops->slice_bytes ? (int64_t)sink->ops->slice_bytes(sink, slice) : 0;
}

static int64_t moment_bytes(const struct ifp_sink *sink, const struct ifp_sink_moment *moment)
{
	return sink->ops->moment_bytes ? (int64_t)sink->ops->moment_bytes(sink, moment) : 0;
}

void ifp_measure_rank(const struct ifp_run_rank *rank, uint32_t order, const struct ifp_sink *sink,
	struct ifp_plan *plan, struct ifp_element_texts *texts)
{
	struct ifp_sink_rank element = ifp_element_rank(rank, order, texts);

	if (sink->ops->rank_bytes)
		plan->always.bytes += (int64_t)sink->ops->rank_bytes(sink, &element);
}

void ifp_measure_flow(const struct ifp_sink_flow *flow, uint16_t level, const struct ifp_sink *sink,
	struct ifp_plan *plan)
{
	int64_t bytes = sink->ops->flow_bytes ? (int64_t)sink->ops->flow_bytes(sink, flow) : 0;

	ifp_plan_add(plan, level, IFP_LEVEL_COUNT, (struct ifp_size){bytes, 2});
}

void ifp_measure_counters(const struct ifp_counters *counters, const struct ifp_sink *sink,
	struct ifp_plan *plan, struct ifp_element_texts *texts)
{
	for (uint32_t i = 0; i < counters->count; i++)
		for (uint32_t k = 0; k < counters->items[i].samples.count; k++) {
			struct ifp_sink_moment value = ifp_element_value(
				&counters->items[i], k, IFP_MEASURE_MAX_LANE, texts);

			ifp_plan_add(plan, IFP_LEVEL_COUNTERS, IFP_LEVEL_COUNT,
				(struct ifp_size){moment_bytes(sink, &value), 1});
		}
}

static void measure_lanes(struct measuring *m)
{
	for (uint32_t i = 0; i < m->scene->order_count; i++) {
		const struct ifp_lane_row *row = &m->scene->view.lanes.rows[m->scene->order[i]];

		for (uint32_t k = 0; k < row->sublanes && m->sink->ops->lane_bytes; k++) {
			struct ifp_sink_lane lane = ifp_element_lane(row, k, m->texts);

			m->plan->always.bytes += (int64_t)m->sink->ops->lane_bytes(m->sink, &lane);
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
static int64_t fold_bytes(struct measuring *m, uint32_t i)
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
	return slice_bytes(m->sink, &fold);
}

static void measure_slice(struct measuring *m, uint32_t i)
{
	uint16_t first, end, shown = m->scene->nodes.items[i].shown;
	struct ifp_sink_slice slice;
	int64_t brief;

	if (shown == IFP_LEVEL_NEVER)
		return;
	slice = ifp_element_slice(m->scene, i, true, m->texts);
	brief = slice_bytes(m->sink, &slice);
	slice = ifp_element_slice(m->scene, i, false, m->texts);
	ifp_plan_add(m->plan, shown, IFP_LEVEL_COUNT, (struct ifp_size){brief, 1});
	ifp_plan_add(m->plan, IFP_LEVEL_FULL, IFP_LEVEL_COUNT,
		(struct ifp_size){slice_bytes(m->sink, &slice) - brief, 0});
	ifp_nodes_fold_levels(&m->scene->nodes, &m->scene->slices, i, &first, &end);
	if (first < end)
		ifp_plan_add(m->plan, first, end, (struct ifp_size){fold_bytes(m, i), 1});
}

static void measure_moments(struct measuring *m)
{
	const struct ifp_steps *steps = &m->scene->view.steps;
	struct ifp_sink_moment moment;

	for (uint32_t i = 0; i < steps->count; i++) {
		if (steps->items[i].whole)
			continue;
		moment = ifp_element_step_end(m->scene, i, m->texts);
		ifp_plan_add(m->plan, IFP_LEVEL_STEPS, IFP_LEVEL_COUNT,
			(struct ifp_size){moment_bytes(m->sink, &moment), 1});
	}
	for (uint32_t i = 0; i < m->scene->moment_count; i++) {
		uint16_t level = ifp_element_moment_level(m->scene, m->scene->moments[i]);
		int64_t brief;

		moment = ifp_element_moment(m->scene, m->scene->moments[i], true, m->texts);
		brief = moment_bytes(m->sink, &moment);
		ifp_plan_add(m->plan, level, IFP_LEVEL_COUNT, (struct ifp_size){brief, 1});
		moment = ifp_element_moment(m->scene, m->scene->moments[i], false, m->texts);
		ifp_plan_add(m->plan, IFP_LEVEL_FULL, IFP_LEVEL_COUNT,
			(struct ifp_size){moment_bytes(m->sink, &moment) - brief, 0});
	}
}

static void measure_flows(struct measuring *m)
{
	for (uint32_t i = 0; i < m->scene->flows.count; i++) {
		struct ifp_sink_flow flow = ifp_element_flow(m->scene, i, m->rank_order);

		ifp_measure_flow(&flow, ifp_element_flow_level(m->scene, i), m->sink, m->plan);
	}
}

int ifp_measure_scene(struct ifp_scene *scene, uint32_t rank_order, const struct ifp_sink *sink,
	struct ifp_plan *plan, struct ifp_element_texts *texts)
{
	IFP_CLEANUP(measuring_free)
	struct measuring m = {scene, rank_order, sink, plan, texts, {0}};
	int err = ifp_fold_limits_find(scene, &m.limits);

	if (err)
		return err;
	for (uint32_t i = 0; i < scene->view.lanes.count; i++)
		scene->view.lanes.rows[i].first_tid = IFP_MEASURE_MAX_LANE - IFP_MAX_SUBLANES;
	measure_lanes(&m);
	for (uint32_t i = 0; i < scene->slices.count; i++)
		measure_slice(&m, i);
	measure_moments(&m);
	measure_flows(&m);
	return 0;
}
