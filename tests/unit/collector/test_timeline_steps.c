/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/steps.h"

#include "core/cleanup.h"
#include "test.h"

static struct ifp_timed_event mark(int64_t number, int64_t at_ns)
{
	return (struct ifp_timed_event){
		.event = {.kind = IFP_EVENT_INSTANT,
			.source = IFP_SOURCE_STEP,
			.correlation = (uint64_t)number,
			.category = ifp_str("step")},
		.start_ns = at_ns,
	};
}

static struct ifp_timed_event slice(const char *name, int64_t start_ns, int64_t dur_ns)
{
	return (struct ifp_timed_event){
		.event = {.kind = IFP_EVENT_SLICE,
			.source = IFP_SOURCE_KINETO,
			.category = ifp_str("user_annotation"),
			.name = ifp_str(name)},
		.start_ns = start_ns,
		.dur_ns = dur_ns,
	};
}

static struct ifp_steps collect(struct ifp_timed_event *events, uint64_t count)
{
	static const uint32_t lane_of[16];
	const struct ifp_rank_events loaded = {.events = events, .count = count};
	struct ifp_steps steps = {0};

	assert_ok(ifp_steps_collect(&loaded, lane_of, &steps));
	return steps;
}

static void a_step_lasts_from_mark_to_mark(void **state)
{
	struct ifp_timed_event events[] = {mark(7, 100), mark(8, 250), mark(9, 300)};
	IFP_CLEANUP_STEPS struct ifp_steps steps = collect(events, 3);

	(void)state;
	assert_int_equal(steps.origin, IFP_STEPS_MARKS);
	assert_int_equal(steps.count, 3);
	assert_false(steps.items[0].whole); /* nothing says when it began */
	assert_true(steps.items[1].whole);
	assert_int_equal(steps.items[1].number, 8);
	assert_int_equal(steps.items[1].start_ns, 100);
	assert_int_equal(steps.items[1].end_ns, 250);
}

static void after_a_lost_mark_the_start_is_not_known(void **state)
{
	struct ifp_timed_event events[] = {mark(7, 100), mark(9, 300), mark(10, 400)};
	IFP_CLEANUP_STEPS struct ifp_steps steps = collect(events, 3);

	(void)state;
	assert_false(steps.items[1].whole);
	assert_true(steps.items[2].whole);
}

static void marks_come_before_the_profilers_own_steps(void **state)
{
	struct ifp_timed_event events[] = {
		slice("ProfilerStep#3", 50, 100), mark(7, 100), mark(8, 250)};
	IFP_CLEANUP_STEPS struct ifp_steps steps = collect(events, 3);

	(void)state;
	assert_int_equal(steps.origin, IFP_STEPS_MARKS);
	assert_int_equal(steps.count, 2);
}

static void the_profilers_own_steps_serve_where_there_are_no_marks(void **state)
{
	struct ifp_timed_event events[] = {slice("ProfilerStep#3", 50, 100), slice("other", 60, 10),
		slice("ProfilerStep#4", 150, 80)};
	IFP_CLEANUP_STEPS struct ifp_steps steps = collect(events, 3);

	(void)state;
	assert_int_equal(steps.origin, IFP_STEPS_PROFILER);
	assert_int_equal(steps.count, 2);
	assert_int_equal(steps.items[1].number, 4);
	assert_true(steps.items[1].whole);
	assert_int_equal(steps.items[1].end_ns, 230);
}

static void a_moment_belongs_to_the_step_that_it_is_in(void **state)
{
	struct ifp_timed_event events[] = {mark(7, 100), mark(8, 250), mark(9, 300)};
	IFP_CLEANUP_STEPS struct ifp_steps steps = collect(events, 3);

	(void)state;
	assert_null(ifp_steps_at(&steps, 99));
	assert_int_equal(ifp_steps_at(&steps, 100)->number, 8);
	assert_int_equal(ifp_steps_at(&steps, 249)->number, 8);
	assert_int_equal(ifp_steps_at(&steps, 250)->number, 9);
	assert_null(ifp_steps_at(&steps, 300));
}

static void only_the_exact_name_is_a_profiler_step(void **state)
{
	int64_t number = -1;

	(void)state;
	assert_true(ifp_profiler_step(ifp_str("ProfilerStep#12"), &number));
	assert_int_equal(number, 12);
	assert_false(ifp_profiler_step(ifp_str("ProfilerStep#"), &number));
	assert_false(ifp_profiler_step(ifp_str("ProfilerStep#1 rank 3"), &number));
	assert_false(ifp_profiler_step(ifp_str("ProfilerStep#9999999999999999999"), &number));
	assert_false(ifp_profiler_step(ifp_str("Optimizer.step#SGD.step"), &number));
	assert_int_equal(number, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_lasts_from_mark_to_mark),
		cmocka_unit_test(after_a_lost_mark_the_start_is_not_known),
		cmocka_unit_test(marks_come_before_the_profilers_own_steps),
		cmocka_unit_test(the_profilers_own_steps_serve_where_there_are_no_marks),
		cmocka_unit_test(a_moment_belongs_to_the_step_that_it_is_in),
		cmocka_unit_test(only_the_exact_name_is_a_profiler_step),
	};

	return RUN_TESTS(tests);
}
