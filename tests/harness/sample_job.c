/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_job.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "core/time.h"
#include "trace/archive/archive.h"
#include "trace/archive/block.h"
#include "trace/archive/clock_samples.h"

#include <inttypes.h>
#include <stdio.h>

#define START_RAW_NS (1000 * IFP_NS_PER_S)
#define REALTIME_MINUS_RAW_NS (INT64_C(1764560000) * IFP_NS_PER_S)
#define STEP_NS (200 * IFP_NS_PER_MS)

struct writer {
	const struct sample_job *job;
	struct ifp_archive_writer *archive;
	uint64_t sequence;
};

static int append(struct writer *w, enum ifp_frame_type type, uint32_t rank, uint32_t events,
	struct ifp_buf *payload)
{
	const struct ifp_frame frame = {.type = type,
		.rank = rank,
		.sequence = rank == IFP_FRAME_NO_RANK ? 0 : ++w->sequence,
		.event_count = events,
		.payload = payload->data,
		.payload_bytes = (uint32_t)payload->len_bytes};
	int err = ifp_buf_status(payload);

	if (!err)
		err = ifp_archive_writer_append(w->archive, &frame, NULL);
	ifp_buf_clear(payload);
	return err;
}

static int append_run(struct writer *w, struct ifp_buf *payload)
{
	ifp_buf_printf(payload,
		"{\"run_id\":\"sample-1\",\"job\":\"%s\",\"program\":\"train.py\",\"world\":%u,"
		"\"started_realtime_ns\":\"%" PRId64 "\",\"infprof\":\"0.1.0\"}",
		w->job->job, w->job->ranks, START_RAW_NS + REALTIME_MINUS_RAW_NS);
	return append(w, IFP_FRAME_RUN, IFP_FRAME_NO_RANK, 0, payload);
}

static int append_clocks(struct writer *w, uint32_t rank, struct ifp_buf *payload)
{
	struct ifp_clock_tuple tuples[2];
	const struct ifp_clock_samples samples = {.tuples = tuples, .tuple_count = 2};
	int64_t raw_ns = START_RAW_NS;

	for (int i = 0; i < 2; i++) {
		tuples[i] = (struct ifp_clock_tuple){.raw_ns = raw_ns,
			.realtime_ns = raw_ns + REALTIME_MINUS_RAW_NS,
			.width_ns = 100};
		raw_ns += w->job->steps * 2 * STEP_NS;
	}
	ifp_clock_samples_encode(&samples, payload);
	return append(w, IFP_FRAME_CLOCK, rank, 0, payload);
}

static struct ifp_event slice(uint32_t rank, const char *name, const char *category)
{
	return (struct ifp_event){.kind = IFP_EVENT_SLICE,
		.source = IFP_SOURCE_KINETO,
		.clock = IFP_CLOCK_REALTIME,
		.dur = IFP_NS_PER_MS,
		.lane = {.kind = IFP_LANE_THREAD, .pid = 1000 + rank, .tid = 2000 + rank},
		.name = ifp_str(name),
		.category = ifp_str(category)};
}

/* One step: an operator, two collectives, the mark. Others wait for the slow rank in the first. */
static int add_step(struct writer *w, struct ifp_block_builder *block, uint32_t rank, uint32_t step)
{
	int64_t step_ns = STEP_NS + w->job->slow_ns;
	int64_t start_ns = START_RAW_NS + IFP_NS_PER_S + (step - 1) * step_ns;
	int64_t jitter_ns = (rank * 7 + step * 5) % 11 * (IFP_NS_PER_MS / 2);
	int64_t late_ns = rank == w->job->slow_rank ? w->job->slow_ns : 0;
	struct ifp_event op = slice(rank, "aten::mm", "cpu_op");
	struct ifp_event reduce = slice(rank, "gloo:all_reduce", "user_annotation");
	struct ifp_event mark = {.source = IFP_SOURCE_STEP,
		.kind = IFP_EVENT_INSTANT,
		.clock = IFP_CLOCK_RAW,
		.start = start_ns + step_ns - 10 * IFP_NS_PER_MS + jitter_ns / 8,
		.correlation = step,
		.lane = op.lane,
		.name = ifp_str("step"),
		.category = ifp_str("step")};
	int err;

	op.start = start_ns + REALTIME_MINUS_RAW_NS;
	op.args = ifp_str("{\"External id\":5}");
	err = ifp_block_builder_add(block, &op);
	reduce.start = op.start + 50 * IFP_NS_PER_MS + jitter_ns + late_ns;
	if (!err)
		err = ifp_block_builder_add(block, &reduce);
	reduce.start = op.start + 100 * IFP_NS_PER_MS + w->job->slow_ns;
	if (!err)
		err = ifp_block_builder_add(block, &reduce);
	return err ? err : ifp_block_builder_add(block, &mark);
}

static int append_events(struct writer *w, uint32_t rank, struct ifp_buf *payload)
{
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *block = NULL;
	uint32_t count;
	int err = ifp_block_builder_new(&block);

	for (uint32_t step = 1; !err && step <= w->job->steps; step++)
		err = add_step(w, block, rank, step);
	if (err < 0)
		return err;
	count = ifp_block_builder_count(block);
	err = ifp_block_builder_encode(block, payload);
	return err ? err : append(w, IFP_FRAME_EVENTS, rank, count, payload);
}

static int append_documents(struct writer *w, uint32_t rank, struct ifp_buf *payload)
{
	int err;

	ifp_buf_printf(payload,
		"{\"window\":0,\"attempt\":0,\"kind\":\"steps\",\"asked_first\":1,"
		"\"asked_count\":%u,%s\"first_step\":1,\"last_step\":%u,\"events\":%u}",
		w->job->steps,
		w->job->ended_early ? "\"outcome\":\"ended\",\"reason\":\"the program ended\","
				    : "\"outcome\":\"recorded\",\"reason\":\"\",",
		w->job->steps, w->job->steps * 3);
	err = append(w, IFP_FRAME_WINDOW, rank, 0, payload);
	ifp_buf_printf(payload,
		"{\"rows\":[{\"what\":\"marks-dropped\",\"count\":\"%u\",\"why\":\"a ring was "
		"full\"}]}",
		rank + 1);
	if (!err && rank == 0)
		err = append(w, IFP_FRAME_LEDGER, rank, 0, payload);
	ifp_buf_clear(payload);
	ifp_buf_printf(payload,
		"{\"how\":\"exited\",\"status\":0,\"steps\":\"%u\",\"marks\":\"%u\"}",
		w->job->steps, w->job->steps);
	return err ? err : append(w, IFP_FRAME_END, rank, 0, payload);
}

static int append_rank(struct writer *w, uint32_t rank, struct ifp_buf *payload)
{
	int err;

	w->sequence = 0;
	ifp_buf_printf(payload,
		"{\"version\":1,\"job\":\"%s\",\"rank\":%u,\"world\":%u,\"local_rank\":%u,"
		"\"launcher\":\"mpi\",\"host\":\"node1\",\"pid\":%u,\"child_pid\":%u,"
		"\"boot_id\":\"00000000-0000-0000-0000-000000000001\",\"time_namespace\":\"1\","
		"\"stamp_clock\":\"raw\",\"program\":\"train.py\"}",
		w->job->job, rank, w->job->ranks, rank, 900 + rank, 1000 + rank);
	err = append(w, IFP_FRAME_RANK, rank, 0, payload);
	if (!err)
		err = append_clocks(w, rank, payload);
	if (!err)
		err = append_events(w, rank, payload);
	return err ? err : append_documents(w, rank, payload);
}

int sample_job_write(const char *path, const struct sample_job *job)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct writer w = {.job = job};
	int err = ifp_archive_writer_open(path, true, &w.archive);

	if (err < 0)
		return err;
	if (job->only_rank == SAMPLE_ALL_RANKS)
		err = append_run(&w, &payload);
	for (uint32_t rank = 0; !err && rank < job->ranks; rank++) {
		if (job->only_rank == SAMPLE_ALL_RANKS || job->only_rank == rank)
			err = append_rank(&w, rank, &payload);
	}
	if (!err)
		return ifp_archive_writer_close(&w.archive);
	ifp_archive_writer_abandon(&w.archive);
	return err;
}
