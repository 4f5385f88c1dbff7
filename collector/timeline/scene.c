/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/scene.h"

#include "collector/analyse/activity.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

static int add_steps(struct ifp_scene *scene)
{
	const struct ifp_lane place = {.kind = IFP_LANE_OTHER, .tid_text = ifp_str("\"steps\"")};
	const struct ifp_steps *steps = &scene->view.steps;
	int err = ifp_lanes_find(&scene->view.lanes, &place, &scene->steps_row);

	if (err)
		return err;
	scene->view.lanes.rows[scene->steps_row].of_steps = true;
	for (uint32_t i = 0; i < steps->count && !err; i++) {
		const struct ifp_step *step = &steps->items[i];

		if (step->whole)
			err = ifp_slices_add(
				&scene->slices, &(struct ifp_slice){
							.start_ns = step->start_ns,
							.dur_ns = step->end_ns - step->start_ns,
							.lane = scene->steps_row,
							.event = IFP_SLICE_NONE,
							.step = i,
						});
	}
	return err;
}

static int add_slices(struct ifp_scene *scene)
{
	const struct ifp_rank_events *loaded = &scene->view.loaded;
	struct ifp_slices *slices = &scene->slices;
	int err = add_steps(scene);

	if (!err)
		err = ifp_slices_reserve(slices, loaded->count);
	for (uint64_t i = 0; i < loaded->count && !err; i++) {
		const struct ifp_timed_event *timed = &loaded->events[i];

		if (timed->event.kind == IFP_EVENT_SLICE)
			slices->items[slices->count++] = (struct ifp_slice){
				.start_ns = timed->start_ns,
				.dur_ns = timed->dur_ns,
				.lane = scene->view.lane_of[i],
				.event = (uint32_t)i,
				.look = timed->look,
			};
	}
	return err;
}

static bool is_moment(const struct ifp_event *event)
{
	return (event->kind == IFP_EVENT_INSTANT && event->source != IFP_SOURCE_STEP &&
		       !ifp_rank_view_is_frame(event)) ||
	       event->kind == IFP_EVENT_COUNTER;
}

static bool has_no_picture(enum ifp_event_kind kind)
{
	return kind == IFP_EVENT_BEGIN || kind == IFP_EVENT_END || kind == IFP_EVENT_ASYNC_BEGIN ||
	       kind == IFP_EVENT_ASYNC_INSTANT || kind == IFP_EVENT_ASYNC_END ||
	       kind == IFP_EVENT_OTHER;
}

/* Rows that have moments but no slices need a place, too. */
static void open_rows(struct ifp_scene *scene)
{
	struct ifp_rank_view *view = &scene->view;

	if (view->steps.count && !view->lanes.rows[scene->steps_row].sublanes)
		view->lanes.rows[scene->steps_row].sublanes = 1;
	for (uint64_t i = 0; i < view->loaded.count; i++) {
		const struct ifp_event *event = &view->loaded.events[i].event;
		struct ifp_lane_row *row = &view->lanes.rows[view->lane_of[i]];

		scene->unpictured += has_no_picture(event->kind);
		if (!is_moment(event))
			continue;
		scene->moment_count++;
		if (!row->sublanes)
			row->sublanes = 1;
	}
}

/* next: by row, where its next moment goes; filled here. */
static void sort_moments(struct ifp_scene *scene, uint32_t *next)
{
	const struct ifp_rank_view *view = &scene->view;
	uint32_t place = 0;

	for (uint64_t i = 0; i < view->loaded.count; i++)
		next[view->lane_of[i]] += is_moment(&view->loaded.events[i].event);
	for (uint32_t k = 0; k < scene->order_count; k++) {
		uint32_t count = next[scene->order[k]];

		next[scene->order[k]] = place;
		place += count;
	}
	for (uint64_t i = 0; i < view->loaded.count; i++)
		if (is_moment(&view->loaded.events[i].event))
			scene->moments[next[view->lane_of[i]]++] = (uint32_t)i;
}

static void measure_extent(struct ifp_scene *scene)
{
	for (uint32_t i = 0; i < scene->slices.count; i++) {
		const struct ifp_slice *slice = &scene->slices.items[i];
		int64_t end_ns = slice->start_ns + slice->dur_ns;

		if (!i || slice->start_ns < scene->start_ns)
			scene->start_ns = slice->start_ns;
		if (!i || end_ns > scene->end_ns)
			scene->end_ns = end_ns;
	}
}

static int order_lanes(struct ifp_scene *scene)
{
	const struct ifp_rank_view *view = &scene->view;
	IFP_CLEANUP_FREE uint32_t *next = calloc(view->lanes.count + 1u, sizeof(*next));
	int err = ifp_lanes_order(&view->lanes, view->rank->pid, &scene->order);

	if (err)
		return err;
	scene->order_count = view->lanes.count;
	scene->moments = calloc(scene->moment_count + 1u, sizeof(*scene->moments));
	if (!next || !scene->moments)
		return ifp_fail(-ENOMEM, "out of memory for %u moments", scene->moment_count);
	if (scene->moment_count)
		sort_moments(scene, next);
	return 0;
}

/* What is looked into, whatever is drawn. */
static bool needs_args(const struct ifp_event *look)
{
	struct ifp_str name;
	bool device;

	if (look->kind == IFP_EVENT_FLOW_START || look->kind == IFP_EVENT_FLOW_STEP ||
		look->kind == IFP_EVENT_FLOW_END)
		return false;
	return look->kind != IFP_EVENT_SLICE || look->source != IFP_SOURCE_KINETO ||
	       ifp_activity_is_collective(look, &name, &device);
}

int ifp_scene_read(struct ifp_run *run, uint32_t i, bool lean, struct ifp_scene *scene)
{
	IFP_CLEANUP_SCENE struct ifp_scene loading = {0};
	int err = ifp_rank_view_read(run, i, lean ? needs_args : NULL, &loading.view);

	if (!err)
		err = add_slices(&loading);
	if (err)
		return err;
	err = ifp_slices_arrange(&loading.slices, &loading.view.lanes);
	if (err)
		return err;
	measure_extent(&loading);
	open_rows(&loading);
	err = order_lanes(&loading);
	if (!err)
		err = ifp_flows_collect(&loading.view, &loading.slices, &loading.flows);
	if (!err)
		err = ifp_nodes_make(&loading.view.loaded, &loading.view.steps, &loading.slices,
			&loading.view.lanes, loading.end_ns - loading.start_ns, &loading.nodes);
	if (err)
		return err;
	*scene = loading;
	loading = (struct ifp_scene){0};
	return 0;
}

int ifp_scene_load(struct ifp_run *run, uint32_t i, struct ifp_scene *scene)
{
	int err = ifp_scene_read(run, i, false, scene);

	return err ? err : ifp_run_report_damage(run, i);
}

void ifp_scene_free(struct ifp_scene *scene)
{
	free(scene->moments);
	free(scene->order);
	ifp_nodes_free(&scene->nodes);
	ifp_flows_free(&scene->flows);
	ifp_slices_free(&scene->slices);
	ifp_rank_view_free(&scene->view);
	*scene = (struct ifp_scene){0};
}
