/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/analysis_element.h"

#include "collector/timeline/analysis_members.h"
#include "collector/timeline/args_detail.h"
#include "collector/timeline/args_edit.h"
#include "collector/timeline/categories.h"
#include "collector/timeline/tensor_args.h"

#include <inttypes.h>

/*
 * JSON around the texts of an event, with numbers of any length: ph, pid, tid, ts and dur, and for
 * slices "External id", "correlation" and "device" in the args.
 */
#define SLICE_BYTES 260u
#define OTHER_BYTES 160u
#define RENAMED_BYTES 160u	/* a collective: its other name, members called "(as recorded)" */
#define LANE_BYTES (64u * 300u) /* names of all its sub-lanes */
#define FILE_BYTES (IFP_ANALYSIS_MOST_MEMBERS_BYTES + 100u * 300u) /* and names of processes */

#define ROUNDING_NS 1000 /* more than the plug-in's doubles lose of a time */

static struct ifp_str text_of(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

static const struct ifp_timed_event *event_of(
	const struct ifp_analysis_maker *maker, const struct ifp_slice *slice)
{
	return &maker->selection->view->loaded.events[slice->event];
}

int64_t ifp_analysis_pid(const struct ifp_lane_row *row, const void *context)
{
	(void)context;
	return row->lane.kind == IFP_LANE_STREAM ? row->lane.pid : IFP_ANALYSIS_HOST_PID;
}

struct ifp_chrome_element ifp_analysis_place(
	const struct ifp_analysis_maker *maker, const struct ifp_slice *slice)
{
	const struct ifp_lane_row *row = &maker->selection->view->lanes.rows[slice->lane];

	return (struct ifp_chrome_element){
		.phase = 'X',
		.pid = ifp_analysis_pid(row, NULL),
		.tid = (int64_t)row->first_tid + slice->sublane,
		.start_ns = slice->start_ns,
		.dur_ns = slice->dur_ns,
	};
}

/* One member of the element's args gets a new value. */
static void set_int(struct ifp_analysis_maker *maker, struct ifp_chrome_element *element,
	const char *key, uint64_t value)
{
	bool in_first = element->args.ptr == (const char *)maker->edited[0].data;
	struct ifp_buf *out = &maker->edited[in_first];

	ifp_buf_clear(out);
	ifp_args_set_int(out, element->args, key, value);
	element->args = text_of(out);
}

static void rename_member(struct ifp_analysis_maker *maker, struct ifp_chrome_element *element,
	const char *key, const char *new_key)
{
	bool in_first = element->args.ptr == (const char *)maker->edited[0].data;
	struct ifp_buf *out = &maker->edited[in_first];

	ifp_buf_clear(out);
	ifp_args_rename(out, element->args, key, new_key);
	element->args = text_of(out);
}

/* Both spellings are known to the plug-in, the small one first. */
static void set_external(
	struct ifp_analysis_maker *maker, struct ifp_chrome_element *element, uint64_t id)
{
	struct ifp_str value;

	if (element->args.len_bytes && ifp_args_find(element->args, "external id", &value))
		set_int(maker, element, "external id", id);
	else
		set_int(maker, element, "External id", id);
}

static void make_collective(struct ifp_analysis_maker *maker, const struct ifp_event *event,
	const char *name, struct ifp_chrome_element *element)
{
	struct ifp_buf *out = &maker->text;

	if (!ifp_str_is(event->name, name)) {
		ifp_buf_clear(out);
		ifp_buf_append_u8(out, '"');
		ifp_buf_append(out, event->name.ptr, event->name.len_bytes);
		ifp_buf_append_u8(out, '"');
		element->name = ifp_str(name);
		ifp_buf_clear(&maker->edited[0]);
		ifp_args_set(&maker->edited[0], element->args, "name", text_of(out));
		element->args = text_of(&maker->edited[0]);
	}
	if (!ifp_tensor_args_countable(element->args)) {
		rename_member(maker, element, "Input Dims", "Input Dims (as recorded)");
		rename_member(maker, element, "Input type", "Input type (as recorded)");
	}
}

static bool looks_collective(struct ifp_str name)
{
	bool nccl;

	return ifp_collective_name(name, &nccl) != NULL;
}

/* What the plug-in takes for a step or a collective by its name alone. */
static bool is_counted(struct ifp_str name)
{
	return looks_collective(name) || ifp_str_starts_with(name, "ProfilerStep#");
}

/* A range of the program as it ran on the GPU: HolisticTraceAnalysis reads it. */
static bool is_gpu_annotation(const struct ifp_event *event)
{
	return event->lane.kind == IFP_LANE_STREAM &&
	       ifp_str_is(event->category, "gpu_user_annotation");
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

static void make_operator(struct ifp_analysis_maker *maker, const struct ifp_slice *slice,
	struct ifp_chrome_element *element)
{
	const struct ifp_selection *selection = maker->selection;
	const struct ifp_timed_event *timed = event_of(maker, slice);
	const struct ifp_step *step = ifp_steps_at(&selection->view->steps, timed->start_ns);
	const char *name = ifp_cut_collective(timed, selection->cut->nccl);

	if (name) {
		make_collective(maker, &timed->event, name, element);
		if (step)
			end_within(step, element);
	} else if (is_counted(timed->event.name)) {
		element->category = ifp_str("annotation"); /* not for the plug-in to count */
	}
	set_external(maker, element, slice->external);
}

static void make_slice(struct ifp_analysis_maker *maker, const struct ifp_slice *slice,
	struct ifp_chrome_element *element)
{
	const struct ifp_timed_event *timed = event_of(maker, slice);
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
	if (is_gpu_annotation(event) && !is_counted(event->name))
		return;
	if (on_stream != (category->role == IFP_ROLE_DEVICE)) {
		element->category = ifp_str(category->merged);
		return;
	}
	if (category->role == IFP_ROLE_OP)
		make_operator(maker, slice, element);
	if (category->role != IFP_ROLE_LAUNCH && category->role != IFP_ROLE_DEVICE)
		return;
	set_external(maker, element, slice->external);
	if (event->correlation)
		set_int(maker, element, "correlation",
			ifp_selection_correlation(maker->selection, timed));
	if (on_stream)
		set_int(maker, element, "device", (uint64_t)event->lane.pid);
}

static void make_step(struct ifp_analysis_maker *maker, const struct ifp_slice *slice,
	struct ifp_chrome_element *element)
{
	const struct ifp_step *step = &maker->selection->view->steps.items[slice->step];
	struct ifp_buf *text = &maker->text;

	ifp_buf_clear(text);
	ifp_buf_printf(text, "ProfilerStep#%" PRId64, step->number);
	element->name = text_of(text);
	element->category = ifp_str("user_annotation");
	set_external(maker, element, slice->external);
}

void ifp_analysis_make(struct ifp_analysis_maker *maker, const struct ifp_slice *slice,
	struct ifp_chrome_element *element)
{
	*element = ifp_analysis_place(maker, slice);
	if (slice->event == IFP_SLICE_NONE)
		make_step(maker, slice, element);
	else
		make_slice(maker, slice, element);
}

bool ifp_analysis_cut_args(struct ifp_analysis_maker *maker, const struct ifp_slice *slice,
	enum ifp_args_detail detail, struct ifp_chrome_element *element)
{
	const struct ifp_timed_event *timed;
	uint32_t len_bytes = element->args.len_bytes;
	bool collective;

	if (detail == IFP_ARGS_ALL || !len_bytes || slice->event == IFP_SLICE_NONE)
		return false;
	timed = event_of(maker, slice);
	if (timed->event.source != IFP_SOURCE_KINETO)
		return false;
	collective = ifp_cut_collective(timed, maker->selection->cut->nccl) != NULL;
	ifp_buf_clear(&maker->cut);
	ifp_args_cut(&maker->cut, element->args, detail, collective);
	element->args = text_of(&maker->cut);
	return element->args.len_bytes < len_bytes;
}

uint64_t ifp_analysis_most_bytes(const struct ifp_rank_view *view)
{
	uint64_t bytes =
		FILE_BYTES + view->lanes.count * LANE_BYTES + view->steps.count * SLICE_BYTES;

	for (uint64_t i = 0; i < view->loaded.count; i++) {
		const struct ifp_event *event = &view->loaded.events[i].event;

		bytes += event->kind == IFP_EVENT_SLICE ? SLICE_BYTES : OTHER_BYTES;
		bytes += looks_collective(event->name) ? RENAMED_BYTES : 0;
		bytes += (uint64_t)event->name.len_bytes + event->category.len_bytes +
			 event->args.len_bytes + event->extra.len_bytes;
	}
	return bytes;
}

int ifp_analysis_maker_status(const struct ifp_analysis_maker *maker)
{
	const struct ifp_buf *buffers[] = {
		&maker->edited[0], &maker->edited[1], &maker->text, &maker->cut};
	int err = 0;

	for (size_t i = 0; i < IFP_ARRAY_SIZE(buffers) && !err; i++)
		err = ifp_buf_status(buffers[i]);
	return err;
}

void ifp_analysis_maker_free(struct ifp_analysis_maker *maker)
{
	ifp_buf_free(&maker->edited[0]);
	ifp_buf_free(&maker->edited[1]);
	ifp_buf_free(&maker->text);
	ifp_buf_free(&maker->cut);
}
