/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_driver ARCHIVE TRACE...: writes what Kineto wrote into an archive, file i as rank i, and
 * prints every event as a line of its members, texts in hexadecimal: what a reader that was
 * written after the document alone has to find.
 */
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/archive.h"
#include "trace/archive/block.h"
#include "trace/archive/clock_samples.h"
#include "trace/chrome/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static void print_text(struct ifp_str text)
{
	putchar(' ');
	putchar('x');
	for (uint32_t i = 0; i < text.len_bytes; i++)
		printf("%02x", (unsigned int)(unsigned char)text.ptr[i]);
}

static void print_event(uint32_t rank, const struct ifp_event *e)
{
	printf("%" PRIu32 " %d %d %d %" PRId64 " %" PRId64 " %" PRIu64 " %d %" PRId64 " %" PRId64,
		rank, e->kind, e->source, e->clock, e->start, e->dur, e->correlation, e->lane.kind,
		e->lane.pid, e->lane.tid);
	print_text(e->lane.pid_text);
	print_text(e->lane.tid_text);
	print_text(e->name);
	print_text(e->category);
	print_text(e->args);
	print_text(e->extra);
	putchar('\n');
}

static int append(
	struct ifp_archive_writer *writer, struct ifp_frame frame, const struct ifp_buf *payload)
{
	int err = ifp_buf_status(payload);

	frame.payload = payload->data;
	frame.payload_bytes = (uint32_t)payload->len_bytes;
	return err ? err : ifp_archive_writer_append(writer, &frame, NULL);
}

static int append_block(struct ifp_archive_writer *writer, struct ifp_block_builder *builder,
	uint32_t rank, uint64_t sequence)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_frame frame = {.type = IFP_FRAME_EVENTS,
		.rank = rank,
		.sequence = sequence,
		.event_count = ifp_block_builder_count(builder)};
	int err = ifp_block_builder_encode(builder, &payload);

	return err ? err : append(writer, frame, &payload);
}

static int append_samples(struct ifp_archive_writer *writer, uint32_t rank)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_clock_tuple tuples[] = {{1000, 1700000000000000000, 77, 90},
		{INT64_MIN, INT64_MAX, UINT64_MAX, 0}, {INT64_MAX, -1, 1, 5}};
	struct ifp_clock_edge edges[] = {{1, rank, 0, 16, -70, 80, 1, 2, 3, INT64_MIN, 1}};
	const struct ifp_clock_samples samples = {
		.tuples = tuples, .tuple_count = 3, .edges = edges, .edge_count = 1};

	ifp_clock_samples_encode(&samples, &payload);
	return append(writer, (struct ifp_frame){.type = IFP_FRAME_CLOCK, .rank = rank}, &payload);
}

static int import(struct ifp_archive_writer *writer, uint32_t rank, const char *path)
{
	IFP_CLEANUP(ifp_chrome_reader_close) struct ifp_chrome_reader *reader = NULL;
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	struct ifp_event event;
	uint64_t sequence = 0;
	int err = ifp_chrome_reader_open(path, &reader), got = 0;

	if (!err)
		err = ifp_block_builder_new(&builder);
	while (!err && (got = ifp_chrome_reader_next(reader, &event)) == 1) {
		print_event(rank, &event);
		err = ifp_block_builder_add(builder, &event);
		/* Small blocks, so that there are several. */
		if (!err && ifp_block_builder_count(builder) == 200)
			err = append_block(writer, builder, rank, ++sequence);
	}
	if (!err && got < 0)
		err = got;
	if (!err)
		err = append_block(writer, builder, rank, ++sequence);
	return err ? err : append_samples(writer, rank);
}

int main(int argc, char **argv)
{
	struct ifp_archive_writer *writer = NULL;
	char text[1024];
	int err = argc < 3 ? ifp_fail(-EINVAL, "usage: archive_driver ARCHIVE TRACE...")
			   : ifp_archive_writer_open(argv[1], true, &writer);

	for (int i = 2; !err && i < argc; i++)
		err = import(writer, (uint32_t)(i - 2), argv[i]);
	if (!err)
		err = ifp_archive_writer_close(&writer);
	ifp_archive_writer_abandon(&writer);
	if (err)
		fprintf(stderr, "archive_driver: %s\n", ifp_error_text(text, sizeof(text)));
	return err ? 1 : 0;
}
