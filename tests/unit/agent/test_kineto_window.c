/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/kineto_window.h"

#include "test.h"

#include <errno.h>

#define SECONDS(n) ((n)*IFP_NS_PER_S)
#define NO_FILE (-1)

static const struct ifp_window steps_20_to_24 = {
	.number = 1, .kind = IFP_WINDOW_STEPS, .first_step = 20, .count = 5};

/* 300 ms from the wall-clock second 1000 on. */
static const struct ifp_window time_at_1000_s = {
	.kind = IFP_WINDOW_TIME, .start_realtime_ms = 1000000, .duration_ms = 300};

static struct ifp_window_moment at(int64_t raw_ns, uint64_t steps)
{
	return (struct ifp_window_moment){.raw_ns = raw_ns, .steps = steps};
}

/* A moment of a program without steps, raw and wall clock running together. */
static struct ifp_window_moment at_ms(int64_t realtime_ms)
{
	return (struct ifp_window_moment){
		.raw_ns = realtime_ms * IFP_NS_PER_MS, .realtime_ms = realtime_ms};
}

static struct ifp_window_track offered(const struct ifp_window *window, uint64_t steps)
{
	struct ifp_window_track track = {0};

	assert_ok(ifp_window_offer(&track, window, at(0, steps)));
	return track;
}

static void assert_closed(
	const struct ifp_window_track *track, enum ifp_window_outcome outcome, const char *part)
{
	assert_int_equal(track->state, IFP_WINDOW_CLOSED);
	assert_int_equal(track->outcome, outcome);
	if (!strstr(track->reason, part))
		fail_msg("\"%s\" is not in \"%s\"", part, track->reason);
}

static void steps_are_asked_for_with_the_offset_of_kineto(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};

	(void)state;
	ifp_window_config(&steps_20_to_24, "/tmp/x/window1-0.json", &text);
	ifp_buf_append_u8(&text, '\0');
	assert_string_equal((const char *)text.data, "ACTIVITIES_LOG_FILE=/tmp/x/window1-0.json\n"
						     "PROFILE_REPORT_INPUT_SHAPES=true\n"
						     "PROFILE_START_ITERATION=18\n"
						     "ACTIVITIES_ITERATIONS=5\n");
}

static void a_time_is_asked_for_in_milliseconds(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};

	(void)state;
	ifp_window_config(&time_at_1000_s, "/tmp/x/window0-0.json", &text);
	ifp_buf_append_u8(&text, '\0');
	assert_string_equal((const char *)text.data, "ACTIVITIES_LOG_FILE=/tmp/x/window0-0.json\n"
						     "PROFILE_REPORT_INPUT_SHAPES=true\n"
						     "PROFILE_START_TIME=1000000\n"
						     "ACTIVITIES_DURATION_MSECS=300\n"
						     "ACTIVITIES_WARMUP_PERIOD_SECS=1\n");
}

static void a_window_goes_its_way(void **state)
{
	struct ifp_window_track track = offered(&steps_20_to_24, 5);

	(void)state;
	assert_true(ifp_window_ask(&track, true, at(SECONDS(1), 10)));
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
	/* Handed over once, however often Kineto asks. */
	assert_false(ifp_window_ask(&track, true, at(SECONDS(2), 15)));
	ifp_window_look(&track, 0, false, at(SECONDS(3), 24));
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
	ifp_window_look(&track, 5000, true, at(SECONDS(4), 30));
	assert_int_equal(track.state, IFP_WINDOW_WRITTEN);
	ifp_window_close(&track, IFP_WINDOW_RECORDED, NULL);
	assert_closed(&track, IFP_WINDOW_RECORDED, "");
	assert_string_equal(track.reason, "");
}

static void one_window_at_a_time(void **state)
{
	struct ifp_window_track track = offered(&steps_20_to_24, 5);

	(void)state;
	assert_int_equal(ifp_window_offer(&track, &steps_20_to_24, at(0, 5)), -EBUSY);
	ifp_error_clear();
}

static void windows_that_cannot_be_are_refused(void **state)
{
	const struct ifp_window impossible[] = {
		{.kind = IFP_WINDOW_STEPS, .first_step = 20, .count = 0},
		{.kind = IFP_WINDOW_STEPS, .first_step = 2, .count = 5},
		{.kind = IFP_WINDOW_STEPS, .first_step = UINT64_MAX, .count = 5},
		{.kind = IFP_WINDOW_TIME, .start_realtime_ms = 1000, .duration_ms = 0},
	};
	struct ifp_window_track track = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++)
		assert_int_equal(ifp_window_offer(&track, &impossible[i], at(0, 5)), -EINVAL);
	assert_int_equal(track.state, IFP_WINDOW_NONE);
	ifp_error_clear();
}

/* Step 17 is the last after which iteration 18 still lies ahead. */
static void a_start_that_is_too_near_is_late(void **state)
{
	struct ifp_window_track track = offered(&steps_20_to_24, 5);

	(void)state;
	assert_true(ifp_window_ask(&track, true, at(SECONDS(1), 17)));
	track = offered(&steps_20_to_24, 5);
	assert_false(ifp_window_ask(&track, true, at(SECONDS(1), 18)));
	assert_closed(&track, IFP_WINDOW_LATE, "asked after step 18");
}

static void a_time_without_room_for_the_warm_up_is_late(void **state)
{
	struct ifp_window_track track = {0};

	(void)state;
	assert_ok(ifp_window_offer(&track, &time_at_1000_s, at_ms(997000)));
	assert_true(ifp_window_ask(&track, true, at_ms(997750)));
	track = (struct ifp_window_track){0};
	assert_ok(ifp_window_offer(&track, &time_at_1000_s, at_ms(997000)));
	assert_false(ifp_window_ask(&track, true, at_ms(997751)));
	assert_closed(&track, IFP_WINDOW_LATE, "asked 2249 ms before the start");
}

static void a_busy_profiler_is_asked_again_until_it_is_late(void **state)
{
	struct ifp_window_track track = offered(&steps_20_to_24, 5);

	(void)state;
	assert_false(ifp_window_ask(&track, false, at(SECONDS(1), 10)));
	assert_int_equal(track.state, IFP_WINDOW_OFFERED);
	assert_false(ifp_window_ask(&track, false, at(SECONDS(2), 18)));
	assert_closed(&track, IFP_WINDOW_LATE, "busy");
}

/* Asked at the first steps, Kineto records something else. */
static void a_program_must_have_counted_some_steps(void **state)
{
	struct ifp_window_track track = offered(&steps_20_to_24, 0);

	(void)state;
	assert_false(ifp_window_ask(&track, true, at(SECONDS(1), 2)));
	assert_true(ifp_window_ask(&track, true, at(SECONDS(2), 3)));
}

static void silence_means_not_armed(void **state)
{
	struct ifp_window_track track = offered(&steps_20_to_24, 5);

	(void)state;
	ifp_window_look(&track, NO_FILE, false, at(SECONDS(5), 6));
	assert_int_equal(track.state, IFP_WINDOW_OFFERED);
	ifp_window_look(&track, NO_FILE, false, at(SECONDS(5) + 1, 7));
	assert_closed(&track, IFP_WINDOW_LOST, "not armed");
}

static void a_request_ends_the_silence(void **state)
{
	struct ifp_window_track track = offered(&steps_20_to_24, 5);

	(void)state;
	assert_false(ifp_window_ask(&track, false, at(SECONDS(4), 6)));
	ifp_window_look(&track, NO_FILE, false, at(SECONDS(9), 7));
	assert_int_equal(track.state, IFP_WINDOW_OFFERED);
}

/* Kineto asks at these whole seconds, as it does every second, busy or idle. */
static void asks_each_second(
	struct ifp_window_track *track, int64_t from_s, int64_t to_s, bool idle, uint64_t steps)
{
	for (int64_t s = from_s; s <= to_s; s++) {
		assert_false(ifp_window_ask(track, idle, at(SECONDS(s), steps)));
		ifp_window_look(track, track->file_bytes_seen, false, at(SECONDS(s), steps));
	}
}

static struct ifp_window_track taken(const struct ifp_window *window)
{
	struct ifp_window_track track = offered(window, 5);

	assert_true(ifp_window_ask(&track, true, at(SECONDS(1), 10)));
	return track;
}

/* Steps go on for ever behind the window: they must not keep it alive. */
static void a_profiler_that_is_idle_again_without_a_file_has_lost_the_window(void **state)
{
	struct ifp_window_track track = taken(&steps_20_to_24);

	(void)state;
	asks_each_second(&track, 2, 10, false, 24);
	asks_each_second(&track, 11, 14, true, 200);
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
	asks_each_second(&track, 15, 15, true, 201);
	assert_closed(&track, IFP_WINDOW_LOST, "wrote no file");
}

static void a_file_that_is_left_unfinished_is_a_lost_window(void **state)
{
	struct ifp_window_track track = taken(&steps_20_to_24);

	(void)state;
	ifp_window_look(&track, 0, false, at(SECONDS(3), 24));
	asks_each_second(&track, 4, 8, false, 24);
	asks_each_second(&track, 9, 13, true, 90);
	assert_closed(&track, IFP_WINDOW_LOST, "did not finish");
}

/* On a loaded machine Kineto sorts events for minutes before it writes the first. */
static void a_busy_profiler_never_loses_a_window(void **state)
{
	struct ifp_window_track track = taken(&steps_20_to_24);

	(void)state;
	ifp_window_look(&track, 0, false, at(SECONDS(3), 24));
	asks_each_second(&track, 4, 3000, false, 24);
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
	ifp_window_look(&track, 5000, true, at(SECONDS(3001), 24));
	assert_int_equal(track.state, IFP_WINDOW_WRITTEN);
}

/* It is idle until the window begins: that is no sign of its end. */
static void a_profiler_that_waits_for_the_first_step_is_idle(void **state)
{
	struct ifp_window_track track = taken(&steps_20_to_24);

	(void)state;
	for (int64_t s = 2; s < 100; s++)
		asks_each_second(&track, s, s, true, 11 + (uint64_t)s % 2);
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
}

static void a_window_that_never_began_is_lost_soon_after_its_end(void **state)
{
	struct ifp_window_track track = taken(&steps_20_to_24);

	(void)state;
	asks_each_second(&track, 2, 3, true, 15);
	/* The last step is seen at 4 s; idle counts from 7 s on. */
	asks_each_second(&track, 4, 10, true, 24);
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
	asks_each_second(&track, 11, 11, true, 24);
	assert_closed(&track, IFP_WINDOW_LOST, "wrote no file");
}

static void silence_for_two_minutes_is_the_last_deadline(void **state)
{
	struct ifp_window_track track = taken(&steps_20_to_24);

	(void)state;
	ifp_window_look(&track, NO_FILE, false, at(SECONDS(3), 24));
	ifp_window_look(&track, NO_FILE, false, at(SECONDS(123), 24));
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
	ifp_window_look(&track, NO_FILE, false, at(SECONDS(123) + 1, 24));
	assert_closed(&track, IFP_WINDOW_LOST, "fallen silent");
}

/* After step 22 of 20 to 24 the program ends; the hook ends the window for Kineto. */
static void the_end_of_the_program_cuts_the_window(void **state)
{
	struct ifp_window_track track = taken(&steps_20_to_24);
	struct ifp_window_moment end = at(SECONDS(3), 22);

	(void)state;
	end.leaving = true;
	ifp_window_look(&track, 0, false, end);
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
	assert_true(track.cut);
	assert_false(track.over);
	ifp_window_look(&track, 5000, true, end);
	assert_int_equal(track.state, IFP_WINDOW_WRITTEN);
}

/* It is for the process' end to say so: torch may take long to get there. */
static void a_program_that_ends_before_the_window_has_not_lost_it(void **state)
{
	struct ifp_window_track track = taken(&steps_20_to_24);

	(void)state;
	for (int64_t s = 2; s < 60; s++) {
		struct ifp_window_moment end = at(SECONDS(s), 17);

		end.leaving = true;
		assert_false(ifp_window_ask(&track, true, end));
		ifp_window_look(&track, NO_FILE, false, end);
	}
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
}

static void a_program_that_ends_after_the_window_does_not_cut_it(void **state)
{
	struct ifp_window_track track = taken(&steps_20_to_24);
	struct ifp_window_moment end = at(SECONDS(3), 24);

	(void)state;
	end.leaving = true;
	ifp_window_look(&track, 5000, true, end);
	assert_int_equal(track.state, IFP_WINDOW_WRITTEN);
	assert_false(track.cut);
}

static void a_file_that_grows_is_waited_for(void **state)
{
	struct ifp_window_track track = offered(&steps_20_to_24, 5);

	(void)state;
	assert_true(ifp_window_ask(&track, true, at(SECONDS(1), 10)));
	for (int64_t s = 3; s < 300; s += 20)
		ifp_window_look(&track, 1000 * s, false, at(SECONDS(s), 24));
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
}

/* A validation of five minutes before the window is no failure, a program that hangs is one. */
static void a_program_may_pause_but_not_for_ever(void **state)
{
	struct ifp_window_track track = offered(&steps_20_to_24, 5);

	(void)state;
	assert_true(ifp_window_ask(&track, true, at(SECONDS(1), 10)));
	asks_each_second(&track, 2, 602, true, 11);
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
	asks_each_second(&track, 603, 603, true, 11);
	assert_closed(&track, IFP_WINDOW_LOST, "stopped stepping");
}

static void a_time_window_waits_for_its_end(void **state)
{
	struct ifp_window_track track = {0};
	struct ifp_window_moment now;

	(void)state;
	assert_ok(ifp_window_offer(&track, &time_at_1000_s, at_ms(700000)));
	assert_true(ifp_window_ask(&track, true, at_ms(701000)));
	/* A program that ends does not end it: the hook waits. */
	for (int64_t ms = 702000; ms <= 1000000; ms += 1000) {
		now = at_ms(ms);
		now.leaving = true;
		assert_false(ifp_window_ask(&track, true, now));
		ifp_window_look(&track, NO_FILE, false, now);
	}
	assert_int_equal(track.state, IFP_WINDOW_TAKEN);
	/* Seen over at 1001 s, idle from 1004 s on. */
	for (int64_t ms = 1001000; ms <= 1008000; ms += 1000) {
		assert_false(ifp_window_ask(&track, true, at_ms(ms)));
		ifp_window_look(&track, NO_FILE, false, at_ms(ms));
	}
	assert_closed(&track, IFP_WINDOW_LOST, "wrote no file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_asked_for_with_the_offset_of_kineto),
		cmocka_unit_test(a_time_is_asked_for_in_milliseconds),
		cmocka_unit_test(a_window_goes_its_way),
		cmocka_unit_test(one_window_at_a_time),
		cmocka_unit_test(windows_that_cannot_be_are_refused),
		cmocka_unit_test(a_start_that_is_too_near_is_late),
		cmocka_unit_test(a_time_without_room_for_the_warm_up_is_late),
		cmocka_unit_test(a_busy_profiler_is_asked_again_until_it_is_late),
		cmocka_unit_test(a_program_must_have_counted_some_steps),
		cmocka_unit_test(silence_means_not_armed),
		cmocka_unit_test(a_request_ends_the_silence),
		cmocka_unit_test(a_profiler_that_is_idle_again_without_a_file_has_lost_the_window),
		cmocka_unit_test(a_file_that_is_left_unfinished_is_a_lost_window),
		cmocka_unit_test(a_busy_profiler_never_loses_a_window),
		cmocka_unit_test(a_profiler_that_waits_for_the_first_step_is_idle),
		cmocka_unit_test(a_window_that_never_began_is_lost_soon_after_its_end),
		cmocka_unit_test(silence_for_two_minutes_is_the_last_deadline),
		cmocka_unit_test(the_end_of_the_program_cuts_the_window),
		cmocka_unit_test(a_program_that_ends_before_the_window_has_not_lost_it),
		cmocka_unit_test(a_program_that_ends_after_the_window_does_not_cut_it),
		cmocka_unit_test(a_file_that_grows_is_waited_for),
		cmocka_unit_test(a_program_may_pause_but_not_for_ever),
		cmocka_unit_test(a_time_window_waits_for_its_end),
	};

	return RUN_TESTS(tests);
}
