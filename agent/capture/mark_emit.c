/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/mark_emit.h"

#include "core/error.h"
#include "trace/chrome/escape.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void ifp_mark_emitter_free(struct ifp_mark_emitter *emitter)
{
	ifp_buf_free(&emitter->name);
	ifp_buf_free(&emitter->args);
}

static struct ifp_str text_of(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

static void begin(struct ifp_mark_emitter *emitter)
{
	ifp_buf_clear(&emitter->name);
	ifp_buf_clear(&emitter->args);
}

/* Adds name and args as made so far, the clock, and hands the event over. */
static void finish(struct ifp_mark_emitter *emitter, struct ifp_event *event)
{
	if (ifp_buf_status(&emitter->name) != 0 || ifp_buf_status(&emitter->args) != 0) {
		emitter->result = -ENOMEM;
		return;
	}
	event->clock = emitter->clock;
	event->name = text_of(&emitter->name);
	event->args = text_of(&emitter->args);
	if (ifp_sink_take(emitter->sink, event) == 0)
		emitter->events++;
}

static enum ifp_event_source source_of(uint8_t origin)
{
	return origin == IFP_MARK_FROM_NVTX ? IFP_SOURCE_NVTX : IFP_SOURCE_MARK;
}

static struct ifp_str category_of(uint8_t origin)
{
	return ifp_str(origin == IFP_MARK_FROM_NVTX ? "nvtx" : "mark");
}

static struct ifp_event event_of_range(const struct ifp_mark_range *range)
{
	/* Stamps of two cores may disagree by some ticks: no range ends before its start. */
	uint64_t dur = range->end > range->start ? range->end - range->start : 0;

	return (struct ifp_event){
		.kind = IFP_EVENT_SLICE,
		.source = source_of(range->origin),
		.category = category_of(range->origin),
		.start = (int64_t)range->start,
		.dur = (int64_t)dur,
		.lane = range->lane,
	};
}

static void append_unfinished(struct ifp_mark_emitter *emitter, const struct ifp_mark_range *range)
{
	if (range->unfinished)
		ifp_buf_append_text(&emitter->args, "{\"unfinished\":true}");
}

void ifp_mark_emit_range(struct ifp_mark_emitter *emitter, const struct ifp_mark_range *range)
{
	struct ifp_event event = event_of_range(range);

	begin(emitter);
	ifp_json_escape(&emitter->name, range->name);
	append_unfinished(emitter, range);
	finish(emitter, &event);
}

void ifp_mark_emit_step_range(
	struct ifp_mark_emitter *emitter, const struct ifp_mark_range *range, uint64_t number)
{
	struct ifp_event event = event_of_range(range);

	event.category = ifp_str("step");
	event.correlation = number;
	begin(emitter);
	ifp_buf_printf(&emitter->name, "step %" PRIu64, number);
	append_unfinished(emitter, range);
	finish(emitter, &event);
}

/* JSON has no number for what is not finite; the shortest text that reads back as the same. */
static void append_double(struct ifp_buf *out, double value)
{
	char text[32];

	if (!isfinite(value)) {
		ifp_buf_append_text(out, isnan(value) ? "\"NaN\""
					 : value > 0  ? "\"Infinity\""
						      : "\"-Infinity\"");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	ifp_buf_append_text(out, text);
}

static void make_counter(struct ifp_mark_emitter *emitter, struct ifp_event *event, uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	event->kind = IFP_EVENT_COUNTER;
	ifp_buf_append_text(&emitter->args, "{\"value\":");
	append_double(&emitter->args, value);
	ifp_buf_append_u8(&emitter->args, '}');
}

static void make_step(struct ifp_mark_emitter *emitter, struct ifp_event *event, uint64_t number)
{
	event->source = IFP_SOURCE_STEP;
	event->category = ifp_str("step");
	event->correlation = number;
	ifp_buf_printf(&emitter->name, "step %" PRIu64, number);
}

/* The same form that imported traces have for names of threads. */
static void make_thread_name(
	struct ifp_mark_emitter *emitter, struct ifp_event *event, struct ifp_str name)
{
	event->kind = IFP_EVENT_META;
	event->category = ifp_str("");
	ifp_buf_append_text(&emitter->name, "thread_name");
	ifp_buf_append_text(&emitter->args, "{\"name\":\"");
	ifp_json_escape(&emitter->args, name);
	ifp_buf_append_text(&emitter->args, "\"}");
}

void ifp_mark_emit_record(struct ifp_mark_emitter *emitter, const struct ifp_lane *lane,
	const struct ifp_mark_record *record, struct ifp_str name)
{
	struct ifp_event event = {
		.kind = IFP_EVENT_INSTANT,
		.source = source_of(record->origin),
		.category = category_of(record->origin),
		.start = (int64_t)record->stamp,
		.lane = *lane,
	};

	begin(emitter);
	switch (record->kind) {
	case IFP_MARK_STEP:
		make_step(emitter, &event, record->value);
		break;
	case IFP_MARK_THREAD_NAME:
		if (record->value)
			event.lane.tid = (int64_t)record->value;
		make_thread_name(emitter, &event, name);
		break;
	case IFP_MARK_COUNTER:
		make_counter(emitter, &event, record->value);
		ifp_json_escape(&emitter->name, name);
		break;
	default:
		ifp_json_escape(&emitter->name, name);
		break;
	}
	finish(emitter, &event);
}

static const char *const mpi_names[IFP_MPI_CALL_COUNT] = {
	[IFP_MPI_BARRIER] = "mpi:MPI_Barrier",
	[IFP_MPI_ALLREDUCE] = "mpi:MPI_Allreduce",
	[IFP_MPI_ALLGATHER] = "mpi:MPI_Allgather",
	[IFP_MPI_ALLGATHERV] = "mpi:MPI_Allgatherv",
	[IFP_MPI_ALLTOALL] = "mpi:MPI_Alltoall",
	[IFP_MPI_ALLTOALLV] = "mpi:MPI_Alltoallv",
	[IFP_MPI_REDUCE_SCATTER] = "mpi:MPI_Reduce_scatter",
	[IFP_MPI_REDUCE_SCATTER_BLOCK] = "mpi:MPI_Reduce_scatter_block",
	[IFP_MPI_BCAST] = "mpi:MPI_Bcast",
	[IFP_MPI_REDUCE] = "mpi:MPI_Reduce",
	[IFP_MPI_GATHER] = "mpi:MPI_Gather",
	[IFP_MPI_SCATTER] = "mpi:MPI_Scatter",
};

/* The words for the group are those of PyTorch: what knows them knows these collectives, too. */
static void append_mpi_args(
	struct ifp_buf *args, const struct ifp_mpi_record *call, uint32_t world_size)
{
	const char *separator = "{";

	if (call->number) {
		ifp_buf_printf(args,
			"{\"Process Group Name\":\"MPI_COMM_WORLD\",\"Group size\":%" PRIu32
			",\"number\":%" PRIu64,
			world_size, call->number);
		separator = ",";
	}
	if (call->bytes != IFP_MPI_BYTES_UNKNOWN) {
		ifp_buf_printf(args, "%s\"bytes\":%" PRIu64, separator, call->bytes);
		separator = ",";
	}
	if (call->result) {
		ifp_buf_printf(args, "%s\"error\":%" PRId64, separator, call->result);
		separator = ",";
	}
	if (*separator == ',')
		ifp_buf_append_u8(args, '}');
}

void ifp_mark_emit_mpi(struct ifp_mark_emitter *emitter, const struct ifp_lane *lane,
	const struct ifp_mark_record *record, const struct ifp_mpi_record *call,
	uint32_t world_size)
{
	struct ifp_event event = {
		.kind = IFP_EVENT_SLICE,
		.source = IFP_SOURCE_MARK,
		.category = ifp_str("mpi"),
		.start = (int64_t)call->start,
		.dur = record->stamp > call->start ? (int64_t)(record->stamp - call->start) : 0,
		.lane = *lane,
	};

	begin(emitter);
	ifp_buf_append_text(&emitter->name, mpi_names[record->value]);
	append_mpi_args(&emitter->args, call, world_size);
	finish(emitter, &event);
}
