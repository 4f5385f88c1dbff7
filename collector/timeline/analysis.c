/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/analysis.h"

#include "collector/timeline/args_edit.h"
#include "collector/timeline/categories.h"
#include "collector/timeline/rounding.h"
#include "collector/timeline/selection.h"
#include "collector/timeline/sheet.h"
#include "collector/timeline/tensor_args.h"
#include "collector/timeline/window.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>

/* Of the rank's own process: GPUs have their index as pid, from 0 on. */
#define HOST_PID 1000

#define ROUNDING_NS 1000 /* more than the plug-in's doubles lose of a time */

struct drawing {
	struct ifp_selection selection;
	struct ifp_sheet *sheet;
	struct ifp_buf edited[2]; /* args while they are changed, one change after the other */
};

static int64_t pid_of_row(const struct ifp_lane_row *row, const void *context)
{
	(void)context;
	return row->lane.kind == IFP_LANE_STREAM ? row->lane.pid : HOST_PID;
}

static struct ifp_str text_of(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

static const struct ifp_timed_event *event_of(
	const struct drawing *drawing, const struct ifp_slice *slice)
{
	return &drawing->selection.view->loaded.events[slice->event];
}

static struct ifp_chrome_element place_of(
	const struct drawing *drawing, const struct ifp_slice *slice)
{
	const struct ifp_lane_row *row = &drawing->selection.view->lanes.rows[slice->lane];

	return (struct ifp_chrome_element){
		.phase = 'X',
		.pid = pid_of_row(row, NULL),
		.tid = (int64_t)row->first_tid + slice->sublane,
		.start_ns = slice->start_ns,
		.dur_ns = slice->dur_ns,
	};
}

/* One member of the element's args gets a new value. */
static void set_int(struct drawing *drawing, struct ifp_chrome_element *element, const char *key,
	uint64_t value)
{
	bool in_first = element->args.ptr == (const char *)drawing->edited[0].data;
	struct ifp_buf *out = &drawing->edited[in_first];

	ifp_buf_clear(out);
	ifp_args_set_int(out, element->args, key, value);
	element->args = text_of(out);
}

static void rename_member(struct drawing *drawing, struct ifp_chrome_element *element,
	const char *key, const char *new_key)
{
	bool in_first = element->args.ptr == (const char *)drawing->edited[0].data;
	struct ifp_buf *out = &drawing->edited[in_first];

	ifp_buf_clear(out);
	ifp_args_rename(out, element->args, key, new_key);
	element->args = text_of(out);
}

/* Both spellings are known to the plug-in, the small one first. */
static void set_external(struct drawing *drawing, struct ifp_chrome_element *element, uint64_t id)
{
	struct ifp_str value;

	if (element->args.len_bytes && ifp_args_find(element->args, "external id", &value))
		set_int(drawing, element, "external id", id);
	else
		set_int(drawing, element, "External id", id);
}

static void make_collective(struct drawing *drawing, const struct ifp_event *event,
	const char *name, struct ifp_chrome_element *element)
{
	struct ifp_buf *out = &drawing->sheet->text;

	if (!ifp_str_is(event->name, name)) {
		ifp_buf_clear(out);
		ifp_buf_append_u8(out, '"');
		ifp_buf_append(out, event->name.ptr, event->name.len_bytes);
		ifp_buf_append_u8(out, '"');
		element->name = ifp_str(name);
		ifp_buf_clear(&drawing->edited[0]);
		ifp_args_set(&drawing->edited[0], element->args, "name", text_of(out));
		element->args = text_of(&drawing->edited[0]);
	}
	if (!ifp_tensor_args_countable(element->args)) {
		rename_member(drawing, element, "Input Dims", "Input Dims (as recorded)");
		rename_member(drawing, element, "Input type", "Input type (as recorded)");
	}
}

static bool looks_collective(struct ifp_str name)
{
	bool nccl;

	return ifp_collective_name(name, &nccl) != NULL;
}

/*
 * A collective may end behind its step, where the thread that ends it lost its core. The plug-in
 * places only what lies within a step whole, so there the slice ends with the step.
 */
static void end_within(const struct ifp_step *step, struct ifp_chrome_element *element)
{
	int64_t most_ns = step->end_ns - element->start_ns - ROUNDING_NS;

	if (element->dur_ns > most_ns)
		element->dur_ns = most_ns > 0 ? most_ns : 0;
}

static void make_operator(
	struct drawing *drawing, const struct ifp_slice *slice, struct ifp_chrome_element *element)
{
	const struct ifp_selection *selection = &drawing->selection;
	const struct ifp_timed_event *timed = event_of(drawing, slice);
	const struct ifp_step *step = ifp_steps_at(&selection->view->steps, timed->start_ns);
	const char *name = ifp_cut_collective(timed, selection->cut->nccl);

	if (name) {
		make_collective(drawing, &timed->event, name, element);
		if (step)
			end_within(step, element);
	} else if (looks_collective(timed->event.name) ||
		   ifp_str_starts_with(timed->event.name, "ProfilerStep#")) {
		element->category = ifp_str("annotation"); /* not for the plug-in to count */
	}
	set_external(drawing, element, slice->external);
}

static void make_slice(
	struct drawing *drawing, const struct ifp_slice *slice, struct ifp_chrome_element *element)
{
	const struct ifp_timed_event *timed = event_of(drawing, slice);
	const struct ifp_event *event = &timed->event;
	const struct ifp_category *category = ifp_category_find(event->category);
	bool on_stream = event->lane.kind == IFP_LANE_STREAM;

	element->name = event->name;
	element->args = event->args;
	element->extra = event->extra;
	element->category = event->category.len_bytes ? event->category : ifp_str("event");
	if (!category)
		return;
	element->category = ifp_str(category->analysis);
	if (on_stream != (category->role == IFP_ROLE_DEVICE)) {
		element->category = ifp_str(category->merged);
		return;
	}
	if (category->role == IFP_ROLE_OP)
		make_operator(drawing, slice, element);
	if (category->role != IFP_ROLE_LAUNCH && category->role != IFP_ROLE_DEVICE)
		return;
	set_external(drawing, element, slice->external);
	if (event->correlation)
		set_int(drawing, element, "correlation",
			ifp_selection_correlation(&drawing->selection, timed));
	if (on_stream)
		set_int(drawing, element, "device", (uint64_t)event->lane.pid);
}

static void make_step(
	struct drawing *drawing, const struct ifp_slice *slice, struct ifp_chrome_element *element)
{
	const struct ifp_step *step = &drawing->selection.view->steps.items[slice->step];
	struct ifp_buf *text = &drawing->sheet->text;

	ifp_buf_clear(text);
	ifp_buf_printf(text, "ProfilerStep#%" PRId64, step->number);
	element->name = text_of(text);
	element->category = ifp_str("user_annotation");
	set_external(drawing, element, slice->external);
}

static int draw_slices(struct drawing *drawing)
{
	const struct ifp_slices *slices = &drawing->selection.slices;

	for (uint32_t i = 0; i < slices->count; i++) {
		const struct ifp_slice *slice = &slices->items[i];
		struct ifp_chrome_element element;

		if (slice->sublane == IFP_SLICE_NONE)
			continue;
		element = place_of(drawing, slice);
		if (slice->event == IFP_SLICE_NONE)
			make_step(drawing, slice, &element);
		else
			make_slice(drawing, slice, &element);
		ifp_sheet_add(drawing->sheet, &element);
	}
	return ifp_buf_status(&drawing->edited[0]) || ifp_buf_status(&drawing->edited[1]) ? -ENOMEM
											  : 0;
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

static void draw_moments(struct drawing *drawing)
{
	const struct ifp_rank_view *view = drawing->selection.view;

	for (uint64_t i = 0; i < view->loaded.count; i++) {
		const struct ifp_timed_event *timed = &view->loaded.events[i];
		bool counter = timed->event.kind == IFP_EVENT_COUNTER;

		if (!is_moment(drawing, timed))
			continue;
		ifp_sheet_add(
			drawing->sheet, &(struct ifp_chrome_element){
						.phase = counter ? 'C' : 'i',
						.name = timed->event.name,
						.category = timed->event.category,
						.pid = HOST_PID,
						.tid = view->lanes.rows[view->lane_of[i]].first_tid,
						.start_ns = timed->start_ns,
						.args = timed->event.args,
						.extra = ifp_str(counter ? "" : "{\"s\":\"t\"}"),
					});
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
		struct ifp_chrome_element from = place_of(drawing, &slices->items[flow->from]);
		struct ifp_chrome_element to = place_of(drawing, &slices->items[flow->to]);

		ifp_sheet_flow(drawing->sheet, &half, (uint64_t)i + 1, &from, &to);
	}
	return err;
}

static void draw_processes(struct drawing *drawing)
{
	const struct ifp_lanes *lanes = &drawing->selection.view->lanes;
	bool named[IFP_ANALYSIS_MAX_DEVICES] = {false};

	ifp_sheet_process(drawing->sheet, HOST_PID, ifp_str("CPU"), 0);
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

static int account(const struct drawing *drawing, uint32_t crowded)
{
	const struct ifp_selection *selection = &drawing->selection;
	uint32_t rank = selection->view->rank->rank;
	int err = ifp_sheet_left_out(selection->run, rank, selection->outside,
		"ranks/: outside the steps that all ranks recorded");

	if (!err)
		err = ifp_sheet_left_out(selection->run, rank, selection->unplaced,
			"ranks/: on lanes that are no thread and no stream");
	if (!err)
		err = ifp_sheet_left_out(selection->run, rank, selection->no_device,
			"ranks/: on GPUs with an index beyond the plug-in's 64");
	if (!err)
		err = ifp_sheet_left_out(selection->run, rank, crowded,
			"ranks/: more than 64 slices overlap on one lane");
	return err;
}

static int draw(struct drawing *drawing)
{
	struct ifp_rank_view *view = drawing->selection.view;
	uint32_t crowded = ifp_slices_arrange(&drawing->selection.slices, &view->lanes);
	int err;

	ifp_rounding_fit(&drawing->selection.slices);
	open_rows(drawing);
	draw_processes(drawing);
	err = ifp_sheet_rows(drawing->sheet, view, pid_of_row, NULL);
	if (!err)
		err = draw_slices(drawing);
	if (err)
		return err;
	draw_moments(drawing);
	err = draw_flows(drawing);
	return err ? err : account(drawing, crowded);
}

static int write_selected(struct drawing *drawing, const char *path, struct ifp_timeline_file *file)
{
	IFP_CLEANUP_SHEET struct ifp_sheet sheet = {0};
	const struct ifp_selection *selection = &drawing->selection;
	uint32_t rank = selection->view->rank->rank;
	char members[160];
	int err;

	snprintf(members, sizeof(members),
		"\"schemaVersion\":1,\"displayTimeUnit\":\"ms\","
		"\"distributedInfo\":{\"rank\":%u,\"world_size\":%u}",
		rank, ifp_run_world(selection->run));
	err = ifp_sheet_open(path, members, &sheet);
	if (err)
		return err;
	drawing->sheet = &sheet;
	err = draw(drawing);
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
	ifp_buf_free(&drawing->edited[0]);
	ifp_buf_free(&drawing->edited[1]);
}

int ifp_analysis_write(struct ifp_run *run, uint32_t i, const struct ifp_cut *cut, const char *path,
	bool *written, struct ifp_timeline_file *file)
{
	IFP_CLEANUP_RANK_VIEW struct ifp_rank_view view = {0};
	IFP_CLEANUP(drawing_free)
	struct drawing drawing = {.selection = {.run = run, .cut = cut, .view = &view}};
	int err;

	*written = false;
	if (!ifp_run_rank(run, i)->map)
		return 0;
	err = ifp_rank_view_load(run, i, &view);
	if (!err)
		err = ifp_window_trim(run, &view);
	if (err)
		return err;
	keep_steps(&view.steps, cut);
	if (cut->by_steps ? !view.steps.count
			  : ifp_window_extent(&view).end_ns < ifp_window_extent(&view).start_ns)
		return 0;
	err = ifp_selection_make(&drawing.selection);
	if (!err && drawing.selection.slices.count) {
		err = write_selected(&drawing, path, file);
		*written = !err;
	}
	return err;
}
