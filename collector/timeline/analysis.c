/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/analysis.h"

#include "collector/timeline/analysis_element.h"
#include "collector/timeline/analysis_members.h"
#include "collector/timeline/rounding.h"
#include "collector/timeline/selection.h"
#include "collector/timeline/sheet.h"
#include "collector/timeline/window.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* By so much an element may grow when other steps stand beside it: a digit of its numbers. */
#define SLACK_BYTES 2

#define AROUND_BYTES 32 /* brackets, and the name of the array of elements */

struct drawing {
	struct ifp_selection selection;
	struct ifp_analysis_maker maker;
	struct ifp_sheet *sheet;
	enum ifp_args_detail detail;
	uint64_t args_cut; /* slices that have lost args to it */
	/* Where what is drawn is only measured: bytes by detail and step; NULL = it is written. */
	const struct ifp_ranks_cost *cost;
	uint32_t cost_rank;
};

/* The step of the cut that something belongs to; everything is one step where there are none. */
static uint32_t cost_step(const struct drawing *drawing, uint32_t step)
{
	const struct ifp_cut *cut = drawing->selection.cut;

	if (!cut->by_steps)
		return 0;
	return ifp_cut_place(cut, drawing->selection.view->steps.items[step].number);
}

/* What was measured since there were before_bytes, less what each detail leaves out. */
static void charge(struct drawing *drawing, const struct ifp_slice *slice,
	const struct ifp_chrome_element *element, uint64_t before_bytes)
{
	uint64_t bytes = drawing->sheet->measured_bytes - before_bytes + SLACK_BYTES;
	uint32_t step = cost_step(drawing, slice->step);

	for (int d = 0; d < IFP_ARGS_DETAILS; d++) {
		enum ifp_args_detail detail = (enum ifp_args_detail)d;
		struct ifp_chrome_element cut = *element;

		ifp_analysis_cut_args(&drawing->maker, slice, detail, &cut);
		*ifp_ranks_cost_at(drawing->cost, drawing->cost_rank, detail, step) +=
			bytes - element->args.len_bytes + cut.args.len_bytes;
	}
}

/* The same for what has no args to leave out. */
static void charge_all(struct drawing *drawing, uint32_t step, uint64_t before_bytes)
{
	uint64_t bytes = drawing->sheet->measured_bytes - before_bytes + SLACK_BYTES;

	for (int d = 0; drawing->cost && d < IFP_ARGS_DETAILS; d++)
		*ifp_ranks_cost_at(
			drawing->cost, drawing->cost_rank, (enum ifp_args_detail)d, step) += bytes;
}

static int draw_slices(struct drawing *drawing)
{
	const struct ifp_slices *slices = &drawing->selection.slices;

	for (uint32_t i = 0; i < slices->count; i++) {
		const struct ifp_slice *slice = &slices->items[i];
		uint64_t before_bytes = drawing->sheet->measured_bytes;
		struct ifp_chrome_element element;

		if (ifp_slice_is_crowded(slice))
			continue;
		ifp_analysis_make(&drawing->maker, slice, &element);
		drawing->args_cut +=
			ifp_analysis_cut_args(&drawing->maker, slice, drawing->detail, &element);
		ifp_sheet_add(drawing->sheet, &element);
		if (drawing->cost)
			charge(drawing, slice, &element, before_bytes);
	}
	return ifp_analysis_maker_status(&drawing->maker);
}

static bool is_moment(const struct drawing *drawing, const struct ifp_timed_event *timed)
{
	const struct ifp_event *event = &timed->event;

	return ((event->kind == IFP_EVENT_INSTANT && event->source != IFP_SOURCE_STEP &&
			!ifp_rank_view_is_frame(event)) ||
		       event->kind == IFP_EVENT_COUNTER) &&
	       event->lane.kind == IFP_LANE_THREAD &&
	       ifp_selection_in_steps(&drawing->selection, timed->start_ns);
}

static void open_rows(struct drawing *drawing)
{
	struct ifp_rank_view *view = drawing->selection.view;

	for (uint64_t i = 0; i < view->loaded.count; i++) {
		struct ifp_lane_row *row = &view->lanes.rows[view->lane_of[i]];

		if (!row->sublanes && is_moment(drawing, &view->loaded.events[i]))
			row->sublanes = 1;
	}
}

static uint32_t step_of_moment(const struct drawing *drawing, int64_t at_ns)
{
	const struct ifp_steps *steps = &drawing->selection.view->steps;
	const struct ifp_step *step = ifp_steps_at(steps, at_ns);

	return cost_step(drawing, step ? (uint32_t)(step - steps->items) : 0);
}

static void draw_moments(struct drawing *drawing)
{
	const struct ifp_rank_view *view = drawing->selection.view;

	for (uint64_t i = 0; i < view->loaded.count; i++) {
		const struct ifp_timed_event *timed = &view->loaded.events[i];
		bool counter = timed->event.kind == IFP_EVENT_COUNTER;
		uint64_t before_bytes = drawing->sheet->measured_bytes;

		if (!is_moment(drawing, timed))
			continue;
		ifp_sheet_add(
			drawing->sheet, &(struct ifp_chrome_element){
						.phase = counter ? 'C' : 'i',
						.name = timed->event.name,
						.category = timed->event.category,
						.pid = IFP_ANALYSIS_HOST_PID,
						.tid = view->lanes.rows[view->lane_of[i]].first_tid,
						.start_ns = timed->start_ns,
						.args = timed->event.args,
						.extra = ifp_str(counter ? "" : "{\"s\":\"t\"}"),
					});
		charge_all(drawing, step_of_moment(drawing, timed->start_ns), before_bytes);
	}
}

static int draw_flows(struct drawing *drawing)
{
	IFP_CLEANUP_FLOWS struct ifp_flows flows = {0};
	const struct ifp_slices *slices = &drawing->selection.slices;
	int err = ifp_flows_collect(drawing->selection.view, slices, &flows);

	for (uint32_t i = 0; i < flows.count && !err; i++) {
		const struct ifp_flow *flow = &flows.items[i];
		const struct ifp_event *event =
			&drawing->selection.view->loaded.events[flow->event].event;
		struct ifp_chrome_element half = {
			.name = event->name,
			.category = event->category,
		};
		struct ifp_chrome_element from =
			ifp_analysis_place(&drawing->maker, &slices->items[flow->from]);
		struct ifp_chrome_element to =
			ifp_analysis_place(&drawing->maker, &slices->items[flow->to]);
		uint64_t before_bytes = drawing->sheet->measured_bytes;

		if (ifp_slice_is_crowded(&slices->items[flow->from]) ||
			ifp_slice_is_crowded(&slices->items[flow->to]))
			continue;
		ifp_sheet_flow(drawing->sheet, &half, (uint64_t)i + 1, &from, &to);
		/* Both ends have to be there: the step of one is enough. */
		charge_all(drawing, cost_step(drawing, slices->items[flow->to].step), before_bytes);
	}
	return err;
}

static void draw_processes(struct drawing *drawing)
{
	const struct ifp_lanes *lanes = &drawing->selection.view->lanes;
	bool named[IFP_ANALYSIS_MAX_DEVICES] = {false};

	ifp_sheet_process(drawing->sheet, IFP_ANALYSIS_HOST_PID, ifp_str("CPU"), 0);
	for (uint32_t i = 0; i < lanes->count; i++) {
		int64_t device = lanes->rows[i].lane.pid;
		char name[32];

		if (lanes->rows[i].lane.kind != IFP_LANE_STREAM || !lanes->rows[i].sublanes ||
			device < 0 || device >= IFP_ANALYSIS_MAX_DEVICES || named[device])
			continue;
		named[device] = true;
		snprintf(name, sizeof(name), "GPU %" PRId64, device);
		ifp_sheet_process(drawing->sheet, device, ifp_str(name), 1 + device);
	}
}

static int account(const struct drawing *drawing)
{
	static const char *const without[IFP_ARGS_DETAILS] = {
		[IFP_ARGS_NO_STACKS] = "ranks/: without their call stacks",
		[IFP_ARGS_SHORT] = "ranks/: without args that nothing is computed from",
		[IFP_ARGS_NO_SHAPES] =
			"ranks/: without shapes and args that nothing is computed from",
	};
	const struct ifp_selection *selection = &drawing->selection;
	uint32_t rank = selection->view->rank->rank;
	const struct {
		uint64_t count;
		const char *why;
	} rows[] = {
		{selection->outside, selection->cut->reduced
					     ? "ranks/: outside the steps that the files hold"
					     : "ranks/: outside the steps that all ranks recorded"},
		{selection->unplaced, "ranks/: on lanes that are no thread and no stream"},
		{selection->no_device, "ranks/: on GPUs with an index beyond the plug-in's 64"},
		{selection->slices.crowded, "ranks/: " IFP_TIMELINE_CROWDED},
		{drawing->args_cut, without[drawing->detail]},
	};
	int err = 0;

	for (size_t i = 0; i < IFP_ARRAY_SIZE(rows) && !err; i++)
		err = ifp_sheet_left_out(selection->run, rank, rows[i].count, rows[i].why);
	return err;
}

/* Everything, onto the sheet. */
static int draw(struct drawing *drawing)
{
	struct ifp_rank_view *view = drawing->selection.view;
	int err = ifp_slices_arrange(&drawing->selection.slices, &view->lanes);

	if (err)
		return err;
	ifp_rounding_fit(&drawing->selection.slices);
	open_rows(drawing);
	draw_processes(drawing);
	err = ifp_sheet_rows(drawing->sheet, view, ifp_analysis_pid, NULL);
	if (err)
		return err;
	charge_all(drawing, drawing->cost ? drawing->cost->steps : 0, 0);
	err = draw_slices(drawing);
	if (err)
		return err;
	draw_moments(drawing);
	return draw_flows(drawing);
}

static int write_selected(struct drawing *drawing, const char *path, struct ifp_timeline_file *file)
{
	IFP_CLEANUP_SHEET struct ifp_sheet sheet = {0};
	const struct ifp_selection *selection = &drawing->selection;
	uint32_t rank = selection->view->rank->rank;
	IFP_CLEANUP_BUF struct ifp_buf members = {0};
	int err = ifp_analysis_members(selection->run, selection->view, &members);

	ifp_buf_append_u8(&members, 0);
	if (!err)
		err = ifp_buf_status(&members);
	if (!err)
		err = ifp_sheet_open(path, (const char *)members.data, &sheet);
	if (err)
		return err;
	drawing->sheet = &sheet;
	err = draw(drawing);
	if (!err)
		err = account(drawing);
	return err ? err : ifp_sheet_close(&sheet, rank, file);
}

/* The steps of the file: those of the cut. */
static void keep_steps(struct ifp_steps *steps, const struct ifp_cut *cut)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < steps->count; i++)
		if (ifp_cut_holds(cut, steps->items[i].number))
			steps->items[kept++] = steps->items[i];
	steps->count = kept;
}

static void drawing_free(struct drawing *drawing)
{
	ifp_selection_free(&drawing->selection);
	ifp_analysis_maker_free(&drawing->maker);
}

/* Fills view and selection of *drawing; no slices are selected when there is nothing to analyse. */
static int load(struct ifp_run *run, uint32_t i, const struct ifp_cut *cut,
	struct ifp_rank_view *view, struct drawing *drawing)
{
	int err;

	drawing->selection.run = run;
	drawing->selection.cut = cut;
	drawing->selection.view = view;
	drawing->maker.selection = &drawing->selection;
	if (!ifp_run_rank(run, i)->map)
		return 0;
	err = ifp_rank_view_load(run, i, view);
	if (!err)
		err = ifp_window_trim(run, view);
	if (err)
		return err;
	keep_steps(&view->steps, cut);
	if (cut->by_steps ? !view->steps.count
			  : ifp_window_extent(view).end_ns < ifp_window_extent(view).start_ns)
		return 0;
	return ifp_selection_make(&drawing->selection);
}

int ifp_analysis_measure(struct ifp_run *run, uint32_t i, const struct ifp_cut *cut,
	const struct ifp_ranks_cost *cost, uint32_t cost_rank)
{
	IFP_CLEANUP_RANK_VIEW struct ifp_rank_view view = {0};
	IFP_CLEANUP_SHEET struct ifp_sheet sheet = {.next_tid = 1};
	IFP_CLEANUP(drawing_free)
	struct drawing drawing = {.sheet = &sheet, .cost = cost, .cost_rank = cost_rank};
	IFP_CLEANUP_BUF struct ifp_buf members = {0};
	int err = load(run, i, cut, &view, &drawing);

	if (err || !drawing.selection.slices.count)
		return err;
	err = ifp_analysis_members(run, &view, &members);
	if (err)
		return err;
	sheet.measured_bytes = AROUND_BYTES + members.len_bytes;
	err = draw(&drawing);
	return err ? err : ifp_buf_status(&sheet.measured);
}

int ifp_analysis_write(struct ifp_run *run, uint32_t i, const struct ifp_cut *cut,
	enum ifp_args_detail detail, const char *path, bool *written,
	struct ifp_timeline_file *file)
{
	IFP_CLEANUP_RANK_VIEW struct ifp_rank_view view = {0};
	IFP_CLEANUP(drawing_free) struct drawing drawing = {.detail = detail};
	int err = load(run, i, cut, &view, &drawing);

	*written = false;
	if (!err && drawing.selection.slices.count) {
		err = write_selected(&drawing, path, file);
		*written = !err;
	}
	return err;
}
