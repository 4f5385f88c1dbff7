/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/store.h"

#include "core/cleanup.h"
#include "core/time.h"

#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#define S IFP_NS_PER_S

/* A store of two ranks over an archive in a directory of the test's own. */
struct fixture {
	char folder[64], path[96];
	struct ifp_store *store;
};

static void open_store(struct fixture *fixture)
{
	struct ifp_archive_writer *writer;

	assert_ok(ifp_archive_writer_open(fixture->path, false, &writer));
	assert_ok(ifp_store_new(&writer, 2, &fixture->store));
	assert_null(writer);
}

static int set_up(void **state)
{
	static struct fixture fixture;

	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit is an error then */
	snprintf(fixture.folder, sizeof(fixture.folder), "/tmp/infprof-store-test-XXXXXX");
	assert_non_null(mkdtemp(fixture.folder));
	snprintf(fixture.path, sizeof(fixture.path), "%s/run.ifp", fixture.folder);
	open_store(&fixture);
	*state = &fixture;
	return 0;
}

/* A limit on the size of files stands for a full disk. */
static void fill_disk(bool full)
{
	struct rlimit limit = {.rlim_cur = full ? 100 : RLIM_INFINITY, .rlim_max = RLIM_INFINITY};

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	fill_disk(false);
	ifp_store_close(&fixture->store);
	ifp_error_clear();
	remove(fixture->path);
	return rmdir(fixture->folder);
}

static int put(struct fixture *fixture, uint32_t rank, uint64_t sequence, int64_t now_ns)
{
	static const char payload[200] = "{\"rows\":[]}";
	struct ifp_frame frame = {.type = IFP_FRAME_LEDGER,
		.rank = rank,
		.sequence = sequence,
		.payload = (const uint8_t *)payload,
		.payload_bytes = sizeof(payload)};

	return ifp_store_frame(fixture->store, &frame, now_ns);
}

static uint64_t count_frames(const struct fixture *fixture)
{
	struct ifp_archive_reader *reader;
	uint64_t count;

	assert_ok(ifp_archive_reader_open(fixture->path, &reader));
	count = ifp_archive_reader_count(reader);
	ifp_archive_reader_close(&reader);
	return count;
}

static void what_is_stored_is_acknowledged_per_rank(void **state)
{
	struct fixture *fixture = *state;

	assert_ok(put(fixture, 0, 1, S));
	assert_ok(put(fixture, 0, 2, S));
	assert_ok(put(fixture, 1, 1, S));
	assert_int_equal(ifp_store_acknowledged(fixture->store, 0), 2);
	assert_int_equal(ifp_store_acknowledged(fixture->store, 1), 1);
	assert_int_equal(ifp_store_credit(fixture->store), IFP_STORE_CREDIT);
}

static void doubles_are_taken_and_left_out(void **state)
{
	struct fixture *fixture = *state;

	assert_ok(put(fixture, 0, 1, S));
	assert_ok(put(fixture, 0, 1, S));
	assert_ok(ifp_store_close(&fixture->store));
	assert_int_equal(count_frames(fixture), 1);
}

static void frame_behind_a_gap_is_not_taken(void **state)
{
	struct fixture *fixture = *state;

	assert_ok(put(fixture, 0, 1, S));
	assert_int_equal(put(fixture, 0, 3, S), -EAGAIN);
	assert_int_equal(ifp_store_acknowledged(fixture->store, 0), 1);
	assert_ok(put(fixture, 0, 2, S));
	assert_ok(put(fixture, 0, 3, S));
	assert_int_equal(ifp_store_acknowledged(fixture->store, 0), 3);
}

static void numbers_go_on_after_a_restart(void **state)
{
	struct fixture *fixture = *state;

	assert_ok(put(fixture, 0, 1, S));
	assert_ok(put(fixture, 0, 2, S));
	assert_ok(ifp_store_close(&fixture->store));
	open_store(fixture);
	assert_int_equal(ifp_store_acknowledged(fixture->store, 0), 2);
	assert_ok(put(fixture, 0, 2, S));
	assert_int_equal(put(fixture, 0, 4, S), -EAGAIN);
	assert_ok(put(fixture, 0, 3, S));
	assert_int_equal(ifp_store_acknowledged(fixture->store, 0), 3);
}

static void rank_beyond_the_world_is_an_error(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(put(fixture, 2, 1, S), -EINVAL);
	ifp_error_clear();
}

static void full_disk_keeps_frames_and_gives_no_credit(void **state)
{
	struct fixture *fixture = *state;

	assert_ok(put(fixture, 0, 1, S));
	fill_disk(true);
	assert_ok(put(fixture, 0, 2, 2 * S)); /* kept, not acknowledged */
	assert_ok(put(fixture, 1, 1, 2 * S));
	assert_ok(put(fixture, 1, 0, 2 * S)); /* a document of the collector's own */
	assert_int_equal(ifp_store_acknowledged(fixture->store, 0), 1);
	assert_int_equal(ifp_store_acknowledged(fixture->store, 1), 0);
	assert_int_equal(ifp_store_credit(fixture->store), 0);
	ifp_store_tick(fixture->store, 3 * S); /* still full */
	assert_int_equal(ifp_store_credit(fixture->store), 0);
	fill_disk(false);
	ifp_store_tick(fixture->store, 4 * S - 1); /* tried once a second only */
	assert_int_equal(ifp_store_credit(fixture->store), 0);
	ifp_store_tick(fixture->store, 4 * S);
	assert_int_equal(ifp_store_acknowledged(fixture->store, 0), 2);
	assert_int_equal(ifp_store_acknowledged(fixture->store, 1), 1);
	assert_int_equal(ifp_store_credit(fixture->store), IFP_STORE_CREDIT);
	assert_ok(put(fixture, 0, 3, 5 * S));
	assert_ok(ifp_store_close(&fixture->store));
	/* five frames and the row that tells of the full disk */
	assert_int_equal(count_frames(fixture), 6);
}

static void memory_is_bounded_by_the_credit_while_the_disk_is_full(void **state)
{
	struct fixture *fixture = *state;

	fill_disk(true);
	for (uint64_t sequence = 1; sequence <= IFP_STORE_CREDIT; sequence++)
		assert_ok(put(fixture, 0, sequence, S));
	assert_int_equal(put(fixture, 0, IFP_STORE_CREDIT + 1, S), -EAGAIN);
	for (uint32_t i = 0; i < IFP_STORE_MAX_KEPT_OWN; i++)
		assert_ok(put(fixture, 0, 0, S));
	assert_int_equal(put(fixture, 0, 0, S), -ENOSPC);
	ifp_error_clear();
}

static void closing_with_a_full_disk_says_what_is_missing(void **state)
{
	struct fixture *fixture = *state;
	char text[256];

	fill_disk(true);
	assert_ok(put(fixture, 0, 1, S));
	assert_true(ifp_store_close(&fixture->store) < 0);
	assert_non_null(ifp_error_text(text, sizeof(text)));
	assert_true(text[0] != '\0');
	ifp_error_clear();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_stored_is_acknowledged_per_rank),
		TEST(doubles_are_taken_and_left_out),
		TEST(frame_behind_a_gap_is_not_taken),
		TEST(numbers_go_on_after_a_restart),
		TEST(rank_beyond_the_world_is_an_error),
		TEST(full_disk_keeps_frames_and_gives_no_credit),
		TEST(memory_is_bounded_by_the_credit_while_the_disk_is_full),
		TEST(closing_with_a_full_disk_says_what_is_missing),
	};

	return RUN_TESTS(tests);
}
