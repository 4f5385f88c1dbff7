/* SPDX-License-Identifier: Apache-2.0 */
#include "clock_job.h"

static void ranks_of_one_machine_need_no_exchange(void **state)
{
	struct job job = {0};

	(void)state;
	start(&job, "aaaa", "openmpi", "auto");
	assert_int_equal(ifp_clocks_roll(job.clocks, &job.roster, S), IFP_CLOCKS_NONE);
	assert_int_equal(ifp_clocks_count(job.clocks), 1);
	ifp_clocks_tick(job.clocks, S);
	expect_silence(&job);
	assert_false(ifp_clocks_hold(job.clocks));
	stop(&job);
}

static void first_ranks_of_three_machines_measure_one_after_the_other(void **state)
{
	struct job job = {0};

	(void)state;
	start(&job, "aabbcc", "torchrun", "auto");
	assert_int_equal(ifp_clocks_roll(job.clocks, &job.roster, S), IFP_CLOCKS_ZMQ);
	assert_int_equal(ifp_clocks_count(job.clocks), 3);
	assert_int_equal(ifp_clocks_of(job.clocks, 3), 1);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 2, 0); /* clocks 0 and 1 = 0 ^ 1 */
	ifp_clocks_tick(job.clocks, S);
	expect_silence(&job); /* one at a time */
	report(&job, 0, 2, 0, MEASURED);
	assert_int_equal(stored_edges(&job, 0), 1);
	report(&job, 0, 2, 0, MEASURED); /* said twice, stored once */
	assert_int_equal(stored_edges(&job, 0), 1);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 4, 0); /* clocks 0 and 2 = 0 ^ 2; 1 ^ 2 = 3 is none */
	report(&job, 0, 4, 0, MEASURED);
	ifp_clocks_tick(job.clocks, S);
	expect_silence(&job);
	assert_true(ifp_clocks_hold(job.clocks)); /* epoch 1 is still to come */
	stop(&job);
}

static void measured_edge_is_stored_whole(void **state)
{
	struct ifp_clock_samples samples;
	const struct ifp_clock_edge *edge;
	struct job job = {0};

	(void)state;
	start(&job, "ab", "torchrun", "auto");
	ifp_clocks_roll(job.clocks, &job.roster, S);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 1, 0);
	report(&job, 0, 1, 0, MEASURED);
	assert_ok(ifp_clock_samples_decode(
		job.record.last_payload.data, job.record.last_payload.len_bytes, &samples));
	assert_int_equal(samples.tuple_count, 0);
	assert_int_equal(samples.edge_count, 1);
	edge = &samples.edges[0];
	assert_int_equal(edge->epoch, 0);
	assert_int_equal(edge->client, 0);
	assert_int_equal(edge->server, 1);
	assert_int_equal(edge->round_trips, 32);
	assert_int_equal(edge->low_ns, -20);
	assert_int_equal(edge->high_ns, 30);
	assert_true(edge->best_t1_ns == INT64_C(9007199254740993)); /* no double holds it */
	assert_true(edge->best_t4_ns == INT64_C(9007199254741021));
	assert_int_equal(edge->over_mpi, 0);
	ifp_clock_samples_free(&samples);
	stop(&job);
}

static void edge_without_an_answer_is_given_up_after_5_s(void **state)
{
	struct job job = {0};

	(void)state;
	start(&job, "abc", "torchrun", "auto");
	ifp_clocks_roll(job.clocks, &job.roster, S);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 1, 0);
	ifp_clocks_tick(job.clocks, 6 * S - 1);
	expect_silence(&job);
	ifp_clocks_tick(job.clocks, 6 * S);
	expect_silence(&job); /* nor is 0 asked for 2: that would take another 5 s */
	assert_int_equal(record_rows(&job.record, 0, "clock-edge-lost"), 2);
	report(&job, 0, 1, 0, MEASURED); /* too late */
	assert_int_equal(stored_edges(&job, 0), 0);
	stop(&job);
}

static void failed_edge_has_a_row_with_its_reason(void **state)
{
	struct job job = {0};

	(void)state;
	start(&job, "abc", "torchrun", "auto");
	ifp_clocks_roll(job.clocks, &job.roster, S);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 1, 0);
	report(&job, 0, 1, 0, "'outcome':'failed','reason':'no route'");
	assert_int_equal(record_rows(&job.record, 0, "clock-edge-lost"), 1);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 2, 0);
	stop(&job);
}

static void last_epoch_is_made_when_all_programs_have_ended(void **state)
{
	struct job job = {0};

	(void)state;
	start(&job, "ab", "torchrun", "auto");
	ifp_clocks_roll(job.clocks, &job.roster, S);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 1, 0);
	report(&job, 0, 1, 0, MEASURED);
	ifp_clocks_program_ended(job.clocks, 1, 100 * S);
	ifp_clocks_tick(job.clocks, 101 * S);
	expect_silence(&job);
	ifp_clocks_program_ended(job.clocks, 0, 102 * S);
	ifp_clocks_tick(job.clocks, 102 * S);
	expect_ask(&job, 0, 1, 1);
	assert_true(ifp_clocks_hold(job.clocks));
	report(&job, 0, 1, 1, MEASURED);
	ifp_clocks_tick(job.clocks, 102 * S);
	assert_false(ifp_clocks_hold(job.clocks));
	assert_int_equal(stored_edges(&job, 0), 2);
	stop(&job);
}

static void early_ender_is_held_up_10_s_at_most(void **state)
{
	struct job job = {0};

	(void)state;
	start(&job, "ab", "openmpi", "zmq");
	assert_int_equal(ifp_clocks_roll(job.clocks, &job.roster, S), IFP_CLOCKS_ZMQ);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 1, 0);
	report(&job, 0, 1, 0, MEASURED);
	ifp_clocks_program_ended(job.clocks, 1, 100 * S);
	ifp_clocks_tick(job.clocks, 110 * S - 1);
	expect_silence(&job);
	ifp_clocks_tick(job.clocks, 110 * S);
	expect_ask(&job, 0, 1, 1);
	stop(&job);
}

static void failure_holds_nobody_up(void **state)
{
	struct job job = {0};

	(void)state;
	start(&job, "ab", "torchrun", "auto");
	ifp_clocks_roll(job.clocks, &job.roster, S);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 1, 0);
	ifp_clocks_give_up(job.clocks);
	assert_false(ifp_clocks_hold(job.clocks));
	ifp_clocks_program_ended(job.clocks, 0, 2 * S);
	ifp_clocks_program_ended(job.clocks, 1, 2 * S);
	ifp_clocks_tick(job.clocks, 20 * S);
	expect_silence(&job);
	stop(&job);
}

static void mpi_serves_both_epochs_when_all_lives_end_well(void **state)
{
	struct job job = {0};

	(void)state;
	start(&job, "ab", "openmpi", "mpi");
	assert_int_equal(ifp_clocks_roll(job.clocks, &job.roster, S), IFP_CLOCKS_MPI);
	ifp_clocks_tick(job.clocks, S);
	expect_silence(&job); /* the roll call is the word to begin */
	report(&job, 0, -1, 0, ALL_WELL ",'edges':[{'server':1," EDGE "}]");
	ifp_clocks_tick(job.clocks, S);
	report(&job, 1, -1, 0, ALL_WELL ",'edges':[]");
	ifp_clocks_tick(job.clocks, 2 * S);
	assert_int_equal(stored_edges(&job, 0), 1);
	ifp_clocks_program_ended(job.clocks, 0, 100 * S);
	ifp_clocks_program_ended(job.clocks, 1, 100 * S);
	ifp_clocks_tick(job.clocks, 100 * S);
	expect_ask(&job, 0, -1, 1);
	expect_ask(&job, 1, -1, 1);
	report(&job, 0, -1, 1, ALL_WELL ",'edges':[{'server':1," EDGE "}]");
	report(&job, 1, -1, 1, ALL_WELL ",'edges':[]");
	ifp_clocks_tick(job.clocks, 101 * S);
	assert_false(ifp_clocks_hold(job.clocks));
	assert_int_equal(stored_edges(&job, 0), 2);
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "clock-fallback"), 0);
	stop(&job);
}

static void failed_life_of_the_helper_falls_back_to_zeromq_in_both_epochs(void **state)
{
	struct job job = {0};

	(void)state;
	start(&job, "ab", "openmpi", "mpi");
	ifp_clocks_roll(job.clocks, &job.roster, S);
	report(&job, 0, -1, 0, ALL_WELL ",'edges':[]");
	report(&job, 1, -1, 0, "'outcome':'failed','reason':'killed'");
	ifp_clocks_tick(job.clocks, 2 * S);
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "clock-fallback"), 1);
	expect_ask(&job, 0, 1, 0);
	report(&job, 0, 1, 0, MEASURED);
	ifp_clocks_program_ended(job.clocks, 0, 100 * S);
	ifp_clocks_program_ended(job.clocks, 1, 100 * S);
	ifp_clocks_tick(job.clocks, 100 * S);
	expect_ask(&job, 0, 1, 1); /* not -1: no second life after a failed first one */
	stop(&job);
}

static void mpi_needs_everybody(void **state)
{
	struct job job = {0};

	(void)state;
	record_init(&job.record);
	assert_ok(ifp_roster_init(&job.roster, "job", 3));
	assert_ok(ifp_clocks_new(&job.record.outlet, NULL, 3, &job.clocks));
	join(&job, 0, 'a', "openmpi", "mpi");
	join(&job, 1, 'b', "openmpi", "mpi");
	assert_int_equal(ifp_clocks_roll(job.clocks, &job.roster, S), IFP_CLOCKS_ZMQ);
	stop(&job);
}

static void mpi_can_be_asked_for_on_one_machine(void **state)
{
	struct job job = {0};

	(void)state;
	start(&job, "aa", "openmpi", "mpi");
	assert_int_equal(ifp_clocks_roll(job.clocks, &job.roster, S), IFP_CLOCKS_MPI);
	report(&job, 0, -1, 0, ALL_WELL ",'edges':[]");
	report(&job, 1, -1, 0, ALL_WELL ",'edges':[]");
	ifp_clocks_tick(job.clocks, 2 * S);
	assert_false(ifp_clocks_hold(job.clocks));
	stop(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_of_one_machine_need_no_exchange),
		cmocka_unit_test(first_ranks_of_three_machines_measure_one_after_the_other),
		cmocka_unit_test(measured_edge_is_stored_whole),
		cmocka_unit_test(edge_without_an_answer_is_given_up_after_5_s),
		cmocka_unit_test(failed_edge_has_a_row_with_its_reason),
		cmocka_unit_test(last_epoch_is_made_when_all_programs_have_ended),
		cmocka_unit_test(early_ender_is_held_up_10_s_at_most),
		cmocka_unit_test(failure_holds_nobody_up),
		cmocka_unit_test(mpi_serves_both_epochs_when_all_lives_end_well),
		cmocka_unit_test(failed_life_of_the_helper_falls_back_to_zeromq_in_both_epochs),
		cmocka_unit_test(mpi_needs_everybody),
		cmocka_unit_test(mpi_can_be_asked_for_on_one_machine),
	};

	return RUN_TESTS(tests);
}
