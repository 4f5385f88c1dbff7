/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks are compared while the programs run: when, who at the same time, and what holds nobody up.
 */
#include "clock_job.h"

/* Ends what has been asked: every pair that is asked for now is reported as measured. */
static uint32_t measure_all(struct job *job, int epoch, int64_t now_ns)
{
	uint32_t count = 0;

	for (bool more = true; more;) {
		more = false;
		ifp_clocks_tick(job->clocks, now_ns);
		for (uint32_t rank = 0; rank < job->roster.world; rank++) {
			const cJSON *ask = record_message(&job->record, IFP_MSG_CLOCK_ASK, rank);

			if (!ask)
				continue;
			assert_int_equal(ifp_document_get_count(ask, "epoch"), epoch);
			report(job, rank, (int)ifp_document_get_count(ask, "server"), epoch,
				MEASURED);
			more = true;
			count++;
		}
	}
	return count;
}

static void start_running(struct job *job, const char *machines, int64_t interval_ms)
{
	job->interval_ms = interval_ms;
	start(job, machines, "torchrun", "auto");
	ifp_clocks_roll(job->clocks, &job->roster, S);
	measure_all(job, 0, S);
}

static void clocks_are_compared_again_while_programs_run(void **state)
{
	struct job job = {0};

	(void)state;
	start_running(&job, "ab", 1000);
	for (int epoch = 1; epoch <= 20; epoch++) {
		ifp_clocks_tick(job.clocks, (epoch + 1) * S - 1);
		expect_silence(&job);
		assert_int_equal(measure_all(&job, epoch, (epoch + 1) * S), 1);
	}
	assert_int_equal(stored_edges(&job, 0), 21);
	ifp_clocks_program_ended(job.clocks, 0, 21 * S + 1);
	ifp_clocks_program_ended(job.clocks, 1, 21 * S + 1);
	assert_int_equal(measure_all(&job, 21, 21 * S + 1), 1);
	assert_false(ifp_clocks_hold(job.clocks));
	assert_int_equal(measure_all(&job, 22, 100 * S), 0);
	stop(&job);
}

static void clocks_that_do_as_predicted_are_compared_every_30_s_in_the_end(void **state)
{
	/* the first prediction is that of the third exchange */
	static const int at_s[] = {2, 3, 5, 9, 17, 33, 63, 93, 123};
	struct job job = {0};

	(void)state;
	start_running(&job, "ab", 30000);
	for (int i = 0; i < 9; i++) {
		assert_int_equal(measure_all(&job, i + 1, at_s[i] * S - 1), 0);
		assert_int_equal(measure_all(&job, i + 1, at_s[i] * S), 1);
	}
	/* a window: 1 s from now, not 30 */
	ifp_clocks_hurry(job.clocks, 124 * S);
	assert_int_equal(measure_all(&job, 10, 125 * S - 1), 0);
	assert_int_equal(measure_all(&job, 10, 125 * S), 1);
	stop(&job);
}

static void pairs_of_a_round_measure_at_the_same_time_where_there_are_processors(void **state)
{
	struct job job = {.cpus = 4};

	(void)state;
	start(&job, "AAAA", "torchrun", "auto");
	ifp_clocks_roll(job.clocks, &job.roster, S);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 1, 0);
	expect_ask(&job, 2, 3, 0);
	report(&job, 2, 3, 0, MEASURED);
	ifp_clocks_tick(job.clocks, S);
	expect_silence(&job); /* the next round waits for this one */
	report(&job, 0, 1, 0, MEASURED);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 2, 0);
	expect_ask(&job, 1, 3, 0);
	stop(&job);
}

static void ranks_that_share_processors_measure_one_pair_at_a_time(void **state)
{
	struct job job = {.cpus = 3};

	(void)state;
	start(&job, "AAAAbcde", "torchrun", "auto");
	ifp_clocks_roll(job.clocks, &job.roster, S);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 0, 1, 0);
	expect_ask(&job, 4, 5, 0); /* other machines do not mind */
	expect_ask(&job, 6, 7, 0);
	expect_silence(&job);
	report(&job, 0, 1, 0, MEASURED);
	ifp_clocks_tick(job.clocks, S);
	expect_ask(&job, 2, 3, 0);
	expect_silence(&job);
	stop(&job);
}

static void agent_that_does_not_answer_costs_an_epoch_one_second(void **state)
{
	struct job job = {.cpus = 4};

	(void)state;
	start_running(&job, "AAAA", 1000);
	ifp_clocks_tick(job.clocks, 2 * S);
	expect_ask(&job, 0, 1, 1);
	expect_ask(&job, 2, 3, 1);
	report(&job, 2, 3, 1, MEASURED);
	ifp_clocks_tick(job.clocks, 3 * S - 1);
	expect_silence(&job);
	ifp_clocks_tick(job.clocks, 3 * S);
	expect_ask(&job, 1, 3, 1); /* but 0 is not asked for 2: it would take another second */
	expect_silence(&job);
	report(&job, 1, 3, 1, MEASURED);
	ifp_clocks_tick(job.clocks, 3 * S);
	/* the first loss of each pair is said at once, however long the run may still take */
	assert_int_equal(record_rows(&job.record, 0, "clock-edge-lost"), 2);
	assert_int_equal(stored_edges(&job, 2), 2);
	ifp_clocks_tick(job.clocks, 4 * S);
	expect_ask(&job, 0, 1, 2); /* it has another chance in the next epoch */
	stop(&job);
}

/* One path may be broken; an agent that two others do not reach is not there. */
static void agent_that_nobody_reaches_is_tried_twice_an_epoch(void **state)
{
	static const char failed[] = "'outcome':'failed','reason':'no answer within 800 ms'";
	struct job job = {.cpus = 8};

	(void)state;
	start_running(&job, "AAAAAAAA", 1000);
	ifp_clocks_tick(job.clocks, 2 * S);
	expect_ask(&job, 6, 7, 1);
	report(&job, 6, 7, 1, failed);
	measure_all(&job, 1, 2 * S); /* 5 and 7 among them: all is well again */
	assert_int_equal(record_rows(&job.record, 6, "clock-edge-lost"), 1);
	ifp_clocks_tick(job.clocks, 3 * S);
	expect_ask(&job, 6, 7, 2);
	report(&job, 6, 7, 2, failed);
	expect_ask(&job, 0, 1, 2);
	expect_ask(&job, 2, 3, 2);
	expect_ask(&job, 4, 5, 2);
	report(&job, 0, 1, 2, MEASURED);
	report(&job, 2, 3, 2, MEASURED);
	report(&job, 4, 5, 2, MEASURED);
	ifp_clocks_tick(job.clocks, 3 * S);
	expect_ask(&job, 5, 7, 2);
	report(&job, 5, 7, 2, failed);
	assert_int_equal(measure_all(&job, 2, 3 * S), 3 + 3); /* but not 3 and 7 */
	assert_int_equal(record_rows(&job.record, 3, "clock-edge-lost"), 1);
	stop(&job);
}

/* Of ranks that share a clock, one that does not answer is stood for by another. */
static void silent_rank_is_replaced_by_one_with_the_same_clock(void **state)
{
	struct job job = {0};

	(void)state;
	start_running(&job, "aab", 1000);
	ifp_clocks_tick(job.clocks, 2 * S);
	expect_ask(&job, 0, 2, 1);
	ifp_clocks_tick(job.clocks, 3 * S);
	ifp_clocks_tick(job.clocks, 4 * S);
	expect_ask(&job, 1, 2, 2);
	stop(&job);
}

static int64_t lost_count(const struct job *job)
{
	int64_t count = 0;

	for (size_t i = 0; i < job->record.count; i++) {
		const struct record_entry *entry = &job->record.entries[i];
		const cJSON *row;

		if (entry->frame == IFP_FRAME_LEDGER)
			cJSON_ArrayForEach(row, cJSON_GetObjectItem(entry->document, "rows"))
				count += (int64_t)ifp_document_get_count(row, "count");
	}
	return count;
}

static void losses_of_a_long_run_are_counted_in_two_rows(void **state)
{
	struct job job = {0};

	(void)state;
	start_running(&job, "ab", 1000);
	for (int epoch = 1; epoch <= 50; epoch++) {
		ifp_clocks_tick(job.clocks, (epoch + 1) * S);
		expect_ask(&job, 0, 1, epoch);
		report(&job, 0, 1, epoch, "'outcome':'failed','reason':'no answer'");
		ifp_clocks_tick(job.clocks, (epoch + 1) * S);
	}
	assert_int_equal(record_rows(&job.record, 0, "clock-edge-lost"), 1);
	ifp_clocks_give_up(job.clocks);
	assert_int_equal(record_rows(&job.record, 0, "clock-edge-lost"), 2);
	assert_int_equal(lost_count(&job), 50);
	stop(&job);
}

static void end_of_the_programs_does_not_wait_for_an_exchange_that_was_only_due(void **state)
{
	struct job job = {0};

	(void)state;
	start_running(&job, "ab", 1000);
	ifp_clocks_tick(job.clocks, 2 * S);
	expect_ask(&job, 0, 1, 1);
	ifp_clocks_program_ended(job.clocks, 0, 2 * S);
	ifp_clocks_program_ended(job.clocks, 1, 2 * S);
	ifp_clocks_tick(job.clocks, 2 * S);
	expect_ask(&job, 0, 1, 2);
	report(&job, 0, 1, 1, MEASURED); /* its answer comes too late, and is no answer to 2 */
	assert_int_equal(stored_edges(&job, 0), 1);
	report(&job, 0, 1, 2, MEASURED);
	ifp_clocks_tick(job.clocks, 2 * S);
	assert_false(ifp_clocks_hold(job.clocks));
	stop(&job);
}

/* The number in the archive of the edge that was stored last. */
static uint32_t last_number(const struct job *job)
{
	IFP_CLEANUP(ifp_clock_samples_free) struct ifp_clock_samples samples = {0};
	const struct ifp_buf *payload = &job->record.last_payload;

	assert_ok(ifp_clock_samples_decode(payload->data, payload->len_bytes, &samples));
	assert_int_equal(samples.edge_count, 1);
	return samples.edges[0].epoch;
}

/* Epochs in the archive have numbers without gaps, whatever was begun in vain. */
static void exchange_that_nothing_came_of_leaves_its_number_to_the_next(void **state)
{
	struct job job = {0};

	(void)state;
	start_running(&job, "ab", 1000);
	assert_int_equal(measure_all(&job, 1, 2 * S), 1);
	assert_int_equal(last_number(&job), 1);
	ifp_clocks_tick(job.clocks, 3 * S);
	expect_ask(&job, 0, 1, 2);
	report(&job, 0, 1, 2, "'outcome':'failed','reason':'no answer'");
	ifp_clocks_tick(job.clocks, 3 * S);
	assert_int_equal(measure_all(&job, 3, 4 * S), 1);
	assert_int_equal(last_number(&job), 2);
	ifp_clocks_tick(job.clocks, 5 * S);
	expect_ask(&job, 0, 1, 4); /* under way when the programs end */
	ifp_clocks_program_ended(job.clocks, 0, 5 * S);
	ifp_clocks_program_ended(job.clocks, 1, 5 * S);
	assert_int_equal(measure_all(&job, 5, 5 * S), 1);
	assert_int_equal(last_number(&job), 3);
	assert_int_equal(stored_edges(&job, 0), 4);
	stop(&job);
}

static void exchange_that_was_made_in_part_keeps_its_number(void **state)
{
	struct job job = {.cpus = 4};

	(void)state;
	start_running(&job, "AAAA", 1000);
	ifp_clocks_tick(job.clocks, 2 * S);
	expect_ask(&job, 0, 1, 1);
	expect_ask(&job, 2, 3, 1);
	report(&job, 2, 3, 1, MEASURED);
	assert_int_equal(last_number(&job), 1);
	for (uint32_t rank = 0; rank < 4; rank++)
		ifp_clocks_program_ended(job.clocks, rank, 2 * S);
	assert_int_equal(measure_all(&job, 2, 2 * S), 4);
	assert_int_equal(last_number(&job), 2);
	stop(&job);
}

static void ranks_that_run_on_are_compared_when_others_have_left(void **state)
{
	struct job job = {0};

	(void)state;
	start_running(&job, "abc", 30000);
	ifp_clocks_program_ended(job.clocks, 0, 2 * S);
	assert_int_equal(measure_all(&job, 1, 2 * S), 2);
	assert_int_equal(measure_all(&job, 2, 12 * S), 2); /* what rank 0 has waited for */
	assert_false(ifp_clocks_hold(job.clocks));
	/* 1 and 2 have no edge with each other in the plan of three */
	assert_int_equal(measure_all(&job, 3, 20 * S), 0);
	stop(&job);

	job = (struct job){0};
	start_running(&job, "abcd", 30000);
	ifp_clocks_program_ended(job.clocks, 3, 2 * S);
	assert_int_equal(measure_all(&job, 1, 2 * S), 4);
	assert_int_equal(measure_all(&job, 2, 12 * S), 4);
	assert_int_equal(measure_all(&job, 3, 20 * S), 2);
	ifp_clocks_program_ended(job.clocks, 2, 21 * S);
	ifp_clocks_program_ended(job.clocks, 1, 21 * S);
	ifp_clocks_program_ended(job.clocks, 0, 21 * S);
	assert_int_equal(measure_all(&job, 4, 40 * S), 0);
	stop(&job);
}

static void lost_rank_holds_nobody_up_and_the_others_go_on(void **state)
{
	struct job job = {0};

	(void)state;
	start_running(&job, "abcd", 1000);
	ifp_clocks_gone(job.clocks, 2);
	assert_false(ifp_clocks_hold(job.clocks));
	assert_int_equal(measure_all(&job, 1, 2 * S), 2);
	/* its agent is heard of again */
	ifp_clocks_heartbeat(job.clocks, 2, true, 2 * S);
	assert_int_equal(measure_all(&job, 2, 3 * S), 4);
	stop(&job);
}

/* The ranks of an archive, "ended" those with a dot below them; nobody is back yet. */
static void start_again(struct job *job, const char *machines, const char *ended, uint32_t number)
{
	uint32_t world = (uint32_t)strlen(machines);

	job->interval_ms = 1000;
	start(job, machines, "torchrun", "auto");
	ifp_clocks_free(&job->clocks);
	assert_ok(ifp_clocks_new(&job->record.outlet, NULL, world, &job->clocks));
	for (uint32_t rank = 0; rank < world; rank++)
		if (ended[rank] == '.')
			ifp_roster_ended(&job->roster, rank);
	ifp_clocks_wish(job->clocks, job->roster.members[0].hello);
	ifp_clocks_resume(job->clocks, &job->roster, number, 0, S);
}

static void come_back(struct job *job, uint32_t rank)
{
	ifp_clocks_join(job->clocks, rank, ifp_roster_member(&job->roster, rank));
}

static void collector_that_was_started_again_goes_on_with_the_next_number(void **state)
{
	struct job job = {0};

	(void)state;
	start_again(&job, "ab", "  ", 7);
	come_back(&job, 1);
	come_back(&job, 0);
	assert_int_equal(measure_all(&job, 8, S + IFP_CLOCKS_RETURN_NS - 1), 0);
	assert_int_equal(measure_all(&job, 8, S + IFP_CLOCKS_RETURN_NS), 1);
	assert_int_equal(last_number(&job), 7);
	assert_int_equal(measure_all(&job, 9, 2 * S + IFP_CLOCKS_RETURN_NS), 1);
	assert_int_equal(last_number(&job), 8);
	ifp_clocks_program_ended(job.clocks, 0, 8 * S);
	assert_true(ifp_clocks_hold(job.clocks));
	ifp_clocks_program_ended(job.clocks, 1, 8 * S);
	/* the one that fell due meanwhile is not waited for */
	assert_int_equal(measure_all(&job, 10, 8 * S), 1);
	assert_int_equal(last_number(&job), 9);
	assert_false(ifp_clocks_hold(job.clocks));
	stop(&job);
}

/* That one has ended is no reason for the last epoch: others run on, and have yet to come back. */
static void last_epoch_waits_for_those_who_have_yet_to_come_back(void **state)
{
	struct job job = {0};

	(void)state;
	start_again(&job, "abc", " . ", 3);
	assert_int_equal(measure_all(&job, 4, 2 * S), 0);
	assert_true(ifp_clocks_hold(job.clocks));
	come_back(&job, 0);
	come_back(&job, 2);
	come_back(&job, 1); /* it has waited for CLOSED */
	assert_int_equal(measure_all(&job, 4, S + IFP_CLOCKS_RETURN_NS), 2);
	ifp_clocks_program_ended(job.clocks, 0, 7 * S);
	ifp_clocks_program_ended(job.clocks, 2, 7 * S);
	assert_int_equal(measure_all(&job, 5, 7 * S), 2);
	assert_false(ifp_clocks_hold(job.clocks));
	stop(&job);

	/* one that does not come back is lost: then nobody is held up */
	job = (struct job){0};
	start_again(&job, "ab", "  ", 3);
	come_back(&job, 0);
	ifp_clocks_gone(job.clocks, 1);
	assert_false(ifp_clocks_hold(job.clocks));
	stop(&job);
}

static void ranks_with_one_clock_are_not_held_up_after_a_restart(void **state)
{
	struct job job = {0};

	(void)state;
	start_again(&job, "aa", "  ", 0);
	assert_false(ifp_clocks_hold(job.clocks));
	come_back(&job, 0);
	come_back(&job, 1);
	assert_false(ifp_clocks_hold(job.clocks));
	stop(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_are_compared_again_while_programs_run),
		cmocka_unit_test(clocks_that_do_as_predicted_are_compared_every_30_s_in_the_end),
		cmocka_unit_test(
			pairs_of_a_round_measure_at_the_same_time_where_there_are_processors),
		cmocka_unit_test(ranks_that_share_processors_measure_one_pair_at_a_time),
		cmocka_unit_test(agent_that_does_not_answer_costs_an_epoch_one_second),
		cmocka_unit_test(agent_that_nobody_reaches_is_tried_twice_an_epoch),
		cmocka_unit_test(silent_rank_is_replaced_by_one_with_the_same_clock),
		cmocka_unit_test(losses_of_a_long_run_are_counted_in_two_rows),
		cmocka_unit_test(
			end_of_the_programs_does_not_wait_for_an_exchange_that_was_only_due),
		cmocka_unit_test(exchange_that_nothing_came_of_leaves_its_number_to_the_next),
		cmocka_unit_test(exchange_that_was_made_in_part_keeps_its_number),
		cmocka_unit_test(ranks_that_run_on_are_compared_when_others_have_left),
		cmocka_unit_test(collector_that_was_started_again_goes_on_with_the_next_number),
		cmocka_unit_test(last_epoch_waits_for_those_who_have_yet_to_come_back),
		cmocka_unit_test(ranks_with_one_clock_are_not_held_up_after_a_restart),
		cmocka_unit_test(lost_rank_holds_nobody_up_and_the_others_go_on),
	};

	return RUN_TESTS(tests);
}
