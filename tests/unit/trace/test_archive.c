/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/archive.h"

#include "core/cleanup.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define FILE_HEADER_BYTES 16u
#define FRAMES 5u

static char path[64];

static int make_path(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/infprof-archive-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 || close(fd) || unlink(path) ? -1 : 0;
}

static int remove_file(void **state)
{
	(void)state;
	ifp_error_clear();
	return unlink(path) && errno != ENOENT ? -1 : 0;
}

/* Frame i of the tests: payloads of 0, 3, 6, ... bytes of rank i % 2. */
static struct ifp_frame make_frame(uint32_t i)
{
	static const uint8_t bytes[] = "abcdefghijklmnopqrstuvwxyz";

	return (struct ifp_frame){.type = IFP_FRAME_EVENTS,
		.rank = i % 2,
		.sequence = 1 + i / 2,
		.event_count = i,
		.payload = bytes,
		.payload_bytes = 3 * i};
}

static size_t frame_offset(uint32_t i)
{
	size_t offset = FILE_HEADER_BYTES;

	for (uint32_t before = 0; before < i; before++)
		offset += IFP_FRAME_HEADER_BYTES + make_frame(before).payload_bytes;
	return offset;
}

static void write_archive(bool with_index)
{
	struct ifp_archive_writer *writer = NULL;

	assert_ok(ifp_archive_writer_open(path, false, &writer));
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct ifp_frame frame = make_frame(i);

		assert_ok(ifp_archive_writer_append(writer, &frame, NULL));
	}
	if (with_index)
		assert_ok(ifp_archive_writer_close(&writer));
	else
		ifp_archive_writer_abandon(&writer);
	assert_null(writer);
}

static size_t file_size(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (size_t)st.st_size;
}

static void flip(size_t offset, uint8_t mask)
{
	IFP_CLEANUP_FD int fd = open(path, O_RDWR);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= mask;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
}

static void append_bytes(const char *bytes)
{
	IFP_CLEANUP_FD int fd = open(path, O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
}

static void assert_frame_loads(struct ifp_archive_reader *reader, uint64_t at, uint32_t expected)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	const struct ifp_frame want = make_frame(expected);
	struct ifp_frame frame;

	assert_ok(ifp_archive_reader_load(reader, at, &buf, &frame));
	assert_int_equal(frame.type, want.type);
	assert_int_equal(frame.rank, want.rank);
	assert_int_equal(frame.sequence, want.sequence);
	assert_int_equal(frame.event_count, want.event_count);
	assert_int_equal(frame.payload_bytes, want.payload_bytes);
	assert_memory_equal(frame.payload, want.payload, want.payload_bytes);
}

/* Opens the archive and expects frames 0 to count - 1, without the one numbered but. */
static struct ifp_archive_damage assert_frames_but(uint32_t count, uint32_t but)
{
	IFP_CLEANUP(ifp_archive_reader_close) struct ifp_archive_reader *reader = NULL;
	uint64_t at = 0;

	assert_ok(ifp_archive_reader_open(path, &reader));
	assert_int_equal(ifp_archive_reader_count(reader), but < count ? count - 1 : count);
	for (uint32_t i = 0; i < count; i++) {
		if (i != but)
			assert_frame_loads(reader, at++, i);
	}
	return ifp_archive_reader_damage(reader);
}

static void frames_come_back(void **state)
{
	struct ifp_archive_damage damage;

	(void)state;
	write_archive(true);
	damage = assert_frames_but(FRAMES, FRAMES);
	assert_false(damage.index_missing);
	assert_int_equal(damage.damaged_frames, 0);
	assert_int_equal(damage.damaged_bytes, 0);
}

static void an_archive_without_index_is_scanned(void **state)
{
	struct ifp_archive_damage damage;

	(void)state;
	write_archive(false);
	damage = assert_frames_but(FRAMES, FRAMES);
	assert_true(damage.index_missing);
	assert_int_equal(damage.damaged_bytes, 0);
}

/* Cut after any byte: all frames that end before are read, and the writer goes on behind them. */
static void every_cut_keeps_the_frames_before_it(void **state)
{
	size_t size;

	(void)state;
	write_archive(true);
	size = file_size();
	for (size_t cut = size - 1; cut >= FILE_HEADER_BYTES; cut--) {
		struct ifp_archive_writer *writer = NULL;
		uint32_t whole = FRAMES;

		unlink(path);
		write_archive(true);
		assert_int_equal(truncate(path, (off_t)cut), 0);
		while (frame_offset(whole) > cut)
			whole--;
		assert_int_equal(assert_frames_but(whole, FRAMES).index_missing, true);
		assert_ok(ifp_archive_writer_open(path, false, &writer));
		assert_int_equal(ifp_archive_writer_frame_count(writer), whole);
		assert_int_equal(file_size(), frame_offset(whole));
		ifp_archive_writer_abandon(&writer);
		write_archive(true);
		assert_int_equal(assert_frames_but(FRAMES, FRAMES).damaged_bytes, 0);
		assert_int_equal(file_size(), size);
	}
}

static void a_cut_file_header_is_no_archive_and_is_written_again(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < FILE_HEADER_BYTES; cut++) {
		struct ifp_archive_reader *reader = NULL;

		write_archive(true);
		assert_int_equal(truncate(path, (off_t)cut), 0);
		assert_int_equal(ifp_archive_reader_open(path, &reader), -EBADMSG);
		assert_null(reader);
		write_archive(true);
		assert_frames_but(FRAMES, FRAMES);
		unlink(path);
	}
}

/* Without an index, one damaged byte costs the frame it lies in and no other. */
static void every_damaged_byte_costs_one_frame(void **state)
{
	size_t size;

	(void)state;
	write_archive(false);
	size = file_size();
	for (size_t at = FILE_HEADER_BYTES; at < size; at++) {
		struct ifp_archive_damage damage;
		uint32_t hit = 0;

		while (hit + 1 < FRAMES && frame_offset(hit + 1) <= at)
			hit++;
		flip(at, 0x40);
		damage = assert_frames_but(FRAMES, hit);
		assert_int_equal(damage.damaged_frames, 1);
		assert_int_equal(damage.damaged_bytes, frame_offset(hit + 1) - frame_offset(hit));
		flip(at, 0x40);
	}
}

/* With an index, damage is found when the frame is loaded, and counted once. */
static void damage_under_an_index_is_found_on_loading(void **state)
{
	IFP_CLEANUP(ifp_archive_reader_close) struct ifp_archive_reader *reader = NULL;
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_frame frame;

	(void)state;
	write_archive(true);
	flip(frame_offset(3) + IFP_FRAME_HEADER_BYTES, 1);
	assert_ok(ifp_archive_reader_open(path, &reader));
	assert_int_equal(ifp_archive_reader_count(reader), FRAMES);
	assert_int_equal(ifp_archive_reader_damage(reader).damaged_frames, 0);
	assert_int_equal(ifp_archive_reader_load(reader, 3, &buf, &frame), -EBADMSG);
	assert_int_equal(ifp_archive_reader_load(reader, 3, &buf, &frame), -EBADMSG);
	assert_int_equal(ifp_archive_reader_damage(reader).damaged_frames, 1);
	assert_int_equal(ifp_archive_reader_damage(reader).damaged_bytes,
		IFP_FRAME_HEADER_BYTES + make_frame(3).payload_bytes);
	assert_frame_loads(reader, 4, 4);
}

/* Any damaged byte of the index: the frames are found by scanning instead. */
static void a_damaged_index_costs_nothing(void **state)
{
	(void)state;
	write_archive(true);
	for (size_t at = frame_offset(FRAMES); at < file_size(); at++) {
		flip(at, 0x01);
		assert_true(assert_frames_but(FRAMES, FRAMES).index_missing);
		flip(at, 0x01);
	}
}

static void the_writer_goes_on_behind_damage(void **state)
{
	IFP_CLEANUP(ifp_archive_reader_close) struct ifp_archive_reader *reader = NULL;
	struct ifp_archive_writer *writer = NULL;
	struct ifp_archive_damage damage;
	bool duplicate = true;
	struct ifp_frame frame = make_frame(1);

	(void)state;
	write_archive(true);
	flip(frame_offset(1) + 5, 0xff);
	append_bytes("bytes that are no frame");
	assert_ok(ifp_archive_writer_open(path, false, &writer));
	assert_int_equal(ifp_archive_writer_frame_count(writer), FRAMES - 1);
	/* The sequence number of the damaged frame is missing, so it may come again. */
	assert_int_equal(ifp_archive_writer_last_sequence(writer, 1), 0);
	assert_ok(ifp_archive_writer_append(writer, &frame, &duplicate));
	assert_false(duplicate);
	assert_int_equal(ifp_archive_writer_last_sequence(writer, 1), 2);
	assert_ok(ifp_archive_writer_close(&writer));
	/* The order is now 0, 2, 3, 4, 1, and the damaged stretch is known from the index. */
	assert_ok(ifp_archive_reader_open(path, &reader));
	assert_int_equal(ifp_archive_reader_count(reader), FRAMES);
	assert_frame_loads(reader, 1, 2);
	assert_frame_loads(reader, FRAMES - 1, 1);
	damage = ifp_archive_reader_damage(reader);
	assert_false(damage.index_missing);
	assert_int_equal(damage.damaged_frames, 1);
	assert_int_equal(damage.damaged_bytes, frame_offset(2) - frame_offset(1));
}

static void duplicates_are_left_out_also_after_opening_again(void **state)
{
	struct ifp_archive_writer *writer = NULL;
	struct ifp_frame frame = make_frame(2), of_collector = make_frame(0);
	bool duplicate = false;

	(void)state;
	write_archive(true);
	assert_ok(ifp_archive_writer_open(path, false, &writer));
	assert_ok(ifp_archive_writer_append(writer, &frame, &duplicate));
	assert_true(duplicate);
	assert_int_equal(ifp_archive_writer_frame_count(writer), FRAMES);
	of_collector.sequence = 0; /* has no number: never a duplicate */
	for (int i = 0; i < 2; i++) {
		assert_ok(ifp_archive_writer_append(writer, &of_collector, &duplicate));
		assert_false(duplicate);
	}
	assert_int_equal(ifp_archive_writer_frame_count(writer), FRAMES + 2);
	assert_ok(ifp_archive_writer_close(&writer));
}

static void last_sequence_has_no_gap_before_it(void **state)
{
	static const uint64_t order[] = {2, 5, 1, 4, 3, 7};
	static const uint64_t expected[] = {0, 0, 2, 2, 5, 5};
	struct ifp_archive_writer *writer = NULL;

	(void)state;
	assert_ok(ifp_archive_writer_open(path, true, &writer));
	for (size_t i = 0; i < IFP_ARRAY_SIZE(order); i++) {
		struct ifp_frame frame = make_frame(0);

		frame.rank = 9;
		frame.sequence = order[i];
		assert_ok(ifp_archive_writer_append(writer, &frame, NULL));
		assert_int_equal(ifp_archive_writer_last_sequence(writer, 9), expected[i]);
	}
	assert_int_equal(ifp_archive_writer_last_sequence(writer, 8), 0);
	ifp_archive_writer_abandon(&writer);
}

/* A write that fails half way, here at a limit of the file's size, leaves no trace. */
static void a_full_disk_cuts_the_file_back(void **state)
{
	struct ifp_archive_writer *writer = NULL;
	struct rlimit before, small;
	struct ifp_frame frame = make_frame(FRAMES);
	size_t size;

	(void)state;
	write_archive(false);
	size = file_size();
	signal(SIGXFSZ, SIG_IGN);
	assert_ok(ifp_archive_writer_open(path, false, &writer));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){size + 20, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(ifp_archive_writer_append(writer, &frame, NULL), -EFBIG);
	assert_int_equal(file_size(), size);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_ok(ifp_archive_writer_append(writer, &frame, NULL));
	assert_ok(ifp_archive_writer_close(&writer));
	assert_frames_but(FRAMES + 1, FRAMES + 1);
}

static void other_versions_and_other_files_are_told_apart(void **state)
{
	struct ifp_archive_writer *writer = NULL;
	struct ifp_archive_reader *reader = NULL;

	(void)state;
	write_archive(true);
	flip(8, 3); /* version 1 becomes 2 */
	assert_int_equal(ifp_archive_reader_open(path, &reader), -EPROTO);
	assert_int_equal(ifp_archive_writer_open(path, false, &writer), -EPROTO);
	flip(0, 1);
	assert_int_equal(ifp_archive_reader_open(path, &reader), -EBADMSG);
	assert_int_equal(ifp_archive_writer_open(path, false, &writer), -EBADMSG);
	assert_int_equal(ifp_archive_writer_open(path, true, &writer), -EEXIST);
	assert_int_equal(ifp_archive_reader_open("/tmp", &reader), -EBADMSG);
	unlink(path);
	assert_int_equal(ifp_archive_reader_open(path, &reader), -ENOENT);
}

static void one_writer_at_a_time(void **state)
{
	struct ifp_archive_writer *first = NULL, *second = NULL;

	(void)state;
	assert_ok(ifp_archive_writer_open(path, true, &first));
	assert_int_equal(ifp_archive_writer_open(path, false, &second), -EBUSY);
	assert_ok(ifp_archive_writer_close(&first));
	assert_ok(ifp_archive_writer_open(path, false, &second));
	assert_ok(ifp_archive_writer_close(&second));
}

static void what_is_no_frame_of_an_archive_is_refused(void **state)
{
	struct ifp_archive_writer *writer = NULL;
	struct ifp_frame frame = make_frame(1);

	(void)state;
	assert_ok(ifp_archive_writer_open(path, true, &writer));
	frame.type = IFP_FRAME_INDEX;
	assert_int_equal(ifp_archive_writer_append(writer, &frame, NULL), -EINVAL);
	frame.type = IFP_FRAME_RUN; /* a document has no events */
	assert_int_equal(ifp_archive_writer_append(writer, &frame, NULL), -EINVAL);
	ifp_archive_writer_abandon(&writer);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_path, remove_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_come_back),
		TEST(an_archive_without_index_is_scanned),
		TEST(every_cut_keeps_the_frames_before_it),
		TEST(a_cut_file_header_is_no_archive_and_is_written_again),
		TEST(every_damaged_byte_costs_one_frame),
		TEST(damage_under_an_index_is_found_on_loading),
		TEST(a_damaged_index_costs_nothing),
		TEST(the_writer_goes_on_behind_damage),
		TEST(duplicates_are_left_out_also_after_opening_again),
		TEST(last_sequence_has_no_gap_before_it),
		TEST(a_full_disk_cuts_the_file_back),
		TEST(other_versions_and_other_files_are_told_apart),
		TEST(one_writer_at_a_time),
		TEST(what_is_no_frame_of_an_archive_is_refused),
	};

	return RUN_TESTS(tests);
}
