/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a merged timeline costs: time and memory from an archive to the file, for jobs that never
 * ran.
 *
 *	bench_timeline RANKS STEPS EVENTS [BUDGET_BYTES [ARCHIVE]]
 *
 *	bench_timeline ARCHIVE [BUDGET_BYTES]
 *	bench_timeline deflate FILE
 *
 * Every rank has STEPS steps of about EVENTS events each: operators inside of others, launches,
 * kernels, arrows between them, and a collective for every tenth of a step. Prints one line. The
 * archive is made first, by another process, and stays when it is named; one that is there is used.
 *The second form draws an archive that there is, the third packs a file (a timeline, unpacked) as
 *timelines are packed, and does nothing else.
 */
#include "collector/store/run.h"
#include "collector/timeline/picture.h"
#include "collector/timeline/sink_chrome.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/process.h"
#include "core/time.h"
#include "trace/archive/archive.h"
#include "trace/archive/block.h"
#include "trace/archive/clock_samples.h"
#include "trace/deflate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define START_NS INT64_C(1790000000000000000)
#define STEP_NS (100 * IFP_NS_PER_MS)
#define COLLECTIVES 10
/* Of a unit: two operators, one in the other, a launch, a kernel, the two ends of an arrow. */
#define UNIT_EVENTS 6

/* As in collector/timeline/sheet.c and trace/chrome/writer.c. */
#define GZIP_LEVEL 6
#define CHUNK_BYTES (128u * 1024u)

struct job {
	uint32_t ranks, steps, units; /* of a step */
	struct ifp_archive_writer *archive;
	uint64_t sequence;
	uint64_t seed;
	uint64_t next_id;
};

static uint32_t random_below(struct job *job, uint32_t limit)
{
	job->seed = job->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((job->seed >> 33) % limit);
}

static int append(struct job *job, uint32_t rank, enum ifp_frame_type type, const void *payload,
	size_t len_bytes, uint32_t events)
{
	struct ifp_frame frame = {
		.type = type,
		.rank = rank,
		.sequence = ++job->sequence,
		.event_count = events,
		.payload = payload,
		.payload_bytes = (uint32_t)len_bytes,
	};

	return ifp_archive_writer_append(job->archive, &frame, NULL);
}

static int flush(struct job *job, uint32_t rank, struct ifp_block_builder *builder)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	uint32_t count = ifp_block_builder_count(builder);
	int err = ifp_block_builder_encode(builder, &payload);

	if (err || !count)
		return err;
	return append(job, rank, IFP_FRAME_EVENTS, payload.data, payload.len_bytes, count);
}

static int add(
	struct job *job, uint32_t rank, struct ifp_block_builder *builder, struct ifp_event *event)
{
	int err;

	event->source = IFP_SOURCE_KINETO;
	event->clock = IFP_CLOCK_REALTIME;
	err = ifp_block_builder_add(builder, event);
	if (err != -ENOSPC)
		return err;
	err = flush(job, rank, builder);
	return err ? err : ifp_block_builder_add(builder, event);
}

static struct ifp_lane host_lane(uint32_t rank)
{
	return (struct ifp_lane){.kind = IFP_LANE_THREAD, .pid = 4000 + rank, .tid = 4000 + rank};
}

static struct ifp_lane stream(uint32_t rank, int64_t number)
{
	return (struct ifp_lane){.kind = IFP_LANE_STREAM, .pid = rank % 8, .tid = number};
}

static int add_slice(struct job *job, uint32_t rank, struct ifp_block_builder *builder,
	const char *category, const char *name, struct ifp_lane lane, int64_t start, int64_t dur,
	const char *args)
{
	return add(job, rank, builder,
		&(struct ifp_event){.kind = IFP_EVENT_SLICE,
			.name = ifp_str(name),
			.category = ifp_str(category),
			.lane = lane,
			.start = start,
			.dur = dur,
			.args = ifp_str(args)});
}

static int add_arrow(
	struct job *job, uint32_t rank, struct ifp_block_builder *builder, int64_t from, int64_t to)
{
	struct ifp_event half = {.kind = IFP_EVENT_FLOW_START,
		.name = ifp_str("ac2g"),
		.category = ifp_str("ac2g"),
		.correlation = job->next_id,
		.lane = host_lane(rank),
		.start = from};
	int err = add(job, rank, builder, &half);

	half.kind = IFP_EVENT_FLOW_END;
	half.lane = stream(rank, 7);
	half.start = to;
	return err ? err : add(job, rank, builder, &half);
}

/* An operator that launches a kernel, within room ns. */
static int add_unit(
	struct job *job, uint32_t rank, struct ifp_block_builder *builder, int64_t at, int64_t room)
{
	static const char *const names[] = {"aten::linear", "aten::layer_norm", "aten::add",
		"aten::copy_", "aten::scaled_dot_product_attention"};
	uint32_t which = random_below(job, IFP_ARRAY_SIZE(names));
	int64_t dur = room / 4 + random_below(job, (uint32_t)room / 2);
	char host[256], device[256];
	int err;

	job->next_id++;
	snprintf(host, sizeof(host),
		"{\"External id\":%" PRIu64 ",\"Record function id\":0,\"Sequence number\":%" PRIu64
		",\"Input Dims\":[[32,196,768],[768,%u]],\"Input type\":[\"float\",\"float\"],"
		"\"Ev Idx\":%" PRIu64 "}",
		job->next_id, job->next_id + 7, 64u * which, job->next_id);
	snprintf(device, sizeof(device),
		"{\"External id\":%" PRIu64 ",\"device\":%u,\"context\":1,\"stream\":7,"
		"\"correlation\":%" PRIu64 ",\"registers per thread\":32,\"shared memory\":0,"
		"\"grid\":[%u,1,1],\"block\":[256,1,1]}",
		job->next_id, rank % 8, job->next_id, 100 + random_below(job, 900));
	err = add_slice(job, rank, builder, "cpu_op", names[which], host_lane(rank), at, dur, host);
	if (!err)
		err = add_slice(job, rank, builder, "cpu_op", "aten::_inner", host_lane(rank),
			at + dur / 8, dur / 2, host);
	if (!err)
		err = add_slice(job, rank, builder, "cuda_runtime", "cudaLaunchKernel",
			host_lane(rank), at + dur / 4, dur / 8 + 1, "{\"cbid\":211}");
	if (!err)
		err = add_slice(job, rank, builder, "kernel",
			"void at::native::vectorized_elementwise_kernel<4, at::native::add<float>>",
			stream(rank, 7), at + room / 3, dur * 3 / 4, device);
	return err ? err : add_arrow(job, rank, builder, at + dur / 4, at + room / 3);
}

static int add_step(
	struct job *job, uint32_t rank, struct ifp_block_builder *builder, uint32_t step)
{
	int64_t start = START_NS + step * STEP_NS, room = STEP_NS * 9 / 10 / job->units;
	char name[32];
	int err;

	snprintf(name, sizeof(name), "ProfilerStep#%u", step + 1);
	err = add_slice(job, rank, builder, "user_annotation", name, host_lane(rank), start,
		STEP_NS - 1000, "{}");
	for (uint32_t i = 0; i < job->units && !err; i++)
		err = add_unit(job, rank, builder, start + 1000 + i * room, room);
	for (uint32_t i = 0; i < COLLECTIVES && !err; i++) {
		int64_t at = start + i * (STEP_NS / COLLECTIVES) + random_below(job, 1000);
		int64_t dur = STEP_NS / 40 + random_below(job, STEP_NS / 20);

		err = add_slice(job, rank, builder, "kernel",
			"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
			stream(rank, 20), at, dur,
			"{\"Collective name\":\"allreduce\",\"In msg nelems\":294912}");
	}
	return err;
}

static int store_rank(struct job *job, uint32_t rank)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	struct ifp_clock_tuple tuples[2] = {
		{.realtime_ns = START_NS - IFP_NS_PER_S, .width_ns = 50},
		{.realtime_ns = START_NS + (job->steps + 1) * STEP_NS, .width_ns = 50},
	};
	struct ifp_clock_samples samples = {.tuples = tuples, .tuple_count = 2};
	char document[256];
	int err;

	snprintf(document, sizeof(document),
		"{\"rank\":%u,\"world\":%u,\"host\":\"node%02u\",\"boot_id\":\"1\","
		"\"time_namespace\":\"1\",\"child_pid\":%u}",
		rank, job->ranks, rank / 8, 4000 + rank);
	err = append(job, rank, IFP_FRAME_RANK, document, strlen(document), 0);
	tuples[0].raw_ns = IFP_NS_PER_S;
	tuples[1].raw_ns = IFP_NS_PER_S + tuples[1].realtime_ns - tuples[0].realtime_ns;
	ifp_clock_samples_encode(&samples, &payload);
	if (!err)
		err = append(job, rank, IFP_FRAME_CLOCK, payload.data, payload.len_bytes, 0);
	if (!err)
		err = ifp_block_builder_new(&builder);
	for (uint32_t step = 0; step < job->steps && !err; step++)
		err = add_step(job, rank, builder, step);
	return err ? err : flush(job, rank, builder);
}

static int store(struct job *job, const char *path)
{
	char document[128];
	int err = ifp_archive_writer_open(path, true, &job->archive);

	if (err)
		return err;
	snprintf(document, sizeof(document),
		"{\"run_id\":\"1\",\"world\":%u,\"started_realtime_ns\":\"%" PRId64 "\"}",
		job->ranks, START_NS);
	err = append(job, IFP_FRAME_NO_RANK, IFP_FRAME_RUN, document, strlen(document), 0);
	for (uint32_t rank = 0; rank < job->ranks && !err; rank++)
		err = store_rank(job, rank);
	if (!err)
		return ifp_archive_writer_close(&job->archive);
	ifp_archive_writer_abandon(&job->archive);
	return err;
}

static int64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * IFP_NS_PER_S + now.tv_nsec;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static uint64_t count_events(const struct ifp_run *run)
{
	uint64_t events = 0;

	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++)
		events += ifp_run_rank(run, i)->event_count;
	return events;
}

static void print(const struct ifp_run *run, const struct ifp_timeline_file *file, double wall_s)
{
	struct rusage usage;
	double events = (double)count_events(run);

	getrusage(RUSAGE_SELF, &usage);
	printf("%u ranks, %.2f M events, %.1f MB of JSON, %.1f MB packed: %.3f s, %.3f s of CPU, "
	       "%.2f M events/s, %.0f MB/s of JSON, %.1f MB/s packed, peak %.0f MB\n  %s\n",
		ifp_run_rank_count(run), events / 1e6, (double)file->json_bytes / 1e6,
		(double)file->bytes / 1e6, wall_s,
		seconds(usage.ru_utime) + seconds(usage.ru_stime), events / 1e6 / wall_s,
		(double)file->json_bytes / 1e6 / wall_s, (double)file->bytes / 1e6 / wall_s,
		(double)usage.ru_maxrss / 1024,
		file->shown.text[0] ? file->shown.text : "everything is shown");
}

static int draw(const char *archive, const struct ifp_budget *budget)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP(ifp_timeline_result_free) struct ifp_timeline_result result = {0};
	char path[4096];
	int64_t begin_ns = wall_ns();
	struct ifp_sink *sink;
	int err;

	snprintf(path, sizeof(path), "%s.merged.json.gz", archive);
	err = ifp_run_open(archive, &run);
	if (!err)
		err = ifp_sink_chrome_open(path, run, budget, &sink);
	if (err)
		return err;
	err = ifp_picture_draw(run, sink);
	if (err)
		sink->ops->abandon(sink);
	else
		err = sink->ops->close(sink, &result);
	if (!err)
		print(run, &result.files[0], (double)(wall_ns() - begin_ns) / 1e9);
	unlink(path);
	return err;
}

/* In a process of its own: its memory is not counted. */
static int make(struct job *job, const char *path)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(store(job, path) ? 1 : 0);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return ifp_fail(-EIO, "make %s", path);
	return 0;
}

static int read_file(const char *path, struct ifp_buf *out)
{
	FILE *file = fopen(path, "rb");
	size_t got = 1;

	if (!file)
		return ifp_fail_errno("open %s", path);
	while (got) {
		ifp_buf_reserve(out, CHUNK_BYTES);
		got = out->failed ? 0 : fread(out->data + out->len_bytes, 1, CHUNK_BYTES, file);
		out->len_bytes += got;
	}
	fclose(file);
	return ifp_buf_status(out);
}

/* Piece by piece, as a timeline is packed while it is drawn. */
static int pack(const char *path)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0}, packed = {0};
	IFP_CLEANUP(ifp_deflate_close) struct ifp_deflate *deflate = NULL;
	struct rusage usage;
	uint64_t packed_bytes = 0;
	double cpu_s;
	int err = read_file(path, &text);

	if (!err)
		err = ifp_deflate_open(GZIP_LEVEL, &deflate);
	getrusage(RUSAGE_SELF, &usage);
	cpu_s = -(seconds(usage.ru_utime) + seconds(usage.ru_stime));
	for (size_t at = 0; at < text.len_bytes && !err; at += CHUNK_BYTES) {
		size_t left = text.len_bytes - at;

		err = ifp_deflate_add(deflate, text.data + at,
			left < CHUNK_BYTES ? left : CHUNK_BYTES, left <= CHUNK_BYTES, &packed);
		packed_bytes += packed.len_bytes;
		ifp_buf_clear(&packed);
	}
	getrusage(RUSAGE_SELF, &usage);
	cpu_s += seconds(usage.ru_utime) + seconds(usage.ru_stime);
	if (!err)
		printf("%.1f MB of JSON, %.1f MB packed: %.3f s of CPU, %.0f MB/s in, %.1f MB/s "
		       "out\n",
			(double)text.len_bytes / 1e6, (double)packed_bytes / 1e6, cpu_s,
			(double)text.len_bytes / 1e6 / cpu_s, (double)packed_bytes / 1e6 / cpu_s);
	return err;
}

static int draw_made(int argc, char **argv, struct ifp_budget *budget)
{
	const char *path = argc > 5 ? argv[5] : "bench_timeline.ifp";
	struct job job = {.seed = 1};
	int err = 0;

	job.ranks = (uint32_t)strtoul(argv[1], NULL, 10);
	job.steps = (uint32_t)strtoul(argv[2], NULL, 10);
	job.units = 1 + (uint32_t)strtoul(argv[3], NULL, 10) / UNIT_EVENTS;
	if (argc > 4)
		budget->bytes = strtoull(argv[4], NULL, 10);
	if (access(path, F_OK))
		err = make(&job, path);
	if (!err)
		err = draw(path, budget);
	if (argc <= 5)
		unlink(path);
	return err;
}

static int draw_archive(int argc, char **argv, struct ifp_budget *budget)
{
	if (argc > 2)
		budget->bytes = strtoull(argv[2], NULL, 10);
	return draw(argv[1], budget);
}

int main(int argc, char **argv)
{
	struct ifp_budget budget = {.bytes = IFP_TIMELINE_MERGED_BYTES};
	char text[2048];
	int err;

	if (argc < 2) {
		fprintf(stderr,
			"usage: bench_timeline RANKS STEPS EVENTS [BUDGET_BYTES [ARCHIVE]]\n"
			"       bench_timeline ARCHIVE [BUDGET_BYTES]\n"
			"       bench_timeline deflate FILE\n");
		return 2;
	}
	/* As infprof does. */
	ifp_process_keep_memory();
	if (argc == 3 && !strcmp(argv[1], "deflate"))
		err = pack(argv[2]);
	else
		err = argc > 3 ? draw_made(argc, argv, &budget) : draw_archive(argc, argv, &budget);
	if (err)
		fprintf(stderr, "bench_timeline: %s\n", ifp_error_text(text, sizeof(text)));
	return err ? 1 : 0;
}
