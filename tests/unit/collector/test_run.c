/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/store/run.h"

#include "core/cleanup.h"

#include "make_archive.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const struct ifp_ledger_row *find_row(
	const struct ifp_run *run, const char *what, uint32_t rank)
{
	for (uint32_t i = 0; i < ifp_run_ledger_count(run); i++) {
		const struct ifp_ledger_row *row = ifp_run_ledger(run, i);

		if (!strcmp(row->what, what) && row->rank == rank)
			return row;
	}
	return NULL;
}

static void assert_event(
	const struct ifp_timed_event *event, const char *name, int64_t start_ns, int64_t dur_ns)
{
	assert_str(event->event.name, name);
	assert_int_equal(event->start_ns, start_ns);
	assert_int_equal(event->dur_ns, dur_ns);
}

static void a_run_of_one_host_is_read_whole(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct ifp_rank_events events;
	struct archive_maker maker;

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 3);
	archive_maker_collective(&maker, "gloo:all_reduce", (int64_t[]){1000, 1200, 9000}, 50);
	archive_maker_steps(&maker, 1, 10000);
	archive_maker_close(&maker);

	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_int_equal(ifp_run_world(run), 3);
	assert_int_equal(ifp_run_rank_count(run), 3);
	assert_int_equal(ifp_run_ledger_count(run), 0);
	assert_int_equal(ifp_run_base(run).ns, ARCHIVE_MAKER_RAW_NS);
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(ifp_run_document(run), "job")), "test");
	for (uint32_t i = 0; i < 3; i++) {
		const struct ifp_run_rank *rank = ifp_run_rank(run, i);

		assert_int_equal(rank->rank, i);
		assert_string_equal(rank->host, "host0");
		assert_int_equal(rank->pid, 1000 + i);
		assert_int_equal(rank->event_count, 2);
		assert_true(rank->ended);
		assert_int_equal(ifp_clock_map_summary(rank->map).method, IFP_CLOCK_SHARED);
	}
	assert_ok(ifp_run_load_events(run, 1, &events));
	assert_int_equal(events.count, 2);
	assert_event(&events.events[0], "gloo:all_reduce", 1200, 7850);
	assert_event(&events.events[1], "step", 10000, 0);
	assert_int_equal(events.events[1].event.correlation, 1);
	ifp_rank_events_free(&events);
}

/* Also across blocks, whose order in the file is not that of time. */
static void events_come_by_start_and_longer_ones_first(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct ifp_rank_events events;
	struct archive_maker maker;

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 1);
	archive_maker_slice(&maker, 0, "cpu_op", "inner", 1, 500, 10);
	archive_maker_slice(&maker, 0, "cpu_op", "last", 1, 700, 5);
	archive_maker_flush(&maker, 0);
	archive_maker_slice(&maker, 0, "cpu_op", "outer", 1, 500, 100);
	archive_maker_slice(&maker, 0, "cpu_op", "first", 1, 400, 1);
	archive_maker_slice(&maker, 0, "cpu_op", "inner again", 1, 500, 10);
	archive_maker_close(&maker);

	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_int_equal(ifp_run_rank(run, 0)->event_count, 5);
	assert_ok(ifp_run_load_events(run, 0, &events));
	assert_int_equal(events.count, 5);
	assert_event(&events.events[0], "first", 400, 1);
	assert_event(&events.events[1], "outer", 500, 100);
	assert_event(&events.events[2], "inner", 500, 10);
	assert_event(&events.events[3], "inner again", 500, 10);
	assert_event(&events.events[4], "last", 700, 5);
	ifp_rank_events_free(&events);
}

/* Two hosts whose clocks are a day apart: after the exchange their events line up. */
static void ranks_of_two_hosts_are_aligned(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct archive_maker maker;

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 2);
	maker.ranks[1].host = "host1";
	maker.ranks[1].raw_offset_ns = INT64_C(86400) * IFP_NS_PER_S;
	maker.ranks[1].edge_ns = 3000;
	archive_maker_steps(&maker, 1, 2 * IFP_NS_PER_S);
	archive_maker_close(&maker);

	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_int_equal(ifp_run_ledger_count(run), 0);
	assert_int_equal(
		ifp_clock_map_summary(ifp_run_rank(run, 1)->map).method, IFP_CLOCK_EXCHANGED);
	for (uint32_t i = 0; i < 2; i++) {
		struct ifp_rank_events events;

		assert_ok(ifp_run_load_events(run, i, &events));
		assert_int_equal(events.count, 1);
		assert_in_range(events.events[0].start_ns, 2 * IFP_NS_PER_S - 3000,
			2 * IFP_NS_PER_S + 3000);
		ifp_rank_events_free(&events);
	}
}

/* A third exchange, a thousand seconds later, between clocks that have moved apart meanwhile. */
static void append_exchange(int64_t moved_ns)
{
	const int64_t later_ns = 1000 * INT64_C(1000000000), half_ns = 3000;
	const int64_t stamp_ns = ARCHIVE_MAKER_RAW_NS + later_ns;
	struct ifp_clock_edge edge = {.epoch = 2,
		.client = 1,
		.round_trips = 8,
		.low_ns = moved_ns - half_ns,
		.high_ns = moved_ns + half_ns,
		.best_t1_ns = stamp_ns,
		.best_t2_ns = stamp_ns + moved_ns + half_ns,
		.best_t3_ns = stamp_ns + moved_ns + half_ns,
		.best_t4_ns = stamp_ns + 2 * half_ns};
	struct ifp_clock_samples samples = {.edges = &edge, .edge_count = 1};
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_archive_writer *writer = NULL;
	struct ifp_frame frame = {.type = IFP_FRAME_CLOCK, .rank = 1};

	ifp_clock_samples_encode(&samples, &payload);
	frame.payload = payload.data;
	frame.payload_bytes = (uint32_t)payload.len_bytes;
	assert_ok(ifp_archive_writer_open(archive_maker_path, false, &writer));
	assert_ok(ifp_archive_writer_append(writer, &frame, NULL));
	assert_ok(ifp_archive_writer_close(&writer));
}

static void a_run_tells_which_drift_its_bounds_allow_for(void **state)
{
	static const struct {
		int64_t moved_ns, least_ppm, most_ppm;
	} cases[] = {{1000000, 50, 50}, {200000000, 250, 251}}; /* 1 ppm; 200 ppm, and 50 */

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
		struct archive_maker maker;

		assert_int_equal(truncate(archive_maker_path, 0), 0);
		archive_maker_open(&maker, archive_maker_path, 2);
		maker.ranks[1].host = "host1";
		maker.ranks[1].edge_ns = 3000;
		archive_maker_steps(&maker, 1, 1000);
		archive_maker_close(&maker);
		append_exchange(cases[i].moved_ns);
		assert_ok(ifp_run_open(archive_maker_path, &run));
		assert_in_range(ifp_run_drift_ppm(run), cases[i].least_ppm, cases[i].most_ppm);
	}
}

static void a_rank_that_was_never_measured_is_placed_by_wall_clock(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct ifp_rank_events events;
	struct archive_maker maker;

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 2);
	maker.ranks[1].host = "host1";
	maker.ranks[1].raw_offset_ns = INT64_C(-4000) * IFP_NS_PER_S;
	archive_maker_steps(&maker, 1, 123456);
	archive_maker_close(&maker);

	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_non_null(find_row(run, "clock-unaligned", 1));
	assert_int_equal(find_row(run, "clock-unaligned", 1)->count, 1);
	assert_null(find_row(run, "clock-unaligned", 0));
	assert_ok(ifp_run_load_events(run, 1, &events));
	assert_int_equal(events.count, 1);
	assert_event(&events.events[0], "step", 123456, 0);
	ifp_rank_events_free(&events);
}

static void a_rank_without_clock_readings_cannot_be_placed(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct ifp_rank_events events;
	struct archive_maker maker;

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 2);
	maker.ranks[1].no_tuples = true;
	archive_maker_steps(&maker, 1, 100);
	archive_maker_close(&maker);

	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_null(ifp_run_rank(run, 1)->map);
	assert_int_equal(ifp_run_rank(run, 1)->event_count, 1);
	assert_int_equal(find_row(run, "clock-missing", 1)->count, 1);
	assert_ok(ifp_run_load_events(run, 1, &events));
	assert_int_equal(events.count, 0);
	ifp_rank_events_free(&events);
}

static void ranks_that_are_missing_and_running_are_told(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct archive_maker maker;

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 4);
	maker.ranks[1].absent = true;
	maker.ranks[2].no_end = true;
	archive_maker_steps(&maker, 1, 100);
	/* What the collector says of a rank that never came does not make it present. */
	archive_maker_document(&maker, IFP_FRAME_END, 1, "{\"how\":\"not-started\"}");
	archive_maker_close(&maker);

	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_int_equal(ifp_run_world(run), 4);
	assert_int_equal(ifp_run_rank_count(run), 3);
	assert_int_equal(ifp_run_rank(run, 1)->rank, 2);
	assert_false(ifp_run_rank(run, 1)->ended);
	assert_true(ifp_run_rank(run, 2)->ended);
	assert_int_equal(ifp_run_ledger_count(run), 1);
	assert_non_null(find_row(run, "rank-missing", 1));
}

static void documents_of_ledger_and_windows_are_read(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	const struct ifp_ledger_row *row;
	struct archive_maker maker;
	char what[] = "timeline-left-out";

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 1);
	archive_maker_steps(&maker, 1, 100);
	archive_maker_document(&maker, IFP_FRAME_LEDGER, 0,
		"{\"rows\":[{\"what\":\"marks-dropped\",\"count\":\"12\",\"why\":\"full\"},"
		"{\"what\":\"names-cut\",\"count\":3}]}");
	archive_maker_document(
		&maker, IFP_FRAME_WINDOW, 0, "{\"window\":0,\"outcome\":\"recorded\"}");
	archive_maker_close(&maker);

	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_int_equal(ifp_run_ledger_count(run), 2);
	row = ifp_run_ledger(run, 0);
	assert_string_equal(row->what, "marks-dropped");
	assert_int_equal(row->count, 12);
	assert_string_equal(row->why, "full");
	assert_int_equal(ifp_run_ledger(run, 1)->count, 3);
	assert_int_equal(ifp_run_window_count(run), 1);
	assert_int_equal(ifp_run_window(run, 0)->rank, 0);
	assert_ok(ifp_run_ledger_add(run, &(struct ifp_ledger_row){0, what, 5, "no room"}));
	what[0] = 'x'; /* the run has a copy */
	assert_string_equal(ifp_run_ledger(run, 2)->what, "timeline-left-out");
	assert_string_equal(row->what, "marks-dropped");
}

/* The lost frame may be there again: the last word of a rank is the one that holds. */
static void a_rank_that_came_back_has_its_last_end(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct archive_maker maker;

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 1);
	archive_maker_steps(&maker, 1, 100);
	archive_maker_document(&maker, IFP_FRAME_END, 0, "{\"how\":\"lost\"}");
	archive_maker_close(&maker);

	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(ifp_run_rank(run, 0)->end, "how")),
		"exited");
}

/* Puts the whole file behind itself: every frame is there twice. */
static void frames_that_are_there_twice_count_once(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP_FREE uint8_t *bytes = NULL;
	IFP_CLEANUP_FD int fd = -1;
	struct ifp_rank_events events;
	struct archive_maker maker;
	struct stat st;

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 1);
	archive_maker_steps(&maker, 1, 100);
	archive_maker_steps(&maker, 2, 200);
	archive_maker_close(&maker);
	fd = open(archive_maker_path, O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	assert_int_equal(pwrite(fd, bytes, (size_t)st.st_size, st.st_size), st.st_size);

	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_int_equal(ifp_run_rank(run, 0)->event_count, 2);
	assert_ok(ifp_run_load_events(run, 0, &events));
	assert_int_equal(events.count, 2);
	ifp_rank_events_free(&events);
}

/* Finds the frame of the given type by its header, and damages its first byte of payload. */
static void damage_frame(enum ifp_frame_type type, bool cut_index)
{
	IFP_CLEANUP_FD int fd = open(archive_maker_path, O_RDWR);
	uint8_t bytes[65536];
	ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
	size_t at = 16;

	while (at < (size_t)size) {
		struct ifp_frame frame;
		size_t used;

		assert_ok(ifp_frame_decode(bytes + at, (size_t)size - at, &frame, &used));
		if (frame.type == type) {
			bytes[at + IFP_FRAME_HEADER_BYTES] ^= 1;
			assert_int_equal(pwrite(fd, bytes, (size_t)size, 0), size);
			type = IFP_FRAME_TYPE_MAX;
		}
		if (frame.type == IFP_FRAME_INDEX && cut_index)
			assert_int_equal(ftruncate(fd, (off_t)at), 0);
		at += used;
	}
	assert_int_equal(type, IFP_FRAME_TYPE_MAX);
}

static void make_two_ranks(void)
{
	struct archive_maker maker;

	archive_maker_open(&maker, archive_maker_path, 2);
	archive_maker_steps(&maker, 1, 100);
	archive_maker_close(&maker);
}

static void a_damaged_block_is_left_out_and_told_once(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct ifp_rank_events events;

	(void)state;
	make_two_ranks();
	damage_frame(IFP_FRAME_EVENTS, false);
	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_int_equal(ifp_run_ledger_count(run), 0); /* the index knows nothing of it yet */
	for (int i = 0; i < 2; i++) {
		assert_ok(ifp_run_load_events(run, 0, &events));
		assert_int_equal(events.count, 0);
		ifp_rank_events_free(&events);
	}
	assert_int_equal(ifp_run_ledger_count(run), 1);
	assert_int_equal(find_row(run, "archive-damaged", 0)->count, 1);
	assert_int_equal(ifp_run_damage(run).damaged_frames, 1);
	assert_ok(ifp_run_load_events(run, 1, &events));
	assert_int_equal(events.count, 1);
	ifp_rank_events_free(&events);
}

static void a_scan_tells_which_rank_lacks_frames(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;

	(void)state;
	make_two_ranks();
	damage_frame(IFP_FRAME_EVENTS, true);
	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_true(ifp_run_damage(run).index_missing);
	assert_int_equal(find_row(run, "archive-damaged", IFP_FRAME_NO_RANK)->count, 1);
	assert_int_equal(find_row(run, "frames-missing", 0)->count, 1);
	assert_null(find_row(run, "frames-missing", 1));
	assert_int_equal(ifp_run_rank(run, 0)->event_count, 0);
	assert_int_equal(ifp_run_rank(run, 1)->event_count, 1);
}

static void without_its_documents_a_run_still_opens(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;

	(void)state;
	make_two_ranks();
	damage_frame(IFP_FRAME_RUN, true);
	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_null(ifp_run_document(run));
	assert_int_equal(ifp_run_world(run), 2); /* the ranks say it, too */
	assert_non_null(find_row(run, "archive-damaged", IFP_FRAME_NO_RANK));
}

static void documents_that_are_none_are_counted(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	struct archive_maker maker;

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 1);
	archive_maker_document(&maker, IFP_FRAME_LEDGER, 0, "{\"rows\":");
	archive_maker_document(&maker, IFP_FRAME_WINDOW, 0, "[]");
	archive_maker_document(&maker, IFP_FRAME_CLOCK, 0, "no samples");
	archive_maker_steps(&maker, 1, 100);
	archive_maker_close(&maker);
	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_int_equal(find_row(run, "archive-damaged", IFP_FRAME_NO_RANK)->count, 3);
	assert_int_equal(ifp_run_window_count(run), 0);
}

static void what_is_no_archive_is_refused(void **state)
{
	struct ifp_run *run = NULL;

	(void)state;
	assert_int_equal(ifp_run_open(archive_maker_path, &run), -EBADMSG);
	assert_int_equal(ifp_run_open("/tmp/infprof-no-such-file", &run), -ENOENT);
	assert_null(run);
}

#define TEST(function)                                                                             \
	cmocka_unit_test_setup_teardown(                                                           \
		function, archive_maker_make_path, archive_maker_remove_path)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_run_of_one_host_is_read_whole),
		TEST(events_come_by_start_and_longer_ones_first),
		TEST(ranks_of_two_hosts_are_aligned),
		TEST(a_run_tells_which_drift_its_bounds_allow_for),
		TEST(a_rank_that_was_never_measured_is_placed_by_wall_clock),
		TEST(a_rank_without_clock_readings_cannot_be_placed),
		TEST(ranks_that_are_missing_and_running_are_told),
		TEST(documents_of_ledger_and_windows_are_read),
		TEST(a_rank_that_came_back_has_its_last_end),
		TEST(frames_that_are_there_twice_count_once),
		TEST(a_damaged_block_is_left_out_and_told_once),
		TEST(a_scan_tells_which_rank_lacks_frames),
		TEST(without_its_documents_a_run_still_opens),
		TEST(documents_that_are_none_are_counted),
		TEST(what_is_no_archive_is_refused),
	};

	return RUN_TESTS(tests);
}
