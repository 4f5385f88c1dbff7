/* SPDX-License-Identifier: Apache-2.0 */
/* What Kineto wrote, through the reader, blocks, and back: nothing is lost, and it is small. */
#include "trace/archive/block.h"
#include "trace/chrome/reader.h"

#include "block_events.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>

/* Reads the file a second time in step with the decoded block, from the given reader. */
static void assert_block_follows(struct ifp_chrome_reader *again, const struct ifp_buf *payload)
{
	struct ifp_block block;

	assert_ok(ifp_block_decode(payload->data, payload->len_bytes, &block));
	for (uint32_t i = 0; i < block.count; i++) {
		struct ifp_event event;

		assert_int_equal(ifp_chrome_reader_next(again, &event), 1);
		assert_events_equal(&block.events[i], &event);
	}
	ifp_block_free(&block);
}

static double bytes_per_event(const char *name)
{
	IFP_CLEANUP(ifp_chrome_reader_close) struct ifp_chrome_reader *reader = NULL, *again = NULL;
	IFP_CLEANUP(ifp_block_builder_free) struct ifp_block_builder *builder = NULL;
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	size_t bytes = 0, events = 0;
	struct ifp_event event;
	char path[512];
	int got;

	snprintf(path, sizeof(path), "%s/kineto/%s", TEST_DATA_DIR, name);
	assert_ok(ifp_chrome_reader_open(path, &reader));
	assert_ok(ifp_chrome_reader_open(path, &again));
	assert_ok(ifp_block_builder_new(&builder));
	while ((got = ifp_chrome_reader_next(reader, &event)) == 1) {
		int err = ifp_block_builder_add(builder, &event);

		if (err == -ENOSPC) {
			ifp_buf_clear(&payload);
			assert_ok(ifp_block_builder_encode(builder, &payload));
			assert_block_follows(again, &payload);
			bytes += payload.len_bytes;
			err = ifp_block_builder_add(builder, &event);
		}
		assert_ok(err);
		events++;
	}
	assert_int_equal(got, 0);
	ifp_buf_clear(&payload);
	assert_ok(ifp_block_builder_encode(builder, &payload));
	assert_block_follows(again, &payload);
	assert_int_equal(ifp_chrome_reader_next(again, &event), 0);
	bytes += payload.len_bytes;
	assert_true(events > 100);
	print_message("%s: %zu events, %.2f bytes an event\n", name, events,
		(double)bytes / (double)events);
	return (double)bytes / (double)events;
}

/* Small files: names and shapes, which a long trace shares among many events, weigh more here. */
static void traces_of_kineto_come_back_and_are_small(void **state)
{
	static const char *const names[] = {"ddp.rank0.json.gz", "ddp.rank1.json.gz",
		"ondemand.rank0.json.gz", "ondemand-cpu.json.gz"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(bytes_per_event(names[i]) < 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traces_of_kineto_come_back_and_are_small),
	};

	return RUN_TESTS(tests);
}
