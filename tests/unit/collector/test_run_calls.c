/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of MPI that could not narrow a clock's bound have a row in the ledger. */
#include "collector/store/run.h"

#include "clocksync/estimate/world_calls.h"
#include "core/cleanup.h"

#include "make_archive.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#define US IFP_NS_PER_US
#define CALLS 5u

/* Barriers that a rank was in at the same moments as the others, by a clock that says later. */
static void append_calls(uint32_t rank, uint64_t order, int64_t later_ns)
{
	struct ifp_clock_collective calls[CALLS] = {0};
	struct ifp_clock_samples samples = {.collectives = calls, .collective_count = CALLS};
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_archive_writer *writer = NULL;
	struct ifp_frame frame = {.type = IFP_FRAME_CLOCK, .rank = rank};

	for (uint32_t i = 0; i < CALLS; i++) {
		calls[i].group = IFP_WORLD_CALLS_GROUP;
		calls[i].kind = order;
		calls[i].step = i + 1;
		calls[i].enter_ns = ARCHIVE_MAKER_RAW_NS + (i + 1) * 10 * US + later_ns;
		calls[i].exit_ns = calls[i].enter_ns + US;
	}
	ifp_clock_samples_encode(&samples, &payload);
	frame.payload = payload.data;
	frame.payload_bytes = (uint32_t)payload.len_bytes;
	assert_ok(ifp_archive_writer_open(archive_maker_path, false, &writer));
	assert_ok(ifp_archive_writer_append(writer, &frame, NULL));
	assert_ok(ifp_archive_writer_close(&writer));
}

/* Two ranks on a host and two on another, compared to 3 us; the first of each has made calls. */
static struct ifp_run *open_run(uint64_t order, int64_t later_ns)
{
	struct archive_maker maker;
	struct ifp_run *run;

	assert_int_equal(truncate(archive_maker_path, 0), 0);
	archive_maker_open(&maker, archive_maker_path, 4);
	for (uint32_t rank = 2; rank < 4; rank++) {
		maker.ranks[rank].host = "host1";
		maker.ranks[rank].edge_ns = 3 * US;
	}
	archive_maker_steps(&maker, 1, 1000);
	archive_maker_close(&maker);
	append_calls(0, 77, 0);
	append_calls(2, order, later_ns);
	assert_ok(ifp_run_open(archive_maker_path, &run));
	return run;
}

static void calls_that_agree_have_no_row(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = open_run(77, 0);

	(void)state;
	assert_int_equal(ifp_run_ledger_count(run), 0);
}

static void calls_that_contradict_the_exchanges_have_a_row(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = open_run(77, 20 * US);

	(void)state;
	assert_int_equal(ifp_run_ledger_count(run), 1);
	assert_int_equal(ifp_run_ledger(run, 0)->rank, 2);
	assert_string_equal(ifp_run_ledger(run, 0)->what, "clock-calls-unused");
	assert_int_equal(ifp_run_ledger(run, 0)->count, CALLS);
	assert_string_equal(ifp_run_ledger(run, 0)->why,
		"MPI calls contradict the exchanges of the clock of rank 2: its bound is by the "
		"exchanges alone");
}

static void calls_that_are_not_the_same_have_a_row(void **state)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = open_run(78, 0);

	(void)state;
	assert_int_equal(ifp_run_ledger_count(run), 1);
	assert_string_equal(ifp_run_ledger(run, 0)->what, "clock-calls-unused");
	assert_int_equal(ifp_run_ledger(run, 0)->count, CALLS);
	assert_non_null(strstr(ifp_run_ledger(run, 0)->why, "in another order than"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_agree_have_no_row),
		cmocka_unit_test(calls_that_contradict_the_exchanges_have_a_row),
		cmocka_unit_test(calls_that_are_not_the_same_have_a_row),
	};

	return cmocka_run_group_tests_name(
		__FILE__, tests, archive_maker_make_path, archive_maker_remove_path);
}
