/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/kineto_ingest.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/chrome/reader.h"

#include <errno.h>
#include <stdlib.h>

int ifp_kineto_ingest_open(struct ifp_kineto_ingest *ingest, const char *path, int64_t cut_ns)
{
	*ingest = (struct ifp_kineto_ingest){
		.cut_ns = cut_ns,
		.surveying = cut_ns != INT64_MAX,
		.first_cut_correlation = UINT64_MAX,
		.start_realtime_ns = INT64_MAX,
		.end_realtime_ns = INT64_MIN,
	};
	if (strlen(path) >= sizeof(ingest->path))
		return ifp_fail(-ENAMETOOLONG, "read %s", path);
	strcpy(ingest->path, path);
	return ifp_chrome_reader_open(path, &ingest->reader);
}

static void survey(struct ifp_kineto_ingest *ingest, const struct ifp_event *event)
{
	if (event->lane.kind == IFP_LANE_THREAD && event->kind == IFP_EVENT_SLICE &&
		event->correlation && event->start > ingest->cut_ns &&
		event->correlation < ingest->first_cut_correlation)
		ingest->first_cut_correlation = event->correlation;
}

/* What belongs to a launch: kernels and copies, and the flows that lead to them. */
static bool belongs_to_launch(const struct ifp_event *event)
{
	return event->correlation &&
	       (event->lane.kind == IFP_LANE_STREAM || ifp_str_is(event->category, "ac2g"));
}

static bool is_left_out(const struct ifp_kineto_ingest *ingest, const struct ifp_event *event)
{
	if (event->kind == IFP_EVENT_META || event->lane.kind == IFP_LANE_OTHER)
		return false;
	if (belongs_to_launch(event))
		return event->correlation >= ingest->first_cut_correlation;
	return event->start > ingest->cut_ns;
}

static int add_step_end(struct ifp_kineto_ingest *ingest, int64_t end_ns)
{
	if (ingest->step_count == ingest->step_capacity) {
		size_t capacity = ingest->step_capacity ? 2 * ingest->step_capacity : 64;
		int64_t *grown = realloc(ingest->step_end_ns, capacity * sizeof(*grown));

		if (!grown)
			return ifp_fail(-ENOMEM, "keep %zu ends of steps", capacity);
		ingest->step_end_ns = grown;
		ingest->step_capacity = capacity;
	}
	ingest->step_end_ns[ingest->step_count++] = end_ns;
	return 0;
}

/* Kineto repeats the range among the GPU's annotations, where it lasts as long as its kernels. */
static bool is_optimizer_step(const struct ifp_event *event)
{
	return ifp_str_starts_with(event->name, "Optimizer.step#") &&
	       !ifp_str_starts_with(event->category, "gpu_");
}

static int look_at(struct ifp_kineto_ingest *ingest, const struct ifp_event *event)
{
	int64_t end_ns = event->start + (event->dur > 0 ? event->dur : 0);

	/* "Spans" and "Traces" are no lanes of the program: their slice is the window itself. */
	if (event->kind == IFP_EVENT_SLICE && event->dur < 0)
		ingest->negative++;
	if (event->kind != IFP_EVENT_SLICE || event->lane.kind == IFP_LANE_OTHER)
		return 0;
	ingest->slices++;
	if (event->start < ingest->start_realtime_ns)
		ingest->start_realtime_ns = event->start;
	if (end_ns > ingest->end_realtime_ns)
		ingest->end_realtime_ns = end_ns;
	return is_optimizer_step(event) ? add_step_end(ingest, end_ns) : 0;
}

static int compare_ns(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

static int take(
	struct ifp_kineto_ingest *ingest, const struct ifp_sink *sink, struct ifp_event *event)
{
	if (ingest->surveying) {
		survey(ingest, event);
		return 0;
	}
	if (is_left_out(ingest, event)) {
		ingest->left_out++;
		return 0;
	}
	event->source = IFP_SOURCE_KINETO;
	if (ifp_sink_take(sink, event) < 0)
		ifp_error_clear(); /* the sink has counted the loss */
	else
		ingest->events++;
	return look_at(ingest, event);
}

/* At the end of the file, or of what can be read of it. */
static int end_pass(struct ifp_kineto_ingest *ingest, int err)
{
	struct ifp_chrome_counts counts = ifp_chrome_reader_counts(ingest->reader);

	if (err < 0 || !ingest->surveying) {
		ingest->set_aside = counts.set_aside;
		ingest->repaired = counts.repaired;
		if (ingest->step_count)
			qsort(ingest->step_end_ns, ingest->step_count, sizeof(*ingest->step_end_ns),
				compare_ns);
		return err;
	}
	ingest->surveying = false;
	ifp_chrome_reader_close(&ingest->reader);
	err = ifp_chrome_reader_open(ingest->path, &ingest->reader);
	return err < 0 ? err : 1;
}

int ifp_kineto_ingest_some(struct ifp_kineto_ingest *ingest, const struct ifp_sink *sink)
{
	for (unsigned int i = 0; i < IFP_KINETO_INGEST_EVENTS; i++) {
		struct ifp_event event;
		int got = ifp_chrome_reader_next(ingest->reader, &event);

		/* Events before the damage are worth having: they come in the second pass. */
		if (got < 0 && ingest->surveying) {
			ifp_error_clear();
			got = 0;
		}
		if (got <= 0)
			return end_pass(ingest, got);
		got = take(ingest, sink, &event);
		if (got < 0)
			return got;
	}
	return 1;
}

void ifp_kineto_ingest_close(struct ifp_kineto_ingest *ingest)
{
	if (ingest->reader)
		ifp_chrome_reader_close(&ingest->reader);
	free(ingest->step_end_ns);
	*ingest = (struct ifp_kineto_ingest){0};
}
