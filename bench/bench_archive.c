/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event costs in an archive, and how fast blocks are made and read:
 *
 *	bench_archive TRACE.json[.gz]...
 *
 * Bytes include the headers of frames. Times are CPU time of this process.
 */
#include "core/cleanup.h"
#include "core/error.h"
#include "core/time.h"
#include "trace/archive/block.h"
#include "trace/archive/frame.h"
#include "trace/chrome/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

struct totals {
	uint64_t events, json_bytes, archive_bytes, blocks;
	int64_t encode_ns, decode_ns;
};

static int64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * IFP_NS_PER_S + now.tv_nsec;
}

static int finish_block(struct ifp_block_builder *builder, struct totals *totals)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_block block;
	int64_t before_ns = cpu_ns();
	int err = ifp_block_builder_encode(builder, &payload);

	totals->encode_ns += cpu_ns() - before_ns;
	if (err)
		return err;
	before_ns = cpu_ns();
	err = ifp_block_decode(payload.data, payload.len_bytes, &block);
	totals->decode_ns += cpu_ns() - before_ns;
	if (err)
		return err;
	totals->events += block.count;
	totals->archive_bytes += IFP_FRAME_HEADER_BYTES + payload.len_bytes;
	totals->blocks++;
	ifp_block_free(&block);
	return 0;
}

static int add(
	struct ifp_block_builder *builder, const struct ifp_event *event, struct totals *totals)
{
	int64_t before_ns = cpu_ns();
	int err = ifp_block_builder_add(builder, event);

	totals->encode_ns += cpu_ns() - before_ns;
	if (err != -ENOSPC)
		return err;
	err = finish_block(builder, totals);
	return err ? err : ifp_block_builder_add(builder, event);
}

static int measure(const char *path, struct totals *totals)
{
	IFP_CLEANUP(ifp_chrome_reader_close) struct ifp_chrome_reader *reader = NULL;
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	struct ifp_event event;
	int err = ifp_chrome_reader_open(path, &reader);

	if (!err)
		err = ifp_block_builder_new(&builder);
	while (!err) {
		int got = ifp_chrome_reader_next(reader, &event);

		if (got == 0)
			break;
		err = got < 0 ? got : add(builder, &event, totals);
	}
	if (err)
		return err;
	totals->json_bytes = ifp_chrome_reader_counts(reader).bytes;
	return finish_block(builder, totals);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: bench_archive TRACE.json[.gz]...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		struct totals totals = {0};
		char text[1024];

		if (measure(argv[i], &totals)) {
			fprintf(stderr, "bench_archive: %s: %s\n", argv[i],
				ifp_error_text(text, sizeof(text)));
			return 1;
		}
		printf("%s: %" PRIu64 " events, %" PRIu64 " blocks, %.2f bytes an event"
		       " (JSON %.1f), encoding %" PRId64 " ns, decoding %" PRId64 " ns an event\n",
			argv[i], totals.events, totals.blocks,
			(double)totals.archive_bytes / (double)totals.events,
			(double)totals.json_bytes / (double)totals.events,
			totals.encode_ns / (int64_t)totals.events,
			totals.decode_ns / (int64_t)totals.events);
	}
	return 0;
}
