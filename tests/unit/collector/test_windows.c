/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/windows.h"

#include "core/segment.h"

#include "outlet_record.h"

#define S IFP_NS_PER_S
#define WORLD 3u
#define REALTIME_NS INT64_C(1800000000000000000)
#define TRAINS (IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_STEPPED | IFP_HOOK_ARMED)
#define INFERS (IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_ARMED | IFP_HOOK_FORWARD)

/* A job of three ranks and the windows that its user wants. */
struct job {
	struct record record;
	struct ifp_windows *windows;
	int64_t now_ns;
};

static void start(struct job *job, const char *wishes)
{
	IFP_CLEANUP_DOCUMENT cJSON *hello = document_from(wishes);

	record_init(&job->record);
	job->now_ns = 1000 * S;
	assert_ok(ifp_windows_new(&job->record.outlet, WORLD, &job->windows));
	assert_ok(ifp_windows_wish(job->windows, hello));
}

static void stop(struct job *job)
{
	ifp_windows_free(&job->windows);
	record_free(&job->record);
}

static void tick(struct job *job, int64_t later_ns)
{
	job->now_ns += later_ns;
	ifp_windows_tick(job->windows, (struct ifp_moment){job->now_ns, REALTIME_NS + job->now_ns});
}

static void beat(struct job *job, uint32_t rank, uint64_t steps, uint32_t hook)
{
	struct ifp_heartbeat heartbeat = {.steps = steps, .hook = hook, .running = true};

	ifp_windows_heartbeat(job->windows, rank, &heartbeat, job->now_ns);
}

/* All ranks step, 10 steps a second, and stand at step 10. */
static void get_going(struct job *job)
{
	for (uint32_t rank = 0; rank < WORLD; rank++)
		beat(job, rank, 1, TRAINS);
	tick(job, 900 * IFP_NS_PER_MS);
	for (uint32_t rank = 0; rank < WORLD; rank++)
		beat(job, rank, 10, TRAINS);
	tick(job, 0);
}

static void vote(struct job *job, uint32_t rank, int window, int attempt, bool accepted, int steps)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();

	cJSON_AddNumberToObject(document, "window", window);
	cJSON_AddNumberToObject(document, "attempt", attempt);
	cJSON_AddBoolToObject(document, "accepted", accepted);
	cJSON_AddNumberToObject(document, "steps", steps);
	if (!accepted)
		cJSON_AddStringToObject(document, "reason", "already past it");
	ifp_windows_ack(job->windows, rank, document);
}

static cJSON *done_document(
	int window, int attempt, const char *outcome, int first_step, int last_step)
{
	cJSON *document = cJSON_CreateObject();

	cJSON_AddNumberToObject(document, "window", window);
	cJSON_AddNumberToObject(document, "attempt", attempt);
	cJSON_AddStringToObject(document, "outcome", outcome);
	cJSON_AddNumberToObject(document, "first_step", first_step);
	cJSON_AddNumberToObject(document, "last_step", last_step);
	return document;
}

static void done(struct job *job, uint32_t rank, int window, int attempt, const char *outcome,
	int first_step, int last_step)
{
	IFP_CLEANUP_DOCUMENT cJSON *document =
		done_document(window, attempt, outcome, first_step, last_step);

	ifp_windows_done(job->windows, rank, document);
}

/* The program has ended inside the window; the steps until then were recorded. */
static void done_cut(struct job *job, uint32_t rank, int first_step, int last_step)
{
	IFP_CLEANUP_DOCUMENT cJSON *document =
		done_document(0, 0, "recorded", first_step, last_step);

	cJSON_AddTrueToObject(document, "cut");
	cJSON_AddStringToObject(document, "reason", "the program ended inside the window");
	ifp_windows_done(job->windows, rank, document);
}

static uint64_t planned_first_step(struct job *job, uint32_t rank, int attempt)
{
	const cJSON *plan = record_message(&job->record, IFP_MSG_WINDOW_PLAN, rank);

	assert_non_null(plan);
	assert_string_equal(ifp_document_get_text(plan, "kind"), "steps");
	assert_int_equal(ifp_document_get_count(plan, "attempt"), attempt);
	return ifp_document_get_count(plan, "first_step");
}

static bool told(struct job *job, enum ifp_message_type type, uint32_t rank)
{
	return record_message(&job->record, type, rank) != NULL;
}

static void all_ranks_record_the_same_steps(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}],'warmup':2}");
	get_going(&job);
	/* 10 counted + 40 that a rank makes in 4 s at 10 a second + 2 of warm-up */
	for (uint32_t rank = 0; rank < WORLD; rank++)
		assert_int_equal(planned_first_step(&job, rank, 0), 52);
	vote(&job, 0, 0, 0, true, 10);
	vote(&job, 1, 0, 0, true, 10);
	tick(&job, S / 10);
	assert_false(told(&job, IFP_MSG_WINDOW_GO, 0)); /* one has not voted yet */
	vote(&job, 2, 0, 0, true, 11);
	tick(&job, 0);
	for (uint32_t rank = 0; rank < WORLD; rank++)
		assert_true(told(&job, IFP_MSG_WINDOW_GO, rank));
	for (uint32_t rank = 0; rank < WORLD; rank++)
		done(&job, rank, 0, 0, "recorded", 52, 56);
	tick(&job, 8 * S);
	ifp_windows_close(job.windows);
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 0));
	for (size_t i = 0; i < job.record.count; i++)
		assert_int_not_equal(job.record.entries[i].frame, IFP_FRAME_LEDGER);
	stop(&job);
}

static void nobody_is_asked_before_all_have_counted_three_steps(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}]}");
	beat(&job, 0, 1, TRAINS);
	beat(&job, 1, 1, TRAINS);
	beat(&job, 2, 1, TRAINS);
	tick(&job, S);
	beat(&job, 0, 4, TRAINS);
	beat(&job, 1, 4, TRAINS);
	beat(&job, 2, 2, TRAINS);
	tick(&job, 0);
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 0));
	tick(&job, S);
	beat(&job, 2, 4, TRAINS);
	tick(&job, 0);
	assert_true(told(&job, IFP_MSG_WINDOW_PLAN, 0));
	stop(&job);
}

static void rank_without_a_counter_does_not_vote(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}]}");
	beat(&job, 2, 0, 0); /* no Python: nothing to wait for */
	beat(&job, 0, 1, TRAINS);
	beat(&job, 1, 1, TRAINS);
	tick(&job, S);
	beat(&job, 0, 4, TRAINS);
	beat(&job, 1, 4, TRAINS);
	tick(&job, 0);
	planned_first_step(&job, 0, 0);
	planned_first_step(&job, 1, 0);
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 2));
	vote(&job, 0, 0, 0, true, 4);
	vote(&job, 1, 0, 0, true, 4);
	tick(&job, 0);
	assert_true(told(&job, IFP_MSG_WINDOW_GO, 1));
	assert_false(told(&job, IFP_MSG_WINDOW_GO, 2));
	stop(&job);
}

static void rank_that_may_still_step_is_waited_for_10_s_at_most(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}]}");
	beat(&job, 2, 0, IFP_HOOK_LOADED | IFP_HOOK_TORCH);
	beat(&job, 0, 1, TRAINS);
	beat(&job, 1, 1, TRAINS);
	tick(&job, S);
	beat(&job, 0, 4, TRAINS);
	beat(&job, 1, 4, TRAINS);
	tick(&job, 9 * S);
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 0));
	tick(&job, S);
	assert_true(told(&job, IFP_MSG_WINDOW_PLAN, 0));
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 2));
	stop(&job);
}

static void refusal_makes_all_try_again_later(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}]}");
	get_going(&job);
	for (uint32_t rank = 0; rank < WORLD; rank++)
		assert_int_equal(planned_first_step(&job, rank, 0), 50);
	vote(&job, 0, 0, 0, true, 10);
	vote(&job, 1, 0, 0, false, 60);
	vote(&job, 2, 0, 0, true, 10);
	tick(&job, 0);
	assert_false(told(&job, IFP_MSG_WINDOW_GO, 0));
	/* from the counter in the refusal, and with twice the time */
	for (uint32_t rank = 0; rank < WORLD; rank++)
		assert_int_equal(planned_first_step(&job, rank, 1), 60 + 80);
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "window-retried"), 1);
	vote(&job, 0, 0, 0, true, 60); /* of the attempt before: too late, ignored */
	tick(&job, 0);
	assert_false(told(&job, IFP_MSG_WINDOW_GO, 0));
	for (uint32_t rank = 0; rank < WORLD; rank++)
		vote(&job, rank, 0, 1, true, 60);
	tick(&job, 0);
	assert_true(told(&job, IFP_MSG_WINDOW_GO, 1));
	stop(&job);
}

static void rank_that_refuses_three_times_is_left_out(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}]}");
	get_going(&job);
	for (int attempt = 0; attempt < 3; attempt++) {
		uint64_t first = planned_first_step(&job, 0, attempt);

		assert_false(told(&job, IFP_MSG_WINDOW_GO, 0));
		vote(&job, 0, 0, attempt, true, 10);
		vote(&job, 1, 0, attempt, false, (int)first);
		vote(&job, 2, 0, attempt, true, 10);
		tick(&job, 0);
	}
	assert_true(told(&job, IFP_MSG_WINDOW_GO, 0));
	assert_false(told(&job, IFP_MSG_WINDOW_GO, 1));
	assert_true(told(&job, IFP_MSG_WINDOW_GO, 2));
	done(&job, 0, 0, 2, "recorded", 0, 0); /* not what was asked, and the last attempt */
	done(&job, 2, 0, 2, "empty", 0, 0);
	tick(&job, 20 * S);
	assert_int_equal(record_rows(&job.record, 0, "window-other-steps"), 1);
	assert_int_equal(record_rows(&job.record, 1, "window-lost"), 1);
	assert_int_equal(record_rows(&job.record, 2, "window-lost"), 1);
	stop(&job);
}

static void no_vote_within_2_s_counts_as_refusal(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}]}");
	get_going(&job);
	vote(&job, 0, 0, 0, true, 10);
	vote(&job, 1, 0, 0, true, 10);
	tick(&job, 2 * S - 1);
	planned_first_step(&job, 2, 0);
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 2));
	tick(&job, 1);
	planned_first_step(&job, 2, 1);
	stop(&job);
}

static void other_steps_than_asked_are_asked_for_again(void **state)
{
	struct job job;
	uint64_t first;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}]}");
	get_going(&job);
	for (uint32_t rank = 0; rank < WORLD; rank++) {
		planned_first_step(&job, rank, 0);
		vote(&job, rank, 0, 0, true, 10);
	}
	tick(&job, 0);
	done(&job, 0, 0, 0, "recorded", 50, 54);
	done(&job, 1, 0, 0, "recorded", 51, 55);
	done(&job, 2, 0, 0, "recorded", 50, 54);
	tick(&job, 8 * S);
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "window-retried"), 1);
	for (uint32_t rank = 0; rank < WORLD; rank++) {
		first = planned_first_step(&job, rank, 1);
		vote(&job, rank, 0, 1, true, 90);
	}
	tick(&job, 0);
	for (uint32_t rank = 0; rank < WORLD; rank++)
		done(&job, rank, 0, 1, "recorded", (int)first, (int)first + 4);
	tick(&job, 8 * S);
	assert_int_equal(record_rows(&job.record, 1, "window-other-steps"), 0);
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 0));
	stop(&job);
}

static void program_that_ends_inside_the_window_is_not_asked_again(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5},{'first':0,'count':5}]}");
	get_going(&job);
	for (uint32_t rank = 0; rank < WORLD; rank++) {
		planned_first_step(&job, rank, 0);
		vote(&job, rank, 0, 0, true, 10);
	}
	tick(&job, 0);
	done(&job, 0, 0, 0, "ended", 0, 0);
	ifp_windows_gone(job.windows, 0);
	ifp_windows_gone(job.windows, 1);
	ifp_windows_gone(job.windows, 2);
	tick(&job, 0);
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 0));
	for (uint32_t rank = 0; rank < WORLD; rank++)
		assert_int_equal(record_rows(&job.record, rank, "window-lost"), 1);
	ifp_windows_close(job.windows); /* the second window */
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "window-lost"), 1);
	stop(&job);
}

/* They are about to be gone: there is nobody to ask again. */
static void window_that_the_end_of_the_program_cut_is_not_asked_for_again(void **state)
{
	struct job job;
	uint64_t first = 0;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}]}");
	get_going(&job);
	for (uint32_t rank = 0; rank < WORLD; rank++) {
		first = planned_first_step(&job, rank, 0);
		vote(&job, rank, 0, 0, true, 10);
	}
	tick(&job, 0);
	for (uint32_t rank = 0; rank < WORLD; rank++)
		done_cut(&job, rank, (int)first, (int)first + 2);
	tick(&job, 0);
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 0));
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "window-retried"), 0);
	for (uint32_t rank = 0; rank < WORLD; rank++)
		assert_int_equal(record_rows(&job.record, rank, "window-other-steps"), 1);
	stop(&job);
}

static void missing_result_is_given_up_5_min_after_the_window(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}]}");
	get_going(&job);
	for (uint32_t rank = 0; rank < WORLD; rank++) {
		planned_first_step(&job, rank, 0);
		vote(&job, rank, 0, 0, true, 10);
	}
	tick(&job, 0);
	done(&job, 0, 0, 0, "recorded", 50, 54);
	done(&job, 1, 0, 0, "recorded", 50, 54);
	tick(&job, 1000 * S); /* the last rank has not got there: slow steps are no loss */
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 2));
	beat(&job, 2, 55, TRAINS);
	tick(&job, 0);
	tick(&job, 300 * S - 1);
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "window-retried"), 0);
	tick(&job, 1);
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "window-retried"), 1);
	stop(&job);
}

static void named_steps_are_recorded_when_they_lie_ahead(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':200,'count':6}],'warmup':5}");
	get_going(&job);
	assert_int_equal(planned_first_step(&job, 0, 0), 200);
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "window-other-steps"), 0);
	stop(&job);
}

static void named_steps_that_come_too_early_are_replaced_and_said_so(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':2,'count':6}]}");
	get_going(&job);
	assert_int_equal(planned_first_step(&job, 0, 0), 50);
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "window-other-steps"), 1);
	stop(&job);
}

static void inference_gets_one_wall_clock_window_for_all(void **state)
{
	struct job job;
	const cJSON *plan;
	int64_t start_ms = 0;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}],'duration_ms':750}");
	for (uint32_t rank = 0; rank < WORLD; rank++)
		beat(&job, rank, 0, rank == 1 ? IFP_HOOK_LOADED | IFP_HOOK_NO_SYMBOL : INFERS);
	tick(&job, 5 * S - 1); /* an evaluation before training looks the same for a while */
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 0));
	tick(&job, 1);
	plan = record_message(&job.record, IFP_MSG_WINDOW_PLAN, 0);
	assert_non_null(plan);
	assert_string_equal(ifp_document_get_text(plan, "kind"), "time");
	assert_true(ifp_document_get_int(plan, "start_realtime_ms", &start_ms));
	assert_int_equal(start_ms, (REALTIME_NS + job.now_ns + 4 * S) / IFP_NS_PER_MS);
	assert_int_equal(ifp_document_get_count(plan, "duration_ms"), 750);
	assert_false(told(&job, IFP_MSG_WINDOW_PLAN, 1)); /* cannot be armed */
	vote(&job, 0, 0, 0, true, 0);
	vote(&job, 2, 0, 0, true, 0);
	tick(&job, 0);
	assert_true(told(&job, IFP_MSG_WINDOW_GO, 2));
	done(&job, 0, 0, 0, "recorded", 0, 0);
	done(&job, 2, 0, 0, "recorded", 0, 0);
	tick(&job, 6 * S);
	ifp_windows_close(job.windows);
	assert_int_equal(record_frames(&job.record, IFP_FRAME_LEDGER, 0), 0);
	assert_int_equal(record_frames(&job.record, IFP_FRAME_LEDGER, IFP_FRAME_NO_RANK), 0);
	stop(&job);
}

static void no_wishes_no_windows(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[]}");
	get_going(&job);
	ifp_windows_close(job.windows);
	assert_int_equal(job.record.count, 0);
	stop(&job);
}

static void program_that_ends_early_gets_a_row(void **state)
{
	struct job job;

	(void)state;
	start(&job, "{'windows':[{'first':0,'count':5}]}");
	get_going(&job);
	for (uint32_t rank = 0; rank < WORLD; rank++)
		ifp_windows_gone(job.windows, rank);
	tick(&job, 0);
	ifp_windows_close(job.windows);
	assert_int_equal(record_rows(&job.record, IFP_FRAME_NO_RANK, "window-lost"), 1);
	stop(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_ranks_record_the_same_steps),
		cmocka_unit_test(nobody_is_asked_before_all_have_counted_three_steps),
		cmocka_unit_test(rank_without_a_counter_does_not_vote),
		cmocka_unit_test(rank_that_may_still_step_is_waited_for_10_s_at_most),
		cmocka_unit_test(refusal_makes_all_try_again_later),
		cmocka_unit_test(rank_that_refuses_three_times_is_left_out),
		cmocka_unit_test(no_vote_within_2_s_counts_as_refusal),
		cmocka_unit_test(other_steps_than_asked_are_asked_for_again),
		cmocka_unit_test(program_that_ends_inside_the_window_is_not_asked_again),
		cmocka_unit_test(window_that_the_end_of_the_program_cut_is_not_asked_for_again),
		cmocka_unit_test(missing_result_is_given_up_5_min_after_the_window),
		cmocka_unit_test(named_steps_are_recorded_when_they_lie_ahead),
		cmocka_unit_test(named_steps_that_come_too_early_are_replaced_and_said_so),
		cmocka_unit_test(inference_gets_one_wall_clock_window_for_all),
		cmocka_unit_test(no_wishes_no_windows),
		cmocka_unit_test(program_that_ends_early_gets_a_row),
	};

	return RUN_TESTS(tests);
}
