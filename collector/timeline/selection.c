/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/selection.h"

#include "collector/timeline/analysis.h"
#include "collector/timeline/categories.h"
#include "collector/timeline/window.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* Ids of the n-th window are n x 2^32 + id: Kineto's own are smaller, and all stay below 2^53. */
#define WINDOW_SHIFT 32

#define LAUNCHED_OUTSIDE UINT64_MAX /* of the steps of the file */

/* Made ids lie above all of these. */
#define FIRST_MADE_ID (UINT64_C(1) << 48)

static enum ifp_role role_of(const struct ifp_event *event)
{
	const struct ifp_category *category = ifp_category_find(event->category);

	if (!category)
		return IFP_ROLE_OTHER;
	/* A slice's lane decides: what stands on a stream is no operator, whatever it is called. */
	if ((event->lane.kind == IFP_LANE_STREAM) != (category->role == IFP_ROLE_DEVICE))
		return IFP_ROLE_OTHER;
	return category->role;
}

static uint64_t in_window(
	const struct ifp_selection *selection, const struct ifp_timed_event *timed, uint64_t id)
{
	uint64_t window = ifp_window_at(selection->run, selection->view, timed->start_ns);

	return (window << WINDOW_SHIFT) + id;
}

uint64_t ifp_selection_correlation(
	const struct ifp_selection *selection, const struct ifp_timed_event *timed)
{
	return in_window(selection, timed, timed->event.correlation);
}

/* 0 when the event has none. */
static uint64_t external_of(
	const struct ifp_selection *selection, const struct ifp_timed_event *timed)
{
	int64_t id = 0;

	if (!ifp_args_find_int(timed->event.args, "External id", &id))
		ifp_args_find_int(timed->event.args, "external id", &id);
	return id > 0 ? in_window(selection, timed, (uint64_t)id) : 0;
}

bool ifp_selection_in_steps(const struct ifp_selection *selection, int64_t at_ns)
{
	return !selection->cut->by_steps || ifp_steps_at(&selection->view->steps, at_ns);
}

/* Any number where there are no steps. */
static uint32_t step_at(const struct ifp_selection *selection, int64_t at_ns)
{
	const struct ifp_steps *steps = &selection->view->steps;
	const struct ifp_step *step = ifp_steps_at(steps, at_ns);

	return step ? (uint32_t)(step - steps->items) : 0;
}

static bool is_collective(
	const struct ifp_selection *selection, const struct ifp_timed_event *timed)
{
	return ifp_cut_collective(timed, selection->cut->nccl) != NULL;
}

static int take_operator(struct ifp_selection *selection, const struct ifp_timed_event *timed,
	struct ifp_slice *slice)
{
	uint64_t other;
	int err;

	slice->external = external_of(selection, timed);
	if (!slice->external || ifp_id_map_get(&selection->operators, slice->external, &other))
		slice->external = selection->next_external++;
	err = ifp_id_map_set(&selection->operators, slice->external, 1);
	if (!err && is_collective(selection, timed))
		err = ifp_id_map_set(&selection->collectives, slice->event, slice->external);
	return err;
}

static int take_launch(struct ifp_selection *selection, const struct ifp_timed_event *timed,
	struct ifp_slice *slice)
{
	uint64_t known;

	/*
	 * Kineto gives the launches in a collective to the operator around it
	 * (record_param_comms); the plug-in counts as communication what is the collective's own.
	 */
	if (timed->start_ns < selection->open[slice->lane].end_ns)
		slice->external = selection->open[slice->lane].external;
	else
		slice->external = external_of(selection, timed);
	/* The plug-in warns of ids that belong to no operator. */
	if (!ifp_id_map_get(&selection->operators, slice->external, &known))
		slice->external = 0;
	if (!timed->event.correlation)
		return 0;
	return ifp_id_map_set(&selection->launches, ifp_selection_correlation(selection, timed),
		selection->slices.count);
}

/* What it launches is outside, too. */
static int note_outside(struct ifp_selection *selection, const struct ifp_timed_event *timed)
{
	return timed->event.correlation
		       ? ifp_id_map_set(&selection->launches,
				 ifp_selection_correlation(selection, timed), LAUNCHED_OUTSIDE)
		       : 0;
}

static bool has_device(const struct ifp_event *event)
{
	return event->lane.pid >= 0 && event->lane.pid < IFP_ANALYSIS_MAX_DEVICES;
}

/*
 * Work on the GPU belongs to the step that launched it, whenever it runs; where its launch was not
 * recorded, to the one that it begins in.
 */
static bool take_device(struct ifp_selection *selection, const struct ifp_timed_event *timed,
	struct ifp_slice *slice)
{
	uint64_t known, launch;

	if (!has_device(&timed->event)) {
		selection->no_device++;
		return false;
	}
	if (ifp_id_map_get(
		    &selection->launches, ifp_selection_correlation(selection, timed), &launch)) {
		selection->outside += launch == LAUNCHED_OUTSIDE;
		if (launch == LAUNCHED_OUTSIDE)
			return false;
		slice->external = selection->slices.items[launch].external;
		slice->step = selection->slices.items[launch].step;
		return true;
	}
	if (!ifp_selection_in_steps(selection, timed->start_ns)) {
		selection->outside++;
		return false;
	}
	slice->external = external_of(selection, timed);
	if (!ifp_id_map_get(&selection->operators, slice->external, &known))
		slice->external = 0;
	return true;
}

/* Decides on one slice of the role that this pass is for. */
static int take(struct ifp_selection *selection, uint64_t i, enum ifp_role role)
{
	const struct ifp_timed_event *timed = &selection->view->loaded.events[i];
	struct ifp_slice slice = {
		.start_ns = timed->start_ns,
		.dur_ns = timed->dur_ns,
		.lane = selection->view->lane_of[i],
		.event = (uint32_t)i,
		.step = step_at(selection, timed->start_ns),
	};
	int err = 0;

	if (role == IFP_ROLE_DEVICE) {
		if (!take_device(selection, timed, &slice))
			return 0;
	} else if (timed->event.lane.kind == IFP_LANE_OTHER) {
		/* Kineto's span of its own window is nothing that the program did. */
		selection->unplaced += !ifp_str_is(timed->event.category, "Trace");
		return 0;
	} else if (!ifp_selection_in_steps(selection, timed->start_ns)) {
		selection->outside++;
		return role == IFP_ROLE_LAUNCH ? note_outside(selection, timed) : 0;
	}
	if (role == IFP_ROLE_OP)
		err = take_operator(selection, timed, &slice);
	if (role == IFP_ROLE_LAUNCH)
		err = take_launch(selection, timed, &slice);
	return err ? err : ifp_slices_add(&selection->slices, &slice);
}

static bool is_profiler_step(const struct ifp_selection *selection, const struct ifp_event *event)
{
	int64_t number;

	return selection->view->steps.origin == IFP_STEPS_PROFILER &&
	       ifp_profiler_step(event->name, &number);
}

/* While launches are taken in order of time: the collective that began last on each lane. */
static void note_collective(struct ifp_selection *selection, uint64_t i)
{
	const struct ifp_timed_event *timed = &selection->view->loaded.events[i];
	uint64_t external;

	if (ifp_id_map_get(&selection->collectives, i, &external))
		selection->open[selection->view->lane_of[i]] =
			(struct ifp_open_collective){timed->start_ns + timed->dur_ns, external};
}

static int take_role(struct ifp_selection *selection, enum ifp_role role)
{
	const struct ifp_rank_events *loaded = &selection->view->loaded;

	for (uint64_t i = 0; i < loaded->count; i++) {
		const struct ifp_event *event = &loaded->events[i].event;
		int err;

		if (role == IFP_ROLE_LAUNCH)
			note_collective(selection, i);
		if (event->kind != IFP_EVENT_SLICE || role_of(event) != role)
			continue;
		if (event->lane.kind == IFP_LANE_THREAD && is_profiler_step(selection, event))
			continue; /* drawn as a step */
		err = take(selection, i, role);
		if (err)
			return err;
	}
	return 0;
}

static int take_steps(struct ifp_selection *selection)
{
	const struct ifp_steps *steps = &selection->view->steps;

	for (uint32_t i = 0; selection->cut->by_steps && i < steps->count; i++) {
		const struct ifp_step *step = &steps->items[i];
		int err = ifp_slices_add(
			&selection->slices, &(struct ifp_slice){
						    .start_ns = step->start_ns,
						    .dur_ns = step->end_ns - step->start_ns,
						    .lane = step->lane,
						    .event = IFP_SLICE_NONE,
						    .step = i,
						    .external = selection->next_external++,
					    });

		if (err)
			return err;
	}
	return 0;
}

/* Operators first: launches refer to them, and kernels to launches. */
int ifp_selection_make(struct ifp_selection *selection)
{
	static const enum ifp_role order[] = {
		IFP_ROLE_OP, IFP_ROLE_OTHER, IFP_ROLE_LAUNCH, IFP_ROLE_DEVICE};
	int err;

	selection->next_external = FIRST_MADE_ID;
	selection->open = calloc(selection->view->lanes.count + 1u, sizeof(*selection->open));
	if (!selection->open)
		return ifp_fail(
			-ENOMEM, "out of memory for %u lanes", selection->view->lanes.count);
	for (uint32_t i = 0; i < selection->view->lanes.count; i++)
		selection->open[i].end_ns = INT64_MIN;
	err = take_steps(selection);
	for (size_t i = 0; i < IFP_ARRAY_SIZE(order) && !err; i++)
		err = take_role(selection, order[i]);
	return err;
}

void ifp_selection_free(struct ifp_selection *selection)
{
	ifp_slices_free(&selection->slices);
	ifp_id_map_free(&selection->operators);
	ifp_id_map_free(&selection->launches);
	ifp_id_map_free(&selection->collectives);
	free(selection->open);
}
