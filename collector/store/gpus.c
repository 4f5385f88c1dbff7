/* SPDX-License-Identifier: Apache-2.0 */
/* Takes what tells of GPUs out of events. */
#include "collector/store/gpus_internal.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Calls by parts of their names; those of the driver (cu...) and of HIP are called alike. */
static const struct {
	const char *part;
	enum ifp_gpu_role role;
} calls[] = {
	{"Launch", IFP_GPU_LAUNCH}, {"DeviceSynchronize", IFP_GPU_WAIT_ALL},
	{"StreamSynchronize", IFP_GPU_WAIT}, {"EventSynchronize", IFP_GPU_WAIT},
	{"EventRecord", IFP_GPU_RECORD}, {"Memset", IFP_GPU_LAUNCH},
	{"INVALID", IFP_GPU_LAUNCH}, /* a call that the recording tool does not know */
};

static enum ifp_gpu_role role_of_call(struct ifp_str name)
{
	if (ifp_str_is(name, "cudaMemcpy"))
		return IFP_GPU_COPY;
	if (ifp_str_contains(name, "Memcpy"))
		return IFP_GPU_LAUNCH;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(calls); i++)
		if (ifp_str_contains(name, calls[i].part))
			return calls[i].role;
	return IFP_GPU_NOTHING;
}

static enum ifp_gpu_role role_on_lane(const struct ifp_event *look)
{
	if (ifp_str_is(look->category, "cuda_sync"))
		return IFP_GPU_NOTE;
	if (ifp_str_is(look->category, "gpu_memcpy"))
		return ifp_str_contains(look->name, "-> Pageable") ||
				       ifp_str_contains(look->name, "Device -> Pinned") ||
				       ifp_str_contains(look->name, "Pinned -> Device")
			       ? IFP_GPU_WORK_AWAITED
			       : IFP_GPU_WORK;
	if (ifp_str_is(look->category, "kernel") || ifp_str_is(look->category, "gpu_memset"))
		return IFP_GPU_WORK;
	return IFP_GPU_ON_LANE;
}

bool ifp_gpu_is_timed_by(const struct ifp_event *look)
{
	/* Kineto gives the end of an arrow the lane's numbers, but not what makes it a stream. */
	bool arrow = look->kind == IFP_EVENT_FLOW_END && ifp_str_is(look->category, "ac2g");

	return (look->lane.kind == IFP_LANE_STREAM || arrow) && look->source == IFP_SOURCE_KINETO &&
	       look->clock == IFP_CLOCK_REALTIME && look->kind != IFP_EVENT_META;
}

enum ifp_gpu_role ifp_gpu_role_of(const struct ifp_event *look)
{
	if (look->kind != IFP_EVENT_SLICE || look->source != IFP_SOURCE_KINETO ||
		look->clock != IFP_CLOCK_REALTIME)
		return IFP_GPU_NOTHING;
	if (look->lane.kind == IFP_LANE_STREAM)
		return role_on_lane(look);
	/* asked of every event of an import: most are told apart by their last letters */
	if (ifp_str_ends_with(look->category, "_runtime") ||
		ifp_str_ends_with(look->category, "_driver"))
		return role_of_call(look->name);
	return IFP_GPU_NOTHING;
}

int ifp_gpu_finder_new(struct ifp_gpu_finder **out)
{
	struct ifp_gpu_finder *finder = calloc(1, sizeof(*finder));

	if (!finder)
		return ifp_fail(-ENOMEM, "compare GPUs with their hosts");
	*out = finder;
	return 0;
}

void ifp_gpu_finder_free(struct ifp_gpu_finder **finder)
{
	struct ifp_gpu_finder *freed = *finder;

	if (!freed)
		return;
	*finder = NULL;
	free(freed->calls.items);
	free(freed->waits.items);
	free(freed->waits_all.items);
	free(freed->records.items);
	free(freed->notes);
	free(freed->works);
	free(freed);
}

static int add_call(struct ifp_gpu_calls *calls_of, const struct ifp_event *event, bool blocking)
{
	int err =
		IFP_ARRAY_RESERVE(calls_of->items, calls_of->capacity, calls_of->count, 1, "calls");

	if (!err)
		calls_of->items[calls_of->count++] = (struct ifp_gpu_call){
			event->correlation, event->start, event->start + event->dur, blocking};
	return err;
}

static int add_note(struct ifp_gpu_finder *finder, const struct ifp_event *event)
{
	struct ifp_gpu_note note = {.correlation = event->correlation,
		.device = event->lane.pid,
		.stream = event->lane.tid};
	int64_t record = 0;
	int err;

	ifp_args_find_int(event->args, "device", &note.device);
	ifp_args_find_int(event->args, "stream", &note.stream);
	if (ifp_str_starts_with(event->name, "Event Sync")) {
		if (!ifp_args_find_int(event->args, "wait_on_stream", &note.stream) ||
			!ifp_args_find_int(
				event->args, "wait_on_cuda_event_record_corr_id", &record) ||
			record <= 0)
			return 0;
		note.record = (uint64_t)record;
	} else if (ifp_str_starts_with(event->name, "Context Sync")) {
		note.whole_device = true;
	} else if (!ifp_str_starts_with(event->name, "Stream Sync")) {
		return 0; /* a stream waits, not the host */
	}
	err = IFP_ARRAY_RESERVE(
		finder->notes, finder->note_capacity, finder->note_count, 1, "notes of waiting");
	if (!err)
		finder->notes[finder->note_count++] = note;
	return err;
}

static int add_work(
	struct ifp_gpu_finder *finder, enum ifp_gpu_role role, const struct ifp_event *event)
{
	int err = IFP_ARRAY_RESERVE(
		finder->works, finder->work_capacity, finder->work_count, 1, "work of GPUs");

	if (err)
		return err;
	finder->works[finder->work_count++] = (struct ifp_gpu_work){
		.correlation = role == IFP_GPU_ON_LANE ? 0 : event->correlation,
		.device = event->lane.pid,
		.stream = event->lane.tid,
		.start = event->start,
		.end = event->start + event->dur,
		.awaited = role == IFP_GPU_WORK_AWAITED};
	return 0;
}

void ifp_gpu_finder_each_launch(const struct ifp_gpu_finder *finder,
	void (*take)(void *taker, uint64_t correlation, int64_t start_ns), void *taker)
{
	for (uint32_t i = 0; i < finder->calls.count; i++)
		take(taker, finder->calls.items[i].correlation, finder->calls.items[i].start);
}

int ifp_gpu_finder_add(
	struct ifp_gpu_finder *finder, enum ifp_gpu_role role, const struct ifp_event *event)
{
	int err = 0;

	switch (role) {
	case IFP_GPU_NOTHING:
		return 0;
	case IFP_GPU_LAUNCH:
	case IFP_GPU_COPY:
		return event->correlation && event->dur >= 0
			       ? add_call(&finder->calls, event, role == IFP_GPU_COPY)
			       : 0;
	case IFP_GPU_WAIT_ALL:
		return event->dur >= 0 ? add_call(&finder->waits_all, event, true) : 0;
	case IFP_GPU_WAIT:
		return event->correlation && event->dur >= 0 ? add_call(&finder->waits, event, true)
							     : 0;
	case IFP_GPU_RECORD:
		return event->correlation ? add_call(&finder->records, event, false) : 0;
	case IFP_GPU_NOTE:
		err = event->correlation ? add_note(finder, event) : 0;
		return err ? err : add_work(finder, IFP_GPU_ON_LANE, event);
	default:
		return add_work(finder, role, event);
	}
}
