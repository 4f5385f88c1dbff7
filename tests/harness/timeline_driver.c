/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a run from files that Kineto wrote, one per rank, and draws it: for tests of the timeline.
 *
 *	timeline_driver [--windows COUNT] [--unaligned RANK] [--no-marks] OUTPUT FILE...
 *
 * Every rank gets the step marks that a live run would have: one inside each "Optimizer.step"
 * range and one before the first event, numbered from 100. Their clock is RAW, that of the files
 * REALTIME. An NVTX range of 1 us follows each mark but the first. --windows adds the documents of
 * windows that share the steps between them, --unaligned gives one rank a clock of its own that
 * nothing ties to the others. Prints {"files":[...],"ledger":[...]}.
 */
#include "collector/store/run.h"
#include "collector/timeline/timeline.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/archive.h"
#include "trace/archive/block.h"
#include "trace/archive/clock_samples.h"
#include "trace/chrome/escape.h"
#include "trace/chrome/reader.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_MARK 100
#define MAX_STEPS 4096
/* 2000-01-01: the clocks of a live run are read today, whatever stamps its events have. */
#define OLDEST_NS INT64_C(946684800000000000)
/* RAW is younger than REALTIME by this much, on every rank. */
#define CLOCK_DISTANCE_NS INT64_C(1790000000000000000)

struct rank_source {
	const char *path;
	uint32_t rank;
	int64_t first_ns, last_ns; /* REALTIME */
	struct ifp_lane lane;	   /* of the optimizer */
	int64_t marks[MAX_STEPS];
	uint32_t mark_count;
	uint64_t sequence;
};

struct driver {
	struct ifp_archive_writer *archive;
	const char *output;
	uint32_t world;
	int64_t unaligned;
	uint32_t windows;
	bool marks;
	struct ifp_timeline_wish wish;
	uint32_t first_ranks[8];
};

static int append(struct driver *driver, struct rank_source *source, enum ifp_frame_type type,
	const void *payload, size_t len_bytes, uint32_t events)
{
	struct ifp_frame frame = {
		.type = type,
		.rank = source ? source->rank : IFP_FRAME_NO_RANK,
		.sequence = source ? ++source->sequence : 0,
		.event_count = events,
		.payload = payload,
		.payload_bytes = (uint32_t)len_bytes,
	};

	return ifp_archive_writer_append(driver->archive, &frame, NULL);
}

static int append_document(struct driver *driver, struct rank_source *source,
	enum ifp_frame_type type, cJSON *document)
{
	char *text = cJSON_PrintUnformatted(document);
	int err = append(driver, source, type, text, strlen(text), 0);

	cJSON_free(text);
	cJSON_Delete(document);
	return err;
}

static void add_int_text(cJSON *document, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	cJSON_AddStringToObject(document, key, text);
}

static void note_step(struct rank_source *source, const struct ifp_event *event)
{
	if (!ifp_str_starts_with(event->name, "Optimizer.step#") ||
		event->lane.kind != IFP_LANE_THREAD || source->mark_count == MAX_STEPS)
		return;
	source->lane = (struct ifp_lane){
		.kind = IFP_LANE_THREAD, .pid = event->lane.pid, .tid = event->lane.tid};
	source->marks[source->mark_count++] = event->start + event->dur - event->dur / 8;
}

static int compare_number(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* What must be known before the first event is stored. */
static int look_through(struct rank_source *source)
{
	IFP_CLEANUP(ifp_chrome_reader_close) struct ifp_chrome_reader *reader = NULL;
	struct ifp_event event;
	int more = ifp_chrome_reader_open(source->path, &reader);

	if (more)
		return more;
	source->first_ns = INT64_MAX;
	while ((more = ifp_chrome_reader_next(reader, &event)) > 0) {
		if (event.kind != IFP_EVENT_SLICE || event.start < OLDEST_NS)
			continue;
		if (event.start < source->first_ns)
			source->first_ns = event.start;
		if (event.start + event.dur > source->last_ns)
			source->last_ns = event.start + event.dur;
		note_step(source, &event);
	}
	qsort(source->marks, source->mark_count, sizeof(*source->marks), compare_number);
	return more;
}

static int flush(
	struct driver *driver, struct rank_source *source, struct ifp_block_builder *builder)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	uint32_t count = ifp_block_builder_count(builder);
	int err = ifp_block_builder_encode(builder, &payload);

	if (err || !count)
		return err;
	return append(driver, source, IFP_FRAME_EVENTS, payload.data, payload.len_bytes, count);
}

static int add(struct driver *driver, struct rank_source *source, struct ifp_block_builder *builder,
	const struct ifp_event *event)
{
	int err = ifp_block_builder_add(builder, event);

	if (err != -ENOSPC)
		return err;
	err = flush(driver, source, builder);
	return err ? err : ifp_block_builder_add(builder, event);
}

static int add_mark(struct driver *driver, struct rank_source *source,
	struct ifp_block_builder *builder, uint32_t number, int64_t at_ns)
{
	char name[32];

	snprintf(name, sizeof(name), "step %u", number);
	return add(driver, source, builder,
		&(struct ifp_event){
			.kind = IFP_EVENT_INSTANT,
			.source = IFP_SOURCE_STEP,
			.clock = IFP_CLOCK_RAW,
			.start = at_ns - CLOCK_DISTANCE_NS,
			.correlation = number,
			.lane = source->lane,
			.name = ifp_str(name),
			.category = ifp_str("step"),
		});
}

static int add_range(struct driver *driver, struct rank_source *source,
	struct ifp_block_builder *builder, int64_t at_ns)
{
	return add(driver, source, builder,
		&(struct ifp_event){
			.kind = IFP_EVENT_SLICE,
			.source = IFP_SOURCE_NVTX,
			.clock = IFP_CLOCK_RAW,
			.start = at_ns - CLOCK_DISTANCE_NS,
			.dur = 1000,
			.lane = source->lane,
			.name = ifp_str("my range"),
			.category = ifp_str("nvtx"),
		});
}

static int add_marks(
	struct driver *driver, struct rank_source *source, struct ifp_block_builder *builder)
{
	int err = 0;

	for (uint32_t i = 0; i <= source->mark_count && driver->marks && !err; i++) {
		int64_t at_ns = i ? source->marks[i - 1] : source->first_ns - 1000;

		err = add_mark(driver, source, builder, FIRST_MARK + i, at_ns);
		if (!err && i)
			err = add_range(driver, source, builder, at_ns);
	}
	return err;
}

static int store_events(struct driver *driver, struct rank_source *source)
{
	IFP_CLEANUP(ifp_chrome_reader_close) struct ifp_chrome_reader *reader = NULL;
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	struct ifp_event event;
	int err = ifp_chrome_reader_open(source->path, &reader);

	if (!err)
		err = ifp_block_builder_new(&builder);
	if (!err)
		err = add_marks(driver, source, builder);
	while (!err && (err = ifp_chrome_reader_next(reader, &event)) > 0)
		err = add(driver, source, builder, &event);
	return err ? err : flush(driver, source, builder);
}

static int store_clock(struct driver *driver, struct rank_source *source)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_clock_tuple tuples[2] = {
		{.realtime_ns = source->first_ns - IFP_NS_PER_S, .width_ns = 50},
		{.realtime_ns = source->last_ns + IFP_NS_PER_S, .width_ns = 50},
	};
	struct ifp_clock_samples samples = {.tuples = tuples, .tuple_count = 2};

	for (int i = 0; i < 2; i++)
		tuples[i].raw_ns = tuples[i].realtime_ns - CLOCK_DISTANCE_NS;
	ifp_clock_samples_encode(&samples, &payload);
	return append(driver, source, IFP_FRAME_CLOCK, payload.data, payload.len_bytes, 0);
}

static int store_rank_document(struct driver *driver, struct rank_source *source)
{
	cJSON *document = cJSON_CreateObject();
	bool alone = driver->unaligned == source->rank;

	cJSON_AddNumberToObject(document, "rank", source->rank);
	cJSON_AddNumberToObject(document, "world", driver->world);
	cJSON_AddStringToObject(document, "host", alone ? "far.away" : "node03");
	cJSON_AddStringToObject(document, "boot_id", alone ? "2" : "1");
	add_int_text(document, "time_namespace", 4026531834);
	cJSON_AddNumberToObject(document, "child_pid", (double)source->lane.pid);
	return append_document(driver, source, IFP_FRAME_RANK, document);
}

static int store_window(struct driver *driver, struct rank_source *source, uint32_t number)
{
	cJSON *document = cJSON_CreateObject();
	uint32_t first = source->mark_count * number / driver->windows;
	uint32_t last = source->mark_count * (number + 1) / driver->windows;

	cJSON_AddNumberToObject(document, "window", number);
	cJSON_AddStringToObject(document, "kind", "steps");
	cJSON_AddStringToObject(document, "outcome", "recorded");
	cJSON_AddNumberToObject(document, "first_step", FIRST_MARK + first + 1);
	cJSON_AddNumberToObject(document, "last_step", FIRST_MARK + last);
	return append_document(driver, source, IFP_FRAME_WINDOW, document);
}

static int store_rank(struct driver *driver, uint32_t rank, const char *path)
{
	static struct rank_source source;
	int err;

	source = (struct rank_source){.path = path, .rank = rank};
	err = look_through(&source);
	if (!err)
		err = store_rank_document(driver, &source);
	if (!err)
		err = store_clock(driver, &source);
	if (!err)
		err = store_events(driver, &source);
	for (uint32_t i = 0; i < driver->windows && !err; i++)
		err = store_window(driver, &source, i);
	return err;
}

static int store_run_document(struct driver *driver)
{
	cJSON *document = cJSON_CreateObject();

	cJSON_AddStringToObject(document, "run_id", "1");
	cJSON_AddNumberToObject(document, "world", driver->world);
	add_int_text(document, "started_realtime_ns", INT64_C(1796081559203222831));
	return append_document(driver, NULL, IFP_FRAME_RUN, document);
}

static int store(struct driver *driver, const char *archive, char **files)
{
	int err = ifp_archive_writer_open(archive, true, &driver->archive);

	if (!err)
		err = store_run_document(driver);
	for (uint32_t rank = 0; rank < driver->world && !err; rank++)
		err = store_rank(driver, rank, files[rank]);
	if (err) {
		ifp_archive_writer_abandon(&driver->archive);
		return err;
	}
	return ifp_archive_writer_close(&driver->archive);
}

static void print_result(const struct ifp_run *run, const struct ifp_timeline_result *result)
{
	printf("{\"common_steps\":%u,\"files\":[", result->common_steps);
	for (uint32_t i = 0; i < result->count; i++)
		printf("%s{\"path\":\"%s\",\"bytes\":%" PRIu64 ",\"json_bytes\":%" PRIu64
		       ",\"events\":%" PRIu64 "}",
			i ? "," : "", result->files[i].path, result->files[i].bytes,
			result->files[i].json_bytes, result->files[i].events);
	printf("],\"ledger\":[");
	for (uint32_t i = 0; i < ifp_run_ledger_count(run); i++) {
		const struct ifp_ledger_row *row = ifp_run_ledger(run, i);
		IFP_CLEANUP_BUF struct ifp_buf why = {0};

		ifp_json_escape(&why, ifp_str(row->why));
		printf("%s{\"rank\":%" PRId64 ",\"what\":\"%s\",\"count\":%" PRId64
		       ",\"why\":\"%.*s\"}",
			i ? "," : "",
			row->rank == IFP_FRAME_NO_RANK ? INT64_C(-1) : (int64_t)row->rank,
			row->what, row->count, (int)why.len_bytes, (const char *)why.data);
	}
	printf("]}\n");
}

static int draw(const struct driver *driver, const char *archive)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP(ifp_timeline_result_free) struct ifp_timeline_result result = {0};
	int err = ifp_run_open(archive, &run);

	if (!err)
		err = ifp_timeline_draw(run, driver->output, &driver->wish, &result);
	if (!err)
		print_result(run, &result);
	return err || !result.refused ? err : ifp_fail(-E2BIG, "%s", result.refused);
}

static int usage(void)
{
	fprintf(stderr, "usage: timeline_driver [--windows COUNT] [--unaligned RANK] [--no-marks] "
			"[--budget BYTES] [--ranks-budget BYTES] [--max-ranks-files N] [--first "
			"RANK]... [--formats LIST] OUTPUT FILE...\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"windows", required_argument, NULL, 'w'},
		{"unaligned", required_argument, NULL, 'u'},
		{"no-marks", no_argument, NULL, 'm'},
		{"budget", required_argument, NULL, 'g'},
		{"ranks-budget", required_argument, NULL, 'b'},
		{"max-ranks-files", required_argument, NULL, 'f'},
		{"first", required_argument, NULL, 'r'},
		{"formats", required_argument, NULL, 'F'},
		{0},
	};
	struct driver driver = {.unaligned = -1,
		.marks = true,
		.wish = {.limits = IFP_TIMELINE_LIMITS_DEFAULT, .first_ranks = driver.first_ranks}};
	char archive[4096];
	int c, err;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'g')
			driver.wish.limits.merged_bytes = strtoll(optarg, NULL, 10);
		else if (c == 'b')
			driver.wish.limits.ranks_bytes = strtoll(optarg, NULL, 10);
		else if (c == 'f')
			driver.wish.limits.ranks_files = strtoll(optarg, NULL, 10);
		else if (c == 'F')
			driver.wish.limits.formats = optarg;
		else if (c == 'r' &&
			 driver.wish.first_rank_count < IFP_ARRAY_SIZE(driver.first_ranks))
			driver.first_ranks[driver.wish.first_rank_count++] =
				(uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'w')
			driver.windows = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'u')
			driver.unaligned = strtol(optarg, NULL, 10);
		else if (c == 'm')
			driver.marks = false;
		else
			return usage();
	}
	if (argc - optind < 2)
		return usage();
	driver.output = argv[optind];
	driver.world = (uint32_t)(argc - optind - 1);
	snprintf(archive, sizeof(archive), "%s.ifp", driver.output);
	err = store(&driver, archive, argv + optind + 1);
	if (!err)
		err = draw(&driver, archive);
	if (err) {
		char text[2048];

		fprintf(stderr, "timeline_driver: %s\n", ifp_error_text(text, sizeof(text)));
	}
	return err ? 1 : 0;
}
