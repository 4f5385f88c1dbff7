/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/sink_chrome.h"

#include "collector/timeline/categories.h"
#include "collector/timeline/recorded.h"
#include "collector/timeline/rounding.h"
#include "collector/timeline/sheet.h"
#include "core/array.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Never a pid or device of the real world: those of two hosts may be equal. */
#define FIRST_PID 1000
#define NOTE_PID (FIRST_PID - 1)

/* Digits of the longest sort index. */
#define MOST_DIGITS 20
/* The file's head and tail, the rows of the note, a step that stands for a whole run. */
#define FRAME_BYTES 2000

struct chrome {
	struct ifp_sink sink;
	struct ifp_sheet sheet;
	int64_t *pids; /* by rank order */
	uint32_t pid_count;
	size_t pid_capacity;
	int64_t pid;	    /* of the rank that is being drawn */
	int64_t most_pid;   /* of the last rank */
	bool steps_told;    /* a rank's steps are on the sheet in the plug-in's own form */
	uint32_t told_rank; /* its order */
	struct ifp_rounding fit;
	int64_t start_ns, end_ns; /* of all slices */
	uint32_t rank;		  /* its number */
	struct ifp_buf text;	  /* of the element at hand */
};

static int64_t pid_of(const struct ifp_run_rank *rank)
{
	return FIRST_PID + 2 * (int64_t)rank->rank;
}

static struct chrome *chrome_of(struct ifp_sink *sink)
{
	return (struct chrome *)sink;
}

static void rank(struct ifp_sink *sink, const struct ifp_sink_rank *rank)
{
	struct chrome *chrome = chrome_of(sink);
	int err = IFP_ARRAY_RESERVE(
		chrome->pids, chrome->pid_capacity, chrome->pid_count, 1, "ranks");

	chrome->rank = rank->rank->rank;
	chrome->pid = pid_of(rank->rank);
	ifp_sink_keep(sink, err);
	if (!err)
		chrome->pids[chrome->pid_count++] = chrome->pid;
	ifp_sheet_process(&chrome->sheet, chrome->pid, rank->title, rank->order);
}

static void lane(struct ifp_sink *sink, const struct ifp_sink_lane *lane)
{
	struct chrome *chrome = chrome_of(sink);

	chrome->sheet.next_tid = lane->number + 1;
	ifp_sheet_row(&chrome->sheet, chrome->pid, lane->number, lane->title);
}

static struct ifp_str shown_category(struct ifp_str recorded)
{
	const struct ifp_category *category = ifp_category_find(recorded);

	if (category)
		return ifp_str(category->merged);
	/* The plug-in reads no file with a slice that has no category. */
	return recorded.len_bytes ? recorded : ifp_str("event");
}

/* Only the steps of one rank: the plug-in takes those of all for one series. */
static bool tells_steps(struct chrome *chrome)
{
	if (!chrome->steps_told) {
		chrome->steps_told = true;
		chrome->told_rank = chrome->pid_count;
	}
	return chrome->told_rank == chrome->pid_count;
}

static void name_step(struct chrome *chrome, const struct ifp_sink_slice *slice,
	struct ifp_chrome_element *element)
{
	if (!tells_steps(chrome))
		return;
	ifp_buf_clear(&chrome->text);
	ifp_buf_printf(&chrome->text, "ProfilerStep#%" PRId64, slice->step);
	element->name =
		(struct ifp_str){(const char *)chrome->text.data, (uint32_t)chrome->text.len_bytes};
	element->category = ifp_str("user_annotation");
}

static void extend(struct chrome *chrome, int64_t start_ns, int64_t end_ns)
{
	if (start_ns < chrome->start_ns)
		chrome->start_ns = start_ns;
	if (end_ns > chrome->end_ns)
		chrome->end_ns = end_ns;
}

static struct ifp_chrome_element slice_element(int64_t pid, const struct ifp_sink_slice *slice)
{
	return (struct ifp_chrome_element){
		.phase = 'X',
		.name = slice->name,
		.category = slice->kind == IFP_SINK_EVENT ? shown_category(slice->category)
							  : slice->category,
		.pid = pid,
		.tid = slice->lane,
		.start_ns = slice->start_ns,
		.dur_ns = slice->dur_ns,
		.args = slice->args,
		.extra = slice->extra,
	};
}

static void slice(struct ifp_sink *sink, const struct ifp_sink_slice *slice)
{
	struct chrome *chrome = chrome_of(sink);
	struct ifp_chrome_element element = slice_element(chrome->pid, slice);

	element.dur_ns =
		ifp_rounding_next(&chrome->fit, slice->lane, slice->start_ns, slice->dur_ns);
	extend(chrome, slice->start_ns, slice->start_ns + element.dur_ns);
	if (slice->kind == IFP_SINK_STEP)
		name_step(chrome, slice, &element);
	ifp_sheet_add(&chrome->sheet, &element);
}

static struct ifp_chrome_element moment_element(int64_t pid, const struct ifp_sink_moment *moment)
{
	/* "[memory]" is the one instant that the plug-in would analyse. */
	bool memory = ifp_str_is(moment->name, "[memory]");

	return (struct ifp_chrome_element){
		.phase = moment->counter ? 'C' : 'i',
		.name = memory ? ifp_str("memory") : moment->name,
		.category = shown_category(moment->category),
		.pid = pid,
		.tid = moment->lane,
		.start_ns = moment->at_ns,
		.args = moment->args,
		.extra = ifp_str(moment->counter ? "" : "{\"s\":\"t\"}"),
	};
}

static void moment(struct ifp_sink *sink, const struct ifp_sink_moment *moment)
{
	struct chrome *chrome = chrome_of(sink);
	struct ifp_chrome_element element = moment_element(chrome->pid, moment);

	ifp_sheet_add(&chrome->sheet, &element);
}

static bool other(struct ifp_sink *sink, uint32_t lane, const struct ifp_timed_event *timed)
{
	struct chrome *chrome = chrome_of(sink);
	struct ifp_chrome_element element;
	int err = ifp_recorded_element(&timed->event, chrome->rank, true, &chrome->text, &element);

	ifp_sink_keep(sink, err);
	if (err || !element.phase)
		return false;
	element.category = shown_category(timed->event.category);
	element.pid = chrome->pid;
	element.tid = lane;
	element.pid_text = element.tid_text = (struct ifp_str){0};
	element.start_ns = timed->start_ns;
	ifp_sheet_add(&chrome->sheet, &element);
	return true;
}

static struct ifp_chrome_element end_of(
	const struct chrome *chrome, const struct ifp_sink_flow_end *end)
{
	return (struct ifp_chrome_element){
		.pid = chrome->pids[end->rank_order],
		.tid = end->lane,
		.start_ns = end->start_ns,
	};
}

static void flow(struct ifp_sink *sink, const struct ifp_sink_flow *flow)
{
	struct chrome *chrome = chrome_of(sink);
	struct ifp_chrome_element half = {.name = flow->name, .category = flow->category};
	struct ifp_chrome_element from, to;

	if (sink->err)
		return;
	from = end_of(chrome, &flow->from);
	to = end_of(chrome, &flow->to);
	ifp_sheet_flow(&chrome->sheet, &half, flow->id, &from, &to);
}

/* Above the first rank. */
static void whole_run(struct ifp_sink *sink)
{
	struct chrome *chrome = chrome_of(sink);

	if (chrome->pid == NOTE_PID)
		return;
	chrome->pid = NOTE_PID;
	ifp_sheet_process(&chrome->sheet, NOTE_PID, ifp_str("infprof"), -1);
}

/* Of catapult's colours, which TensorBoard's and Chrome's viewers know. */
#define RED "{\"cname\":\"terrible\"}"

/* Over the whole axis. */
static void note(struct ifp_sink *sink, const struct ifp_sink_note *note)
{
	struct chrome *chrome = chrome_of(sink);
	uint32_t tid = chrome->sheet.next_tid++;

	bool alarm = note->kind == IFP_SINK_NOTE_CLOCKS;

	whole_run(sink);
	ifp_sheet_row(&chrome->sheet, NOTE_PID, tid, ifp_str(alarm ? "clocks" : "what is shown"));
	ifp_sheet_add(&chrome->sheet, &(struct ifp_chrome_element){
					      .phase = 'X',
					      .extra = ifp_str(alarm ? RED : ""),
					      .name = note->text,
					      .category = ifp_str(alarm ? "alarm" : "note"),
					      .pid = NOTE_PID,
					      .tid = tid,
					      .start_ns = note->start_ns,
					      .dur_ns = note->end_ns - note->start_ns,
				      });
}

static int64_t most_pid(const struct ifp_sink *sink)
{
	return ((const struct chrome *)sink)->most_pid;
}

/* What the two elements take that name a row and order it. */
static uint64_t row_bytes(int64_t pid, int64_t number, const char *what, struct ifp_str title)
{
	struct ifp_chrome_element element = {.phase = 'M', .pid = pid, .tid = number};
	uint64_t bytes;

	element.name.len_bytes = (uint32_t)(strlen(what) + strlen("_name"));
	element.args.len_bytes = (uint32_t)strlen("{\"name\":\"\"}") + title.len_bytes;
	bytes = ifp_chrome_element_bytes(&element);
	element.name.len_bytes = (uint32_t)(strlen(what) + strlen("_sort_index"));
	element.args.len_bytes = (uint32_t)strlen("{\"sort_index\":}") + MOST_DIGITS;
	return bytes + ifp_chrome_element_bytes(&element);
}

static uint64_t rank_bytes(const struct ifp_sink *sink, const struct ifp_sink_rank *rank)
{
	return row_bytes(most_pid(sink), 0, "process", rank->title);
}

static uint64_t lane_bytes(const struct ifp_sink *sink, const struct ifp_sink_lane *lane)
{
	return row_bytes(most_pid(sink), lane->number, "thread", lane->title);
}

static uint64_t slice_bytes(
	const struct ifp_sink *sink, const struct ifp_sink_slice *slice, struct ifp_once *once)
{
	struct ifp_chrome_element element = slice_element(most_pid(sink), slice);

	(void)once;
	/* It may become one of the plug-in's. */
	if (slice->kind == IFP_SINK_STEP) {
		element.name.len_bytes += (uint32_t)strlen("ProfilerStep#");
		element.category = ifp_str("user_annotation");
	}
	return ifp_chrome_element_bytes(&element);
}

static int64_t times_bytes(int64_t start_ns, int64_t dur_ns)
{
	return (int64_t)(ifp_chrome_us_bytes(start_ns, 0) + ifp_chrome_us_bytes(dur_ns, 0));
}

static uint64_t moment_bytes(
	const struct ifp_sink *sink, const struct ifp_sink_moment *moment, struct ifp_once *once)
{
	struct ifp_chrome_element element = moment_element(most_pid(sink), moment);

	(void)once;
	return ifp_chrome_element_bytes(&element);
}

static uint64_t flow_bytes(
	const struct ifp_sink *sink, const struct ifp_sink_flow *flow, struct ifp_once *once)
{
	struct ifp_chrome_element half = {
		.name = flow->name,
		.category = flow->category,
		.pid = most_pid(sink),
		.tid = flow->from.lane,
		.has_id = true,
		.id = flow->id,
		.start_ns = flow->from.start_ns,
	};
	uint64_t bytes = ifp_chrome_element_bytes(&half);

	(void)once;
	half.tid = flow->to.lane;
	half.start_ns = flow->to.start_ns;
	half.extra = ifp_str("{\"bp\":\"e\"}");
	return bytes + ifp_chrome_element_bytes(&half);
}

static uint64_t frame_bytes(const struct ifp_sink *sink, uint64_t note_text_bytes)
{
	(void)sink;
	return FRAME_BYTES + note_text_bytes;
}

/*
 * Without any step the plug-in's Overview computes from nothing and shows a step time of -2^64 us.
 * A program without steps has one: the whole of what was recorded.
 */
static void draw_whole(struct chrome *chrome)
{
	if (chrome->steps_told || chrome->end_ns <= chrome->start_ns)
		return;
	ifp_sheet_add(&chrome->sheet,
		&(struct ifp_chrome_element){
			.phase = 'X',
			.name = ifp_str("ProfilerStep#0"),
			.category = ifp_str("user_annotation"),
			.pid = chrome->pids[0],
			.tid = chrome->sheet.next_tid++,
			.start_ns = chrome->start_ns,
			.dur_ns = chrome->end_ns - chrome->start_ns,
			.args = ifp_str("{\"what\":\"everything recorded: there are no steps\"}"),
		});
}

static void release(struct chrome *chrome)
{
	ifp_sheet_abandon(&chrome->sheet);
	ifp_rounding_free(&chrome->fit);
	ifp_buf_free(&chrome->text);
	free(chrome->pids);
	free(chrome);
}

static void abandon(struct ifp_sink *sink)
{
	release(chrome_of(sink));
}

static int finish(struct chrome *chrome, struct ifp_timeline_result *result)
{
	struct ifp_timeline_file file;
	int err = chrome->sink.err;

	if (!err)
		err = ifp_buf_status(&chrome->text);
	if (!err)
		err = chrome->fit.err;
	if (err)
		return err;
	draw_whole(chrome);
	err = ifp_sheet_close(&chrome->sheet, IFP_FRAME_NO_RANK, &file);
	if (err)
		return err;
	file.label = chrome->sink.label;
	file.shown = chrome->sink.shown;
	err = ifp_timeline_result_add(result, &file);
	if (err)
		free(file.path);
	return err;
}

static int close_sink(struct ifp_sink *sink, struct ifp_timeline_result *result)
{
	struct chrome *chrome = chrome_of(sink);
	int err = finish(chrome, result);

	release(chrome);
	return err;
}

static const struct ifp_sink_ops ops = {
	.rank = rank,
	.lane = lane,
	.slice = slice,
	.moment = moment,
	.other = other,
	.flow = flow,
	.whole_run = whole_run,
	.note = note,
	.rank_bytes = rank_bytes,
	.lane_bytes = lane_bytes,
	.slice_bytes = slice_bytes,
	.times_bytes = times_bytes,
	.moment_bytes = moment_bytes,
	.flow_bytes = flow_bytes,
	.frame_bytes = frame_bytes,
	.close = close_sink,
	.abandon = abandon,
};

int ifp_sink_chrome_open(const char *path, const struct ifp_run *run,
	const struct ifp_budget *budget, struct ifp_sink **out)
{
	uint32_t ranks = ifp_run_rank_count(run);
	struct chrome *chrome = calloc(1, sizeof(*chrome));
	int err;

	if (!chrome)
		return ifp_fail(-ENOMEM, "draw %s: out of memory", path);
	*chrome = (struct chrome){
		.sink = {.ops = &ops,
			.label = "merged/",
			.label_of_all = "merged/, ranks/",
			.lean = true,
			.budget = *budget},
		.most_pid = ranks ? pid_of(ifp_run_rank(run, ranks - 1)) : 0,
		.start_ns = INT64_MAX,
		.end_ns = INT64_MIN,
	};
	err = ifp_sheet_open(
		path, "\"schemaVersion\":1,\"displayTimeUnit\":\"ms\"", &chrome->sheet);
	if (err) {
		free(chrome);
		return err;
	}
	*out = &chrome->sink;
	return 0;
}
