/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/xplane_events.h"

#include "collector/timeline/categories.h"
#include "collector/timeline/xplane_args.h"
#include "core/array.h"

#include <inttypes.h>

/* A step's number for work that belongs to none: xprof gives it that of its neighbour otherwise. */
#define NO_STEP (-1)

static struct ifp_str text_of(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

/* Begins an event, if it can be one: its time must be possible, and there must be room. */
static bool begin(struct ifp_xplane_file *file, struct ifp_xplane_plane *plane, struct ifp_str name,
	enum ifp_xplane_style style, int64_t start_ns, int64_t dur_ns)
{
	if (start_ns < 0 || dur_ns < 0 || start_ns > IFP_XPLANE_MAX_NS - dur_ns) {
		file->untimely++;
		return false;
	}
	if (file->full) {
		file->full++;
		return false;
	}
	ifp_xplane_event_begin(plane, ifp_xplane_event_name(plane, name, style), start_ns, dur_ns);
	return true;
}

static void end(struct ifp_xplane_file *file, struct ifp_xplane_plane *plane)
{
	if (ifp_xplane_event_end(plane))
		file->events++;
	else
		file->full++;
}

static void stat_int(struct ifp_xplane_plane *plane, const char *name, int64_t value)
{
	ifp_xplane_stat_int(plane, ifp_xplane_stat_name(plane, ifp_str(name)), value);
}

static void stat_uint(struct ifp_xplane_plane *plane, const char *name, uint64_t value)
{
	ifp_xplane_stat_uint(plane, ifp_xplane_stat_name(plane, ifp_str(name)), value);
}

static void draw_step(struct ifp_xplane_file *file, struct ifp_xplane_plane *plane,
	const struct ifp_xplane_step *step)
{
	if (!begin(file, plane, ifp_str("step"), IFP_XPLANE_PLAIN, step->start_ns, step->dur_ns))
		return;
	stat_int(plane, "group_id", step->number);
	stat_int(plane, "step_num", step->number);
	/* Under this name xprof shows the event, and the step in its tables. */
	ifp_buf_clear(&file->text);
	ifp_buf_printf(&file->text, "step %" PRId64, step->number);
	ifp_xplane_stat_text(
		plane, ifp_xplane_stat_name(plane, ifp_str("step_name")), text_of(&file->text));
	end(file, plane);
}

static void add_step(struct ifp_xplane_file *file, struct ifp_xplane_plane *plane,
	const struct ifp_sink_slice *slice)
{
	const struct ifp_xplane_step step = {slice->step, slice->start_ns, slice->dur_ns};
	int err = IFP_ARRAY_RESERVE(file->steps, file->step_capacity, file->step_count, 1, "steps");

	if (!err)
		file->steps[file->step_count++] = step;
	ifp_xplane_file_keep(file, err);
	file->steps_lane = slice->lane;
	draw_step(file, plane, &step);
}

/* The operator around a moment of the open lane, 0 = none. */
static uint32_t operator_at(struct ifp_xplane_file *file, int64_t at_ns)
{
	while (file->operator_count && file->operators[file->operator_count - 1].end_ns <= at_ns)
		file->operator_count--;
	return file->operator_count ? file->operators[file->operator_count - 1].name : 0;
}

static void open_operator(struct ifp_xplane_file *file, const struct ifp_sink_slice *slice)
{
	uint32_t name = 0;
	int err;

	operator_at(file, slice->start_ns);
	err = IFP_ARRAY_RESERVE(
		file->operators, file->operator_capacity, file->operator_count, 1, "operators");
	if (!err)
		err = ifp_intern(&file->names, slice->name, &name);
	if (!err)
		file->operators[file->operator_count++] = (struct ifp_xplane_open){
			.end_ns = slice->start_ns + slice->dur_ns, .name = name + 1};
	ifp_xplane_file_keep(file, err);
}

static void tell_work(struct ifp_xplane_file *file, struct ifp_xplane_plane *plane,
	const struct ifp_sink_slice *slice, uint64_t correlation)
{
	const struct ifp_xplane_launch launch = {
		.correlation = correlation,
		.start_ns = slice->start_ns,
		.step = slice->step,
		.operator= operator_at(file, slice->start_ns),
		.number = file->launches.count + 1,
	};

	ifp_xplane_file_keep(file, ifp_xplane_launches_add(&file->launches, &launch));
	/* The recorded one is unique in its window only. xprof draws arrows by it. */
	stat_uint(plane, "correlation_id", launch.number);
}

/*
 * Whether an event on the host has to tell its step: those inside of one that has told it need not,
 * since xprof unites them.
 */
static bool tells_step(struct ifp_xplane_file *file, const struct ifp_sink_slice *slice)
{
	int64_t end_ns = slice->start_ns + slice->dur_ns;

	if (slice->step < 0 || ifp_xplane_claims_step(slice->name) ||
		(slice->step == file->told_step && end_ns <= file->told_until_ns))
		return false;
	file->told_step = slice->step;
	file->told_until_ns = end_ns;
	return true;
}

static bool is_operator(const struct ifp_category *category, const struct ifp_sink_slice *slice)
{
	return category && ifp_str_is(ifp_str(category->analysis), "cpu_op") &&
	       !ifp_str_is(slice->category, "user_annotation");
}

static void draw_host(struct ifp_xplane_file *file, struct ifp_xplane_plane *plane,
	const struct ifp_sink_slice *slice)
{
	const struct ifp_event *event = &slice->event->event;
	const struct ifp_category *category = ifp_category_find(slice->category);
	bool launch = category && category->role == IFP_ROLE_LAUNCH && event->correlation;
	enum ifp_xplane_style style =
		is_operator(category, slice) ? IFP_XPLANE_OPERATOR : IFP_XPLANE_PLAIN;

	if (style == IFP_XPLANE_OPERATOR)
		open_operator(file, slice);
	if (!begin(file, plane, slice->name, style, slice->start_ns, slice->dur_ns))
		return;
	if (tells_step(file, slice) || (launch && slice->step >= 0))
		stat_int(plane, "group_id", slice->step);
	if (launch)
		tell_work(file, plane, slice, event->correlation);
	ifp_xplane_args(plane, event->args, false);
	end(file, plane);
}

/* Work in front of the first step has no neighbour that it could be taken to belong to. */
static bool has_step_before(const struct ifp_xplane_file *file, int64_t at_ns)
{
	return file->step_count && file->steps[0].start_ns <= at_ns;
}

/* What is known of the call that launched work. */
static void tell_launch(struct ifp_xplane_file *file, struct ifp_xplane_plane *plane,
	const struct ifp_sink_slice *slice, uint64_t correlation)
{
	const struct ifp_xplane_launch *launch =
		ifp_xplane_launches_find(&file->launches, correlation, slice->start_ns);
	int64_t step = launch ? launch->step : slice->step;

	stat_uint(plane, "correlation_id",
		launch ? launch->number : file->launches.count + ++file->orphans);
	if (step >= 0 || has_step_before(file, slice->start_ns))
		stat_int(plane, "group_id", step >= 0 ? step : NO_STEP);
	if (!launch || !launch->operator)
		return;
	ifp_buf_clear(&file->text);
	ifp_xplane_name(&file->text, ifp_intern_text(&file->names, launch->operator- 1),
		IFP_XPLANE_OPERATOR);
	ifp_xplane_stat_text(
		plane, ifp_xplane_stat_name(plane, ifp_str("tf_op")), text_of(&file->text));
}

static void draw_device(struct ifp_xplane_file *file, struct ifp_xplane_plane *plane,
	const struct ifp_sink_slice *slice, bool kernel)
{
	const struct ifp_event *event = &slice->event->event;

	if (!begin(file, plane, slice->name, IFP_XPLANE_COPY, slice->start_ns, slice->dur_ns))
		return;
	tell_launch(file, plane, slice, event->correlation);
	if (kernel)
		ifp_xplane_kernel(plane, event->args, &file->text);
	else
		ifp_xplane_copy(plane, event->args, &file->text);
	ifp_xplane_args(plane, event->args, true);
	end(file, plane);
}

static void draw_note(struct ifp_xplane_file *file, struct ifp_xplane_plane *plane,
	const struct ifp_sink_slice *slice)
{
	if (!begin(file, plane, slice->name, IFP_XPLANE_PLAIN, slice->start_ns, slice->dur_ns))
		return;
	ifp_xplane_args(plane, slice->event->event.args, false);
	end(file, plane);
}

/* On the lane of a GPU's stream: what it did, or what was said about it. */
static void draw_on_device(struct ifp_xplane_file *file, const struct ifp_xplane_lane *lane,
	const struct ifp_sink_slice *slice)
{
	const struct ifp_category *category = ifp_category_find(slice->category);
	bool work = category && category->role == IFP_ROLE_DEVICE;
	struct ifp_xplane_plane *plane =
		ifp_xplane_file_enter(file, lane, !work, IFP_XPLANE_EVENTS);

	if (work)
		draw_device(file, plane, slice, ifp_str_is(ifp_str(category->analysis), "kernel"));
	else
		draw_note(file, plane, slice);
}

void ifp_xplane_slice(struct ifp_xplane_file *file, const struct ifp_sink_slice *slice)
{
	const struct ifp_xplane_lane *lane = ifp_xplane_file_find(file, slice->lane);
	struct ifp_xplane_plane *plane;

	if (!lane)
		return;
	if (lane->notes) {
		draw_on_device(file, lane, slice);
		return;
	}
	plane = ifp_xplane_file_enter(file, lane, false, IFP_XPLANE_EVENTS);
	if (slice->kind == IFP_SINK_STEP)
		add_step(file, plane, slice);
	else
		draw_host(file, plane, slice);
}

void ifp_xplane_moment(struct ifp_xplane_file *file, const struct ifp_sink_moment *moment)
{
	const struct ifp_xplane_lane *lane = ifp_xplane_file_find(file, moment->lane);
	struct ifp_xplane_plane *plane;

	if (!lane)
		return;
	plane = ifp_xplane_file_enter(file, lane, lane->notes != NULL,
		moment->counter ? IFP_XPLANE_COUNTERS : IFP_XPLANE_EVENTS);
	if (!begin(file, plane, moment->name, IFP_XPLANE_PLAIN, moment->at_ns, 0))
		return;
	ifp_xplane_args(plane, moment->args, false);
	end(file, plane);
}

/* Whether the plane's first lane is this one. */
static bool is_first(const struct ifp_xplane_file *file, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (file->lanes[k].plane == file->lanes[i].plane)
			return false;
	return true;
}

void ifp_xplane_device_steps(struct ifp_xplane_file *file)
{
	for (uint32_t i = 0; i < file->lane_count; i++) {
		struct ifp_xplane_plane *plane = file->lanes[i].plane;

		if (!file->lanes[i].notes || !file->step_count || !is_first(file, i))
			continue;
		ifp_xplane_line(plane, file->steps_lane, ifp_str("steps of the rank"));
		for (uint32_t k = 0; k < file->step_count; k++)
			draw_step(file, plane, &file->steps[k]);
	}
}
