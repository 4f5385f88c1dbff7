/* SPDX-License-Identifier: Apache-2.0 */
#include "make_archive.h"

#include "core/buf.h"
#include "trace/archive/clock_samples.h"

#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define TUPLE_EVERY_NS IFP_NS_PER_S
#define ROUND_TRIPS 16u

char archive_maker_path[64];

int archive_maker_make_path(void **state)
{
	int fd;

	(void)state;
	strcpy(archive_maker_path, "/tmp/infprof-run-XXXXXX");
	fd = mkstemp(archive_maker_path);
	return fd < 0 || close(fd) ? -1 : 0;
}

int archive_maker_remove_path(void **state)
{
	(void)state;
	ifp_error_clear();
	return unlink(archive_maker_path);
}

static int64_t raw(const struct archive_maker *maker, uint32_t rank, int64_t at_ns)
{
	return ARCHIVE_MAKER_RAW_NS + maker->ranks[rank].raw_offset_ns + at_ns;
}

static void append(struct archive_maker *maker, enum ifp_frame_type type, uint32_t rank,
	const struct ifp_buf *payload, uint32_t event_count)
{
	struct ifp_frame frame = {.type = type,
		.rank = rank,
		.event_count = event_count,
		.payload = payload->data,
		.payload_bytes = (uint32_t)payload->len_bytes};
	bool duplicate;

	assert_ok(ifp_buf_status(payload));
	if (rank != IFP_FRAME_NO_RANK)
		frame.sequence = ++maker->ranks[rank].sequence;
	assert_ok(ifp_archive_writer_append(maker->writer, &frame, &duplicate));
	assert_false(duplicate);
}

void archive_maker_document(
	struct archive_maker *maker, enum ifp_frame_type type, uint32_t rank, const char *json)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};

	ifp_buf_append_text(&payload, json);
	append(maker, type, rank, &payload, 0);
}

void archive_maker_open(struct archive_maker *maker, const char *path, uint32_t world)
{
	char json[256];

	assert_in_range(world, 1, ARCHIVE_MAKER_MAX_RANKS);
	*maker = (struct archive_maker){.world = world};
	for (uint32_t rank = 0; rank < world; rank++)
		maker->ranks[rank].host = "host0";
	assert_ok(ifp_archive_writer_open(path, false, &maker->writer));
	snprintf(json, sizeof(json),
		"{\"run_id\":\"00000000000000a1\",\"job\":\"test\",\"program\":\"train.py\","
		"\"world\":%" PRIu32 ",\"started_realtime_ns\":\"%" PRId64 "\","
		"\"infprof\":\"0.0.0\",\"output\":\"\",\"clock_plan\":\"none\"}",
		world, ARCHIVE_MAKER_REALTIME_NS);
	archive_maker_document(maker, IFP_FRAME_RUN, IFP_FRAME_NO_RANK, json);
}

void archive_maker_flush(struct archive_maker *maker, uint32_t rank)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_block_builder *builder = maker->ranks[rank].builder;
	uint32_t count = builder ? ifp_block_builder_count(builder) : 0;

	if (!count)
		return;
	assert_ok(ifp_block_builder_encode(builder, &payload));
	append(maker, IFP_FRAME_EVENTS, rank, &payload, count);
}

void archive_maker_event(struct archive_maker *maker, uint32_t rank, const struct ifp_event *event)
{
	struct archive_maker_rank *of = &maker->ranks[rank];
	struct ifp_event own = *event;
	int err;

	assert_in_range(rank, 0, maker->world - 1);
	assert_true(event->clock == IFP_CLOCK_RAW || event->clock == IFP_CLOCK_REALTIME);
	if (of->absent)
		return;
	if (!of->builder)
		assert_ok(ifp_block_builder_new(&of->builder));
	if (event->start + event->dur > maker->end_ns)
		maker->end_ns = event->start + event->dur;
	own.start = event->clock == IFP_CLOCK_RAW ? raw(maker, rank, event->start)
						  : ARCHIVE_MAKER_REALTIME_NS + event->start;
	err = ifp_block_builder_add(of->builder, &own);
	if (err == -ENOSPC) {
		archive_maker_flush(maker, rank);
		err = ifp_block_builder_add(of->builder, &own);
	}
	assert_ok(err);
}

void archive_maker_slice(struct archive_maker *maker, uint32_t rank, const char *category,
	const char *name, int64_t tid, int64_t start_ns, int64_t dur_ns)
{
	archive_maker_event(maker, rank,
		&(struct ifp_event){.kind = IFP_EVENT_SLICE,
			.source = IFP_SOURCE_KINETO,
			.clock = IFP_CLOCK_REALTIME,
			.start = start_ns,
			.dur = dur_ns,
			.lane = {.pid = 1000 + (int64_t)rank, .tid = tid},
			.name = ifp_str(name),
			.category = ifp_str(category)});
}

void archive_maker_collective(
	struct archive_maker *maker, const char *name, const int64_t *arrival_ns, int64_t wire_ns)
{
	int64_t last_ns = arrival_ns[0];

	for (uint32_t rank = 1; rank < maker->world; rank++)
		if (arrival_ns[rank] > last_ns)
			last_ns = arrival_ns[rank];
	for (uint32_t rank = 0; rank < maker->world; rank++)
		archive_maker_slice(maker, rank, "user_annotation", name, 1, arrival_ns[rank],
			last_ns + wire_ns - arrival_ns[rank]);
}

void archive_maker_step(struct archive_maker *maker, uint32_t rank, uint64_t step, int64_t end_ns)
{
	archive_maker_event(maker, rank,
		&(struct ifp_event){.kind = IFP_EVENT_INSTANT,
			.source = IFP_SOURCE_STEP,
			.clock = IFP_CLOCK_RAW,
			.start = end_ns,
			.correlation = step,
			.lane = {.pid = 1000 + (int64_t)rank, .tid = 1},
			.name = ifp_str("step"),
			.category = ifp_str("step")});
}

void archive_maker_steps(struct archive_maker *maker, uint64_t step, int64_t end_ns)
{
	for (uint32_t rank = 0; rank < maker->world; rank++)
		archive_maker_step(maker, rank, step, end_ns);
}

/* An exchange at a moment, off the truth by nothing and uncertain by the given half width. */
static struct ifp_clock_edge exchange(
	const struct archive_maker *maker, uint32_t rank, uint32_t epoch, int64_t at_ns)
{
	int64_t half_ns = maker->ranks[rank].edge_ns;
	int64_t offset_ns = raw(maker, 0, 0) - raw(maker, rank, 0);

	return (struct ifp_clock_edge){.epoch = epoch,
		.client = rank,
		.server = 0,
		.round_trips = ROUND_TRIPS,
		.low_ns = offset_ns - half_ns,
		.high_ns = offset_ns + half_ns,
		.best_t1_ns = raw(maker, rank, at_ns),
		.best_t2_ns = raw(maker, 0, at_ns) + half_ns,
		.best_t3_ns = raw(maker, 0, at_ns) + half_ns,
		.best_t4_ns = raw(maker, rank, at_ns) + 2 * half_ns};
}

static void write_samples(struct archive_maker *maker, uint32_t rank)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	const struct archive_maker_rank *of = &maker->ranks[rank];
	uint32_t count = (uint32_t)(maker->end_ns / TUPLE_EVERY_NS) + 2;
	struct ifp_clock_tuple *tuples = calloc(count, sizeof(*tuples));
	struct ifp_clock_edge edges[2] = {exchange(maker, rank, 0, 0),
		exchange(maker, rank, 1, (count - 1) * TUPLE_EVERY_NS)};
	struct ifp_clock_samples samples = {.tuples = tuples,
		.tuple_count = of->no_tuples ? 0 : count,
		.edges = edges,
		.edge_count = rank > 0 && of->edge_ns ? 2 : 0};

	assert_non_null(tuples);
	for (uint32_t i = 0; i < count; i++)
		tuples[i] = (struct ifp_clock_tuple){.raw_ns = raw(maker, rank, i * TUPLE_EVERY_NS),
			.realtime_ns = ARCHIVE_MAKER_REALTIME_NS + i * TUPLE_EVERY_NS,
			.width_ns = 100};
	ifp_clock_samples_encode(&samples, &payload);
	append(maker, IFP_FRAME_CLOCK, rank, &payload, 0);
	free(tuples);
}

static void write_documents(struct archive_maker *maker, uint32_t rank)
{
	const struct archive_maker_rank *of = &maker->ranks[rank];
	char json[512];

	snprintf(json, sizeof(json),
		"{\"version\":1,\"job\":\"test\",\"rank\":%" PRIu32 ",\"world\":%" PRIu32 ","
		"\"local_rank\":%" PRIu32 ",\"launcher\":\"test\",\"host\":\"%s\","
		"\"boot_id\":\"boot of %s\",\"time_namespace\":\"4026531834\","
		"\"stamp_clock\":\"raw\",\"program\":\"train.py\",\"child_pid\":%" PRIu32 "}",
		rank, maker->world, rank, of->host, of->host, 1000 + rank);
	archive_maker_document(maker, IFP_FRAME_RANK, rank, json);
	if (of->no_end)
		return;
	snprintf(json, sizeof(json),
		"{\"how\":\"exited\",\"status\":0,\"ended_realtime_ns\":\"%" PRId64 "\"}",
		ARCHIVE_MAKER_REALTIME_NS + maker->end_ns);
	archive_maker_document(maker, IFP_FRAME_END, rank, json);
}

void archive_maker_close(struct archive_maker *maker)
{
	for (uint32_t rank = 0; rank < maker->world; rank++) {
		if (maker->ranks[rank].absent)
			continue;
		archive_maker_flush(maker, rank);
		write_samples(maker, rank);
		write_documents(maker, rank);
		ifp_block_builder_free(&maker->ranks[rank].builder);
	}
	assert_ok(ifp_archive_writer_close(&maker->writer));
}
