/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/merged.h"

#include "collector/timeline/categories.h"
#include "collector/timeline/rounding.h"
#include "collector/timeline/sheet.h"
#include "core/error.h"
#include "trace/chrome/escape.h"

#include <inttypes.h>

/* Never a pid or device of the real world: those of two hosts may be equal. */
#define FIRST_PID 1000

/* Flow ids of a rank are rank x 2^32 + n: below 2^53, which JavaScript's numbers hold exactly. */
#define FLOW_RANK_SHIFT 32

/* What the ranks have in common. */
struct whole {
	bool steps_told;	  /* a rank's steps are on the sheet in the plug-in's own form */
	int64_t start_ns, end_ns; /* of all slices */
};

struct drawing {
	struct ifp_run *run;
	struct ifp_sheet *sheet;
	struct whole *whole;
	struct ifp_rank_view *view;
	struct ifp_slices slices;
	uint32_t steps_row;
	int64_t pid;
	bool tells_steps;   /* this is the first rank that has whole steps */
	uint64_t not_drawn; /* events of kinds that have no picture here */
};

static int64_t pid_of(const struct ifp_run_rank *rank)
{
	return FIRST_PID + 2 * (int64_t)rank->rank;
}

static int64_t pid_of_row(const struct ifp_lane_row *row, const void *context)
{
	const struct drawing *drawing = context;

	(void)row;
	return drawing->pid;
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

static int draw_process(struct ifp_sheet *sheet, const struct ifp_run_rank *rank, int64_t order)
{
	IFP_CLEANUP_BUF struct ifp_buf name = {0};
	int err;

	ifp_buf_printf(&name, "rank %u · ", rank->rank);
	ifp_json_escape(&name, ifp_str(rank->host ? rank->host : "?"));
	ifp_buf_append_text(&name, " · ");
	append_bound(&name, rank->map);
	ifp_buf_append_u8(&name, 0);
	err = ifp_buf_status(&name);
	if (!err)
		ifp_sheet_process(
			sheet, FIRST_PID + 2 * (int64_t)rank->rank, (const char *)name.data, order);
	return err;
}

static int add_steps(struct drawing *drawing)
{
	const struct ifp_lane place = {.kind = IFP_LANE_OTHER, .tid_text = ifp_str("\"steps\"")};
	const struct ifp_steps *steps = &drawing->view->steps;
	int err = ifp_lanes_find(&drawing->view->lanes, &place, &drawing->steps_row);

	if (err)
		return err;
	drawing->view->lanes.rows[drawing->steps_row].of_steps = true;
	for (uint32_t i = 0; i < steps->count && !err; i++) {
		const struct ifp_step *step = &steps->items[i];

		if (step->whole)
			err = ifp_slices_add(
				&drawing->slices, &(struct ifp_slice){
							  .start_ns = step->start_ns,
							  .dur_ns = step->end_ns - step->start_ns,
							  .lane = drawing->steps_row,
							  .event = IFP_SLICE_NONE,
							  .step = i,
						  });
	}
	return err;
}

static int add_slices(struct drawing *drawing)
{
	const struct ifp_rank_events *loaded = &drawing->view->loaded;
	int err = add_steps(drawing);

	for (uint64_t i = 0; i < loaded->count && !err; i++) {
		const struct ifp_timed_event *timed = &loaded->events[i];

		if (timed->event.kind == IFP_EVENT_SLICE)
			err = ifp_slices_add(
				&drawing->slices, &(struct ifp_slice){
							  .start_ns = timed->start_ns,
							  .dur_ns = timed->dur_ns,
							  .lane = drawing->view->lane_of[i],
							  .event = (uint32_t)i,
						  });
	}
	return err;
}

static bool is_moment(const struct ifp_event *event)
{
	return (event->kind == IFP_EVENT_INSTANT && event->source != IFP_SOURCE_STEP &&
		       !ifp_rank_view_is_frame(event)) ||
	       event->kind == IFP_EVENT_COUNTER;
}

/* Rows that have moments but no slices need a place, too. */
static void open_rows(struct drawing *drawing)
{
	struct ifp_rank_view *view = drawing->view;

	if (view->steps.count && !view->lanes.rows[drawing->steps_row].sublanes)
		view->lanes.rows[drawing->steps_row].sublanes = 1;
	for (uint64_t i = 0; i < view->loaded.count; i++) {
		struct ifp_lane_row *row = &view->lanes.rows[view->lane_of[i]];

		if (is_moment(&view->loaded.events[i].event) && !row->sublanes)
			row->sublanes = 1;
	}
}

static struct ifp_str category_of(const struct ifp_event *event)
{
	const struct ifp_category *category = ifp_category_find(event->category);

	if (category)
		return ifp_str(category->merged);
	/* The plug-in reads no file with a slice that has no category. */
	return event->category.len_bytes ? event->category : ifp_str("event");
}

/* The place of a slice on the sheet, without its texts. */
static struct ifp_chrome_element place_of(
	const struct drawing *drawing, const struct ifp_slice *slice)
{
	const struct ifp_lane_row *row = &drawing->view->lanes.rows[slice->lane];

	return (struct ifp_chrome_element){
		.phase = 'X',
		.pid = drawing->pid,
		.tid = (int64_t)row->first_tid + slice->sublane,
		.start_ns = slice->start_ns,
		.dur_ns = slice->dur_ns,
	};
}

static void name_step(const struct drawing *drawing, const struct ifp_step *step,
	struct ifp_chrome_element *element)
{
	struct ifp_buf *text = &drawing->sheet->text;
	bool known = drawing->tells_steps && step->whole;

	ifp_buf_clear(text);
	ifp_buf_printf(text, known ? "ProfilerStep#%" PRId64 : "step %" PRId64, step->number);
	element->name = (struct ifp_str){(const char *)text->data, (uint32_t)text->len_bytes};
	element->category = ifp_str(known ? "user_annotation" : "step");
}

static void extend(struct whole *whole, const struct ifp_slice *slice)
{
	if (slice->start_ns < whole->start_ns)
		whole->start_ns = slice->start_ns;
	if (slice->start_ns + slice->dur_ns > whole->end_ns)
		whole->end_ns = slice->start_ns + slice->dur_ns;
}

static void draw_slices(const struct drawing *drawing)
{
	for (uint32_t i = 0; i < drawing->slices.count; i++) {
		const struct ifp_slice *slice = &drawing->slices.items[i];
		struct ifp_chrome_element element;

		if (slice->sublane == IFP_SLICE_NONE)
			continue;
		element = place_of(drawing, slice);
		extend(drawing->whole, slice);
		if (slice->event == IFP_SLICE_NONE) {
			name_step(drawing, &drawing->view->steps.items[slice->step], &element);
		} else {
			const struct ifp_event *event =
				&drawing->view->loaded.events[slice->event].event;

			element.name = event->name;
			element.category = category_of(event);
			element.args = event->args;
			element.extra = event->extra;
		}
		ifp_sheet_add(drawing->sheet, &element);
	}
}

/* Steps of which only the end is known. */
static void draw_step_ends(const struct drawing *drawing)
{
	const struct ifp_steps *steps = &drawing->view->steps;

	for (uint32_t i = 0; i < steps->count; i++) {
		struct ifp_chrome_element element = {
			.phase = 'i',
			.pid = drawing->pid,
			.tid = drawing->view->lanes.rows[drawing->steps_row].first_tid,
			.start_ns = steps->items[i].end_ns,
			.extra = ifp_str("{\"s\":\"t\"}"),
		};

		if (steps->items[i].whole)
			continue;
		name_step(drawing, &steps->items[i], &element);
		ifp_sheet_add(drawing->sheet, &element);
	}
}

static void draw_moment(const struct drawing *drawing, uint64_t i)
{
	const struct ifp_timed_event *timed = &drawing->view->loaded.events[i];
	const struct ifp_event *event = &timed->event;
	bool counter = event->kind == IFP_EVENT_COUNTER;
	/* "[memory]" is the one instant that the plug-in would analyse. */
	bool memory = ifp_str_is(event->name, "[memory]");

	ifp_sheet_add(drawing->sheet,
		&(struct ifp_chrome_element){
			.phase = counter ? 'C' : 'i',
			.name = memory ? ifp_str("memory") : event->name,
			.category = category_of(event),
			.pid = drawing->pid,
			.tid = drawing->view->lanes.rows[drawing->view->lane_of[i]].first_tid,
			.start_ns = timed->start_ns,
			.args = event->args,
			.extra = ifp_str(counter ? "" : "{\"s\":\"t\"}"),
		});
}

static bool has_no_picture(enum ifp_event_kind kind)
{
	return kind == IFP_EVENT_BEGIN || kind == IFP_EVENT_END || kind == IFP_EVENT_ASYNC_BEGIN ||
	       kind == IFP_EVENT_ASYNC_INSTANT || kind == IFP_EVENT_ASYNC_END ||
	       kind == IFP_EVENT_OTHER;
}

static void draw_moments(struct drawing *drawing)
{
	draw_step_ends(drawing);
	for (uint64_t i = 0; i < drawing->view->loaded.count; i++) {
		const struct ifp_event *event = &drawing->view->loaded.events[i].event;

		if (is_moment(event))
			draw_moment(drawing, i);
		drawing->not_drawn += has_no_picture(event->kind);
	}
}

static int draw_flows(struct drawing *drawing, uint64_t *halves)
{
	IFP_CLEANUP_FLOWS struct ifp_flows flows = {0};
	int err = ifp_flows_collect(drawing->view, &drawing->slices, &flows);

	for (uint32_t i = 0; i < flows.count && !err; i++) {
		const struct ifp_flow *flow = &flows.items[i];
		const struct ifp_event *event = &drawing->view->loaded.events[flow->event].event;
		struct ifp_chrome_element half = {
			.name = event->name,
			.category = event->category,
		};
		struct ifp_chrome_element from =
			place_of(drawing, &drawing->slices.items[flow->from]);
		struct ifp_chrome_element to = place_of(drawing, &drawing->slices.items[flow->to]);

		ifp_sheet_flow(drawing->sheet, &half,
			((uint64_t)drawing->view->rank->rank << FLOW_RANK_SHIFT) + i + 1, &from,
			&to);
	}
	*halves = flows.halves;
	return err;
}

static int account(struct drawing *drawing, uint32_t crowded, uint64_t halves)
{
	uint32_t rank = drawing->view->rank->rank;
	int err = ifp_sheet_left_out(
		drawing->run, rank, crowded, "merged/: more than 64 slices overlap on one lane");

	if (!err)
		err = ifp_sheet_left_out(drawing->run, rank, drawing->view->misplaced,
			drawing->view->rank->imported
				? "merged/, ranks/: the time cannot be of this job"
				: "merged/, ranks/: the time is more than a year away from the run's");
	if (!err)
		err = ifp_sheet_left_out(drawing->run, rank, halves,
			"merged/: halves of arrows whose other half was not recorded");
	if (!err)
		err = ifp_sheet_left_out(drawing->run, rank, drawing->not_drawn,
			"merged/: asynchronous events and halves of slices have no picture");
	return err;
}

static int draw_rank(struct drawing *drawing)
{
	uint64_t halves = 0;
	uint32_t crowded;
	int err = add_slices(drawing);

	if (err)
		return err;
	crowded = ifp_slices_arrange(&drawing->slices, &drawing->view->lanes);
	ifp_rounding_fit(&drawing->slices);
	open_rows(drawing);
	err = ifp_sheet_rows(drawing->sheet, drawing->view, pid_of_row, drawing);
	if (err)
		return err;
	draw_slices(drawing);
	draw_moments(drawing);
	err = draw_flows(drawing, &halves);
	return err ? err : account(drawing, crowded, halves);
}

static bool has_whole_step(const struct ifp_steps *steps)
{
	for (uint32_t i = 0; i < steps->count; i++)
		if (steps->items[i].whole)
			return true;
	return false;
}

static int load_and_draw(
	struct ifp_run *run, uint32_t i, struct ifp_sheet *sheet, struct whole *whole)
{
	IFP_CLEANUP_RANK_VIEW struct ifp_rank_view view = {0};
	struct drawing drawing = {.run = run, .sheet = sheet, .whole = whole, .view = &view};
	const struct ifp_run_rank *rank = ifp_run_rank(run, i);
	int err = draw_process(sheet, rank, i);

	if (err)
		return err;
	if (!rank->map)
		return ifp_sheet_left_out(run, rank->rank, rank->event_count,
			"merged/: nothing is known of this rank's clock");
	err = ifp_rank_view_load(run, i, &view);
	if (err)
		return err;
	drawing.pid = pid_of(rank);
	drawing.tells_steps = !whole->steps_told && has_whole_step(&view.steps);
	whole->steps_told |= drawing.tells_steps;
	err = draw_rank(&drawing);
	ifp_slices_free(&drawing.slices);
	return err;
}

/*
 * Without any step the plug-in's Overview computes from nothing and shows a step time of -2^64 us.
 * A program without steps has one: the whole of what was recorded.
 */
static void draw_whole(struct ifp_run *run, struct ifp_sheet *sheet, const struct whole *whole)
{
	if (whole->steps_told || whole->end_ns <= whole->start_ns)
		return;
	ifp_sheet_add(sheet,
		&(struct ifp_chrome_element){
			.phase = 'X',
			.name = ifp_str("ProfilerStep#0"),
			.category = ifp_str("user_annotation"),
			.pid = pid_of(ifp_run_rank(run, 0)),
			.tid = sheet->next_tid++,
			.start_ns = whole->start_ns,
			.dur_ns = whole->end_ns - whole->start_ns,
			.args = ifp_str("{\"what\":\"everything recorded: there are no steps\"}"),
		});
}

int ifp_merged_write(struct ifp_run *run, const char *path, struct ifp_timeline_file *file)
{
	IFP_CLEANUP_SHEET struct ifp_sheet sheet = {0};
	struct whole whole = {.start_ns = INT64_MAX, .end_ns = INT64_MIN};
	int err = ifp_sheet_open(path, "\"schemaVersion\":1,\"displayTimeUnit\":\"ms\"", &sheet);

	for (uint32_t i = 0; i < ifp_run_rank_count(run) && !err; i++)
		err = load_and_draw(run, i, &sheet, &whole);
	if (err)
		return err;
	draw_whole(run, &sheet, &whole);
	return ifp_sheet_close(&sheet, IFP_FRAME_NO_RANK, file);
}
