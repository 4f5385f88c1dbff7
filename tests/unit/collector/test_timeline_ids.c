/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids in the merged timeline, whatever the ranks call theirs: made-up runs whose ranks share
 * process and thread ids, flow ids and correlations, among them huge, negative and textual ones.
 * In what is drawn nothing of two ranks meets, and every arrow joins the two slices that it is of.
 */
#include "collector/timeline/picture.h"
#include "collector/timeline/sink_chrome.h"

#include "core/buf.h"
#include "core/cleanup.h"
#include "make_archive.h"
#include "test.h"
#include "trace/chrome/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RUNS 40u
#define RANKS 5u
#define SLICES 60u /* of a rank */
#define FLOWS 25u  /* of a rank */
#define SLOT_NS INT64_C(10000)
#define FIRST_OF_RANK_PID 1000

/* Numbers that double, int32_t or a sign do not survive, and some that all ranks will use. */
static const int64_t numbers[] = {0, 1, 7, -1, 1000, 1002, INT64_C(1) << 31, INT64_C(1) << 53,
	(INT64_C(1) << 53) + 1, -(INT64_C(1) << 40), INT64_MAX, INT64_MIN};
static const char *const texts[] = {"\"Spans\"", "\"1\"", "\"\"", "\"\\u00e9\"", "1.5", "null"};

struct slice {
	struct ifp_lane lane;
	uint64_t correlation;
	bool drawn;
	int64_t pid, tid, start_ns; /* as drawn */
};

struct flow {
	uint32_t from, to;
	bool drawn;
};

struct rank {
	struct slice slices[SLICES];
	struct flow flows[FLOWS];
};

struct job {
	struct rank ranks[RANKS];
	uint64_t seed;
};

/* xorshift64: the same runs on every machine. */
static uint64_t random_below(uint64_t *seed, uint64_t limit)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % limit;
}

static int64_t random_number(uint64_t *seed)
{
	if (random_below(seed, 4))
		return numbers[random_below(seed, IFP_ARRAY_SIZE(numbers))];
	return (int64_t)random_below(seed, UINT64_MAX);
}

static void random_place(uint64_t *seed, int64_t *number, struct ifp_str *text)
{
	if (random_below(seed, 4))
		*number = random_number(seed);
	else
		*text = ifp_str(texts[random_below(seed, IFP_ARRAY_SIZE(texts))]);
}

static struct ifp_lane random_lane(uint64_t *seed)
{
	struct ifp_lane lane = {.kind = IFP_LANE_THREAD};

	random_place(seed, &lane.pid, &lane.pid_text);
	random_place(seed, &lane.tid, &lane.tid_text);
	if (lane.pid_text.len_bytes || lane.tid_text.len_bytes)
		lane.kind = IFP_LANE_OTHER;
	else if (!random_below(seed, 4))
		lane.kind = IFP_LANE_STREAM;
	return lane;
}

static bool same_lane(const struct ifp_lane *a, const struct ifp_lane *b)
{
	return a->kind == b->kind && a->pid == b->pid && a->tid == b->tid &&
	       ifp_str_equal(a->pid_text, b->pid_text) && ifp_str_equal(a->tid_text, b->tid_text);
}

/* The slices of a rank follow each other; each has its number in its name. */
static void add_slice(struct archive_maker *maker, uint32_t rank, uint32_t i, struct slice *slice)
{
	char name[32], args[48];

	snprintf(name, sizeof(name), "%" PRIu32 "/%" PRIu32, rank, i);
	snprintf(args, sizeof(args), "{\"correlation\":%" PRIu64 "}", slice->correlation);
	archive_maker_event(maker, rank,
		&(struct ifp_event){.kind = IFP_EVENT_SLICE,
			.source = IFP_SOURCE_KINETO,
			.clock = IFP_CLOCK_REALTIME,
			.start = i * SLOT_NS,
			.dur = SLOT_NS / 2,
			.correlation = slice->correlation,
			.lane = slice->lane,
			.name = ifp_str(name),
			.category = ifp_str("cpu_op"),
			.args = ifp_str(args)});
}

static void add_half(struct archive_maker *maker, uint32_t rank, enum ifp_event_kind kind,
	uint64_t id, uint32_t slice, const struct rank *of)
{
	archive_maker_event(maker, rank,
		&(struct ifp_event){.kind = kind,
			.source = IFP_SOURCE_KINETO,
			.clock = IFP_CLOCK_REALTIME,
			.start = slice * SLOT_NS + SLOT_NS / 4,
			.correlation = id,
			.lane = of->slices[slice].lane,
			.name = ifp_str("arrow"),
			.category = ifp_str("ac2g")});
}

/* The first ones are the same on all ranks; no two of a rank are equal. */
static uint64_t flow_id(uint64_t seed, uint32_t flow)
{
	return flow < IFP_ARRAY_SIZE(numbers) ? (uint64_t)numbers[flow] : seed + flow;
}

static void make_rank(struct archive_maker *maker, uint32_t number, struct job *job)
{
	struct rank *rank = &job->ranks[number];
	uint64_t ids = job->seed;

	for (uint32_t i = 0; i < SLICES; i++) {
		rank->slices[i].lane = random_lane(&job->seed);
		rank->slices[i].correlation = (uint64_t)random_number(&job->seed);
		add_slice(maker, number, i, &rank->slices[i]);
	}
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct flow *flow = &rank->flows[i];

		flow->from = (uint32_t)random_below(&job->seed, SLICES - 1);
		flow->to = flow->from + 1 +
			   (uint32_t)random_below(&job->seed, SLICES - 1 - flow->from);
		add_half(maker, number, IFP_EVENT_FLOW_START, flow_id(ids, i), flow->from, rank);
		add_half(maker, number, IFP_EVENT_FLOW_END, flow_id(ids, i), flow->to, rank);
	}
}

static void draw(const char *archive, const char *path)
{
	struct ifp_timeline_result result = {0};
	struct ifp_run *run = NULL;
	struct ifp_sink *sink;

	assert_ok(ifp_run_open(archive, &run));
	assert_ok(ifp_sink_chrome_open(path, run, &(struct ifp_budget){0}, &sink));
	assert_ok(ifp_picture_draw(run, sink));
	assert_ok(sink->ops->close(sink, &result));
	ifp_run_close(&run);
	ifp_timeline_result_free(&result);
}

static void read_slice(struct job *job, const struct ifp_event *event)
{
	uint32_t rank, i;
	struct slice *slice;
	int64_t correlation;
	char name[32];

	snprintf(name, sizeof(name), IFP_STR_FORMAT, IFP_STR_ARGS(event->name));
	if (sscanf(name, "%" SCNu32 "/%" SCNu32, &rank, &i) != 2)
		return; /* the whole of a run without steps */
	assert_in_range(rank, 0, RANKS - 1);
	assert_in_range(i, 0, SLICES - 1);
	slice = &job->ranks[rank].slices[i];
	assert_false(slice->drawn);
	slice->drawn = true;
	slice->pid = event->lane.pid;
	slice->tid = event->lane.tid;
	slice->start_ns = event->start;
	if (ifp_args_find_int(event->args, "correlation", &correlation))
		assert_int_equal(correlation, slice->correlation);
	else
		assert_true(slice->correlation > INT64_MAX);
}

/* Which slice begins exactly where a half of an arrow is; there must be one, of that rank. */
static uint32_t slice_at(const struct rank *rank, const struct ifp_event *event)
{
	for (uint32_t i = 0; i < SLICES; i++) {
		const struct slice *slice = &rank->slices[i];

		if (slice->pid == event->lane.pid && slice->tid == event->lane.tid &&
			slice->start_ns == event->start)
			return i;
	}
	fail_msg("half of arrow %" PRIu64 " begins at no slice", event->correlation);
	return 0;
}

struct half {
	uint64_t id;
	uint32_t rank, from, to;
	bool has_from, has_to;
};

/* Halves with one id become one arrow; two of one kind never share an id. */
static void join(
	struct half *halves, uint32_t *count, const struct job *job, const struct ifp_event *event)
{
	uint32_t rank = (uint32_t)(event->lane.pid - FIRST_OF_RANK_PID) / 2;
	struct half *half = halves;
	uint32_t slice;

	assert_in_range(rank, 0, RANKS - 1);
	assert_true(event->correlation < UINT64_C(1) << 53);
	slice = slice_at(&job->ranks[rank], event);
	while (half < halves + *count && half->id != event->correlation)
		half++;
	if (half == halves + *count) {
		assert_in_range(++*count, 1, RANKS * FLOWS);
		*half = (struct half){.id = event->correlation, .rank = rank};
	}
	assert_int_equal(half->rank, rank);
	if (event->kind == IFP_EVENT_FLOW_START) {
		assert_false(half->has_from);
		half->has_from = true;
		half->from = slice;
	} else {
		assert_false(half->has_to);
		half->has_to = true;
		half->to = slice;
	}
}

/* Each arrow that was drawn is taken for one that was recorded, and none is left. */
static void check_flows(struct job *job, const struct half *halves, uint32_t count)
{
	assert_int_equal(count, RANKS * FLOWS);
	for (uint32_t i = 0; i < count; i++) {
		const struct half *half = &halves[i];
		struct flow *flow = job->ranks[half->rank].flows;
		struct flow *end = flow + FLOWS;

		assert_true(half->has_from && half->has_to);
		while (flow < end &&
			(flow->drawn || flow->from != half->from || flow->to != half->to))
			flow++;
		if (flow == end)
			fail_msg("rank %" PRIu32 " has no arrow from slice %" PRIu32 " to %" PRIu32,
				half->rank, half->from, half->to);
		flow->drawn = true;
	}
}

/* Ranks have a pid each; lanes of a rank have tids of their own. */
static void check_lanes(const struct job *job)
{
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		const struct slice *slices = job->ranks[rank].slices;

		for (uint32_t i = 0; i < SLICES; i++) {
			assert_true(slices[i].drawn);
			assert_int_equal(slices[i].pid, FIRST_OF_RANK_PID + 2 * (int64_t)rank);
			for (uint32_t k = 0; k < i; k++)
				assert_int_equal(slices[i].tid == slices[k].tid,
					same_lane(&slices[i].lane, &slices[k].lane));
		}
	}
}

static void read_back(const char *path, struct job *job)
{
	for (unsigned int arrows = 0; arrows < 2; arrows++) {
		struct half halves[RANKS * FLOWS];
		struct ifp_chrome_reader *reader = NULL;
		struct ifp_event event;
		uint32_t count = 0;
		int more;

		assert_ok(ifp_chrome_reader_open(path, &reader));
		while ((more = ifp_chrome_reader_next(reader, &event)) > 0) {
			bool half = event.kind == IFP_EVENT_FLOW_START ||
				    event.kind == IFP_EVENT_FLOW_END;

			if (!arrows && event.kind == IFP_EVENT_SLICE)
				read_slice(job, &event);
			else if (arrows && half)
				join(halves, &count, job, &event);
		}
		assert_ok(more);
		if (arrows)
			check_flows(job, halves, count);
		ifp_chrome_reader_close(&reader);
	}
}

static void ids_of_two_ranks_never_meet(void **state)
{
	char folder[] = "/tmp/infprof-test-XXXXXX";
	char archive[64], timeline[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(archive, sizeof(archive), "%s/run.ifp", folder);
	snprintf(timeline, sizeof(timeline), "%s/all.json", folder);
	for (uint64_t run = 1; run <= RUNS; run++) {
		IFP_CLEANUP_FREE struct job *job = calloc(1, sizeof(*job));
		struct archive_maker maker;

		assert_non_null(job);
		job->seed = run * UINT64_C(0x9e3779b97f4a7c15);
		archive_maker_open(&maker, archive, RANKS);
		for (uint32_t rank = 0; rank < RANKS; rank++)
			make_rank(&maker, rank, job);
		archive_maker_close(&maker);
		draw(archive, timeline);
		read_back(timeline, job);
		check_lanes(job);
		assert_ok(unlink(archive) || unlink(timeline));
	}
	assert_ok(rmdir(folder));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_of_two_ranks_never_meet),
	};

	return RUN_TESTS(tests);
}
