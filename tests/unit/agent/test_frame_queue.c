/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/uplink/frame_queue.h"
#include "trace/archive/archive.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RANK 5u

static char folder[64]; /* of this program: the spools' */

static struct ifp_frame_queue *make_queue(uint64_t memory_bytes, uint64_t spool_bytes)
{
	const struct ifp_frame_queue_config config = {.rank = RANK,
		.memory_bytes = memory_bytes,
		.spool_bytes = spool_bytes,
		.spool_directory = folder};
	struct ifp_frame_queue *queue = NULL;

	assert_ok(ifp_frame_queue_new(&config, &queue));
	return queue;
}

/* A frame of 100 bytes payload and 10 events; every payload is different. */
static int add(struct ifp_frame_queue *queue, enum ifp_frame_type type, uint8_t content)
{
	uint8_t payload[100];
	const struct ifp_frame frame = {.type = type,
		.payload = payload,
		.payload_bytes = sizeof(payload),
		.event_count = type == IFP_FRAME_EVENTS ? 10 : 0};

	memset(payload, content, sizeof(payload));
	return ifp_frame_queue_add(queue, &frame);
}

/* The next frame must have this number and content. */
static void expect(struct ifp_frame_queue *queue, uint64_t sequence, uint8_t content)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	uint64_t number = 0;
	struct ifp_frame frame;
	size_t used;

	assert_int_equal(ifp_frame_queue_next(queue, &buf, &number), 1);
	assert_int_equal(number, sequence);
	assert_ok(ifp_frame_decode(buf.data, buf.len_bytes, &frame, &used));
	assert_int_equal(used, buf.len_bytes);
	assert_int_equal(frame.sequence, sequence);
	assert_int_equal(frame.rank, RANK);
	assert_int_equal(frame.payload_bytes, 100);
	assert_int_equal(frame.payload[0], content);
	assert_int_equal(frame.payload[99], content);
}

static void expect_none(struct ifp_frame_queue *queue)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	uint64_t number;

	assert_int_equal(ifp_frame_queue_next(queue, &buf, &number), 0);
}

static void test_frames_come_in_order_with_numbers_from_1(void **state)
{
	struct ifp_frame_queue *queue = make_queue(1 << 20, 0);

	(void)state;
	assert_ok(add(queue, IFP_FRAME_RANK, 'a'));
	assert_ok(add(queue, IFP_FRAME_EVENTS, 'b'));
	assert_int_equal(ifp_frame_queue_waiting(queue), 2);
	expect(queue, 1, 'a');
	expect(queue, 2, 'b');
	expect_none(queue);
	assert_int_equal(ifp_frame_queue_in_flight(queue), 2);
	ifp_frame_queue_acknowledge(queue, 1);
	assert_int_equal(ifp_frame_queue_in_flight(queue), 1);
	ifp_frame_queue_acknowledge(queue, 2);
	assert_int_equal(ifp_frame_queue_waiting(queue), 0);
	assert_int_equal(ifp_frame_queue_last(queue), 2);
	ifp_frame_queue_free(&queue);
}

static void test_what_memory_cannot_hold_goes_to_disk_and_back_in_order(void **state)
{
	/* 148 bytes a frame: two in memory, the others on disk */
	struct ifp_frame_queue *queue = make_queue(300, 1 << 20);

	(void)state;
	for (uint8_t i = 1; i <= 9; i++)
		assert_ok(add(queue, IFP_FRAME_EVENTS, i));
	assert_int_equal(ifp_frame_queue_spool_bytes(queue), 16 + 7 * 148);
	for (uint8_t i = 1; i <= 9; i++)
		expect(queue, i, i);
	ifp_frame_queue_acknowledge(queue, 8);
	assert_int_equal(ifp_frame_queue_spool_bytes(queue), 16 + 7 * 148);
	/* with its last frame the file shrinks to its header */
	ifp_frame_queue_acknowledge(queue, 9);
	assert_int_equal(ifp_frame_queue_spool_bytes(queue), 16);
	assert_ok(add(queue, IFP_FRAME_EVENTS, 10));
	expect(queue, 10, 10);
	ifp_frame_queue_free(&queue);
}

static void test_a_rewind_sends_again_what_is_not_acknowledged(void **state)
{
	struct ifp_frame_queue *queue = make_queue(300, 1 << 20);

	(void)state;
	for (uint8_t i = 1; i <= 4; i++)
		assert_ok(add(queue, IFP_FRAME_EVENTS, i));
	for (uint8_t i = 1; i <= 4; i++)
		expect(queue, i, i);
	ifp_frame_queue_acknowledge(queue, 2);
	ifp_frame_queue_rewind(queue);
	expect(queue, 3, 3);
	/* the collector may know of a frame whose second copy has not been sent */
	ifp_frame_queue_rewind(queue);
	ifp_frame_queue_acknowledge(queue, 3);
	expect(queue, 4, 4);
	/* and a number that has never been is no reason to throw anything away */
	ifp_frame_queue_acknowledge(queue, 1000);
	assert_int_equal(ifp_frame_queue_waiting(queue), 1);
	ifp_frame_queue_free(&queue);
}

static void test_events_beyond_memory_and_disk_are_dropped_and_counted(void **state)
{
	struct ifp_frame_queue *queue = make_queue(150, 16 + 148);

	(void)state;
	assert_ok(add(queue, IFP_FRAME_EVENTS, 1));
	assert_ok(add(queue, IFP_FRAME_EVENTS, 2));
	assert_int_equal(add(queue, IFP_FRAME_EVENTS, 3), -ENOSPC);
	assert_int_equal(ifp_error_depth(), 0);
	assert_int_equal(ifp_frame_queue_dropped_events(queue), 10);
	/* a document always finds its place, and there is no gap in the numbers */
	assert_ok(add(queue, IFP_FRAME_LEDGER, 4));
	expect(queue, 1, 1);
	expect(queue, 2, 2);
	expect(queue, 3, 4);
	ifp_frame_queue_free(&queue);
}

static void test_a_spool_directory_that_is_not_there_drops_events(void **state)
{
	const struct ifp_frame_queue_config config = {.rank = RANK,
		.memory_bytes = 0,
		.spool_bytes = 1 << 20,
		.spool_directory = "/nonexistent"};
	struct ifp_frame_queue *queue = NULL;

	(void)state;
	assert_ok(ifp_frame_queue_new(&config, &queue));
	assert_int_equal(add(queue, IFP_FRAME_EVENTS, 1), -ENOENT);
	ifp_error_clear();
	assert_int_equal(ifp_frame_queue_dropped_events(queue), 10);
	ifp_frame_queue_free(&queue);
}

static void test_a_kept_spool_is_an_archive_with_all_that_was_not_acknowledged(void **state)
{
	struct ifp_frame_queue *queue = make_queue(300, 1 << 20);
	struct ifp_archive_reader *reader = NULL;
	char *path = NULL, *again = NULL, expected[128];
	bool seen[7] = {false};

	(void)state;
	for (uint8_t i = 1; i <= 6; i++)
		assert_ok(add(queue, IFP_FRAME_EVENTS, i));
	ifp_frame_queue_acknowledge(queue, 1);
	assert_ok(ifp_frame_queue_keep(queue, "kept", &path));
	ifp_frame_queue_free(&queue);
	snprintf(expected, sizeof(expected), "%s/kept.ifp", folder);
	assert_string_equal(path, expected);

	assert_ok(ifp_archive_reader_open(path, &reader));
	for (uint64_t i = 0; i < ifp_archive_reader_count(reader); i++)
		seen[ifp_archive_reader_frame(reader, i)->sequence] = true;
	for (uint64_t i = 2; i <= 6; i++)
		assert_true(seen[i]);
	assert_int_equal(ifp_archive_reader_damage(reader).damaged_frames, 0);
	ifp_archive_reader_close(&reader);

	/* another one of the same name gets a number */
	queue = make_queue(1 << 20, 1 << 20);
	assert_ok(add(queue, IFP_FRAME_EVENTS, 1));
	assert_ok(ifp_frame_queue_keep(queue, "kept", &again));
	snprintf(expected, sizeof(expected), "%s/kept-2.ifp", folder);
	assert_string_equal(again, expected);
	ifp_frame_queue_free(&queue);
	free(path);
	free(again);
}

static void test_a_spool_leaves_nothing_behind(void **state)
{
	struct ifp_frame_queue *queue = make_queue(0, 1 << 20);
	char command[128];

	(void)state;
	assert_ok(add(queue, IFP_FRAME_EVENTS, 1));
	ifp_frame_queue_free(&queue);
	snprintf(command, sizeof(command), "test -z \"$(ls -A %s | grep spool)\"", folder);
	assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/infprof-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_come_in_order_with_numbers_from_1),
		cmocka_unit_test(test_what_memory_cannot_hold_goes_to_disk_and_back_in_order),
		cmocka_unit_test(test_a_rewind_sends_again_what_is_not_acknowledged),
		cmocka_unit_test(test_events_beyond_memory_and_disk_are_dropped_and_counted),
		cmocka_unit_test(test_a_spool_directory_that_is_not_there_drops_events),
		cmocka_unit_test(
			test_a_kept_spool_is_an_archive_with_all_that_was_not_acknowledged),
		cmocka_unit_test(test_a_spool_leaves_nothing_behind),
	};

	return cmocka_run_group_tests_name(__FILE__, tests, set_up, tear_down);
}
