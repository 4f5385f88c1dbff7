/* SPDX-License-Identifier: Apache-2.0 */
/* Archives with damage anywhere, and with documents and stamps that no agent would have written. */
#include "collector/report/report.h"
#include "collector/store/run.h"

#include "core/cleanup.h"

#include "make_archive.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Opens the run and loads every rank: the number of events that came, or the error of opening. */
static int64_t open_and_load(void)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	int64_t count = 0;
	int err = ifp_run_open(archive_maker_path, &run);

	ifp_error_clear();
	for (uint32_t i = 0; !err && i < ifp_run_rank_count(run); i++) {
		struct ifp_rank_events events;

		assert_ok(ifp_run_load_events(run, i, &events));
		for (uint64_t e = 1; e < events.count; e++)
			assert_true(events.events[e - 1].start_ns <= events.events[e].start_ns);
		count += (int64_t)events.count;
		ifp_rank_events_free(&events);
	}
	return err ? err : count;
}

static void make_small_run(void)
{
	struct archive_maker maker;

	archive_maker_open(&maker, archive_maker_path, 2);
	maker.ranks[1].host = "host1";
	maker.ranks[1].edge_ns = 2000;
	archive_maker_collective(&maker, "gloo:all_reduce", (int64_t[]){100, 200}, 50);
	archive_maker_steps(&maker, 1, 1000);
	archive_maker_close(&maker);
}

static void a_damaged_byte_anywhere_costs_no_more_than_its_frame(void **state)
{
	IFP_CLEANUP_FD int fd = -1;
	struct stat st;

	(void)state;
	make_small_run();
	assert_int_equal(open_and_load(), 4);
	fd = open(archive_maker_path, O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t at = 16; at < st.st_size; at++) { /* behind the file header */
		uint8_t byte, damaged;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		damaged = byte ^ 0x10;
		assert_int_equal(pwrite(fd, &damaged, 1, at), 1);
		assert_true(open_and_load() >= 2); /* one block of one rank may be lost */
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
}

static void every_cut_opens(void **state)
{
	struct stat st;
	int64_t before = 4;

	(void)state;
	make_small_run();
	assert_int_equal(stat(archive_maker_path, &st), 0);
	for (off_t size = st.st_size - 1; size >= 16; size--) {
		int64_t now;

		assert_int_equal(truncate(archive_maker_path, size), 0);
		now = open_and_load();
		assert_in_range(now, 0, before);
		before = now;
	}
	assert_int_equal(truncate(archive_maker_path, 15), 0);
	assert_int_equal(open_and_load(), -EBADMSG);
}

static void strange_documents_are_survived(void **state)
{
	static const char *const documents[] = {"{}", "{\"world\":-1,\"rank\":\"x\"}",
		"{\"world\":1e300,\"boot_id\":5,\"host\":[],\"child_pid\":"
		"\"99999999999999999999\"}",
		"{\"world\":\"4294967296\",\"time_namespace\":-7,\"rows\":5}",
		"{\"rows\":[5,{},{\"what\":7},{\"what\":\"w\",\"count\":[]}],\"boot_id\":"
		"\"a boot id that is far longer than the forty bytes that a boot id may have\"}"};
	struct archive_maker maker;

	(void)state;
	archive_maker_open(&maker, archive_maker_path, 2);
	archive_maker_steps(&maker, 1, 1000);
	for (size_t i = 0; i < IFP_ARRAY_SIZE(documents); i++)
		for (enum ifp_frame_type type = IFP_FRAME_RUN; type < IFP_FRAME_INDEX; type++)
			archive_maker_document(&maker, type, i % 2, documents[i]);
	archive_maker_close(&maker);
	assert_int_equal(open_and_load(), 2);
}

/* Stamps at the ends of the range, of every clock: placed somewhere, in order, without overflow. */
static void extreme_stamps_are_survived(void **state)
{
	static const int64_t stamps[] = {INT64_MIN, INT64_MIN / 2, -1, 0, INT64_MAX / 2, INT64_MAX};
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_archive_writer *writer = NULL;
	struct ifp_frame frame = {.type = IFP_FRAME_EVENTS, .rank = 1, .sequence = 1000};

	(void)state;
	make_small_run();
	assert_ok(ifp_block_builder_new(&builder));
	for (size_t s = 0; s < IFP_ARRAY_SIZE(stamps); s++)
		for (size_t d = 0; d < IFP_ARRAY_SIZE(stamps); d++)
			for (int clock = 0; clock < IFP_CLOCK_DOMAIN_MAX; clock++)
				assert_ok(ifp_block_builder_add(builder,
					&(struct ifp_event){.clock = (enum ifp_clock_domain)clock,
						.start = stamps[s],
						.dur = stamps[d]}));
	frame.event_count = ifp_block_builder_count(builder);
	assert_ok(ifp_block_builder_encode(builder, &payload));
	frame.payload = payload.data;
	frame.payload_bytes = (uint32_t)payload.len_bytes;
	assert_ok(ifp_archive_writer_open(archive_maker_path, false, &writer));
	assert_ok(ifp_archive_writer_append(writer, &frame, NULL));
	assert_ok(ifp_archive_writer_close(&writer));
	assert_int_equal(open_and_load(), 4 + 6 * 6 * 3);
}

static void append_rows(uint32_t rank, const char *json)
{
	struct ifp_frame frame = {.type = IFP_FRAME_LEDGER,
		.rank = rank,
		.payload = (const uint8_t *)json,
		.payload_bytes = (uint32_t)strlen(json)};
	struct ifp_archive_writer *writer = NULL;

	assert_ok(ifp_archive_writer_open(archive_maker_path, false, &writer));
	assert_ok(ifp_archive_writer_append(writer, &frame, NULL));
	assert_ok(ifp_archive_writer_close(&writer));
}

/* Ranks that no job has would each be looked at, one after the other. */
static void ranks_beyond_any_job_are_left_out(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;

	(void)state;
	make_small_run();
	append_rows(IFP_FRAME_NO_RANK - 1, "{\"rows\":[{\"what\":\"far\",\"count\":1}]}");
	assert_ok(ifp_run_open(archive_maker_path, &run));
	assert_int_equal(ifp_run_rank_count(run), 2);
	assert_int_equal(ifp_run_world(run), 2);
	assert_int_equal(ifp_run_ledger_count(run), 1);
	assert_string_equal(ifp_run_ledger(run, 0)->what, "archive-damaged");
}

static void sums_of_the_ledger_stay_in_range(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP_BUF struct ifp_buf text = {0};

	(void)state;
	make_small_run();
	for (uint32_t rank = 0; rank < 2; rank++)
		append_rows(
			rank, "{\"rows\":[{\"what\":\"w\",\"count\":\"9223372036854775807\"}]}");
	assert_ok(ifp_run_open(archive_maker_path, &run));
	ifp_report_ledger_text(run, &text);
	ifp_buf_append_u8(&text, 0);
	assert_non_null(strstr((const char *)text.data, "w 9223372036854775807, ranks 0, 1"));
}

#define TEST(function)                                                                             \
	cmocka_unit_test_setup_teardown(                                                           \
		function, archive_maker_make_path, archive_maker_remove_path)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_damaged_byte_anywhere_costs_no_more_than_its_frame),
		TEST(every_cut_opens),
		TEST(strange_documents_are_survived),
		TEST(extreme_stamps_are_survived),
		TEST(ranks_beyond_any_job_are_left_out),
		TEST(sums_of_the_ledger_stay_in_range),
	};

	return RUN_TESTS(tests);
}
