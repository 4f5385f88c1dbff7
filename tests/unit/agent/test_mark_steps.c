/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: those of user code, those of the start-up hook, and whose they are. */
#include "mark_harness.h"

#include <sys/wait.h>
#include <unistd.h>

static void mark_user_steps(void)
{
	infprof_step_begin(1);
	infprof_step_end(1);
	infprof_step_begin(2);
	infprof_step_begin(3); /* ends step 2 */
	infprof_step_end(2);   /* not the step that is open */
	infprof_step_end(3);
}

static void steps_of_user_code_become_slices(void **state)
{
	const struct seen *second, *third;
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, mark_user_steps), 0);
	mark_test_drain(&test);
	assert_int_equal(test.count, 3);
	second = find_event(&test, "step 2");
	third = find_event(&test, "step 3");
	assert_int_equal(second->kind, IFP_EVENT_SLICE);
	assert_int_equal(second->source, IFP_SOURCE_MARK);
	assert_string_equal(second->category, "step");
	assert_int_equal(second->correlation, 2);
	assert_int_equal(second->start + second->dur, third->start);
	assert_int_equal(ifp_marks_counters(test.marks).pops_unmatched, 1);
	mark_test_end(&test);
}

/* The child's exit status says what the hook's functions returned. */
static void expect(bool condition, int status)
{
	if (!condition)
		_exit(status);
}

static void complete_three_steps(void)
{
	const struct infprof_api *api = infprof_get_();

	expect(api->step_completed() == 1, 1);
	expect(api->step_completed() == 2, 2);
	expect(api->step_completed() == 3, 3);
	api->note(IFP_HOOK_LOADED | IFP_HOOK_TORCH);
}

static void optimizer_steps_are_numbered_marked_and_counted(void **state)
{
	struct ifp_segment_header *segment;
	const struct seen *step;
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	segment = ifp_marks_segment(test.marks);
	assert_int_equal(mark_test_run(&test, complete_three_steps), 0);
	assert_int_equal(segment->step_count, 3);
	assert_int_equal(segment->step_claim_pid, test.child);
	assert_int_equal(segment->hook_bits, IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_STEPPED);
	mark_test_drain(&test);
	assert_int_equal(test.count, 3);
	step = find_event(&test, "step 3");
	assert_int_equal(step->kind, IFP_EVENT_INSTANT);
	assert_int_equal(step->source, IFP_SOURCE_STEP);
	assert_string_equal(step->category, "step");
	assert_int_equal(step->correlation, 3);
	mark_test_end(&test);
}

/* A worker, forked off, that steps in vain while the rank's process lives. */
static void step_beside_a_worker(void)
{
	const struct infprof_api *api = infprof_get_();
	int status;
	pid_t worker;

	expect(api->step_completed() == 1, 1);
	worker = fork();
	if (worker == 0) {
		expect(api->step_completed() == 0, 2);
		expect(!api->claim() && !api->may_arm(), 3);
		_exit(0);
	}
	waitpid(worker, &status, 0);
	expect(status == 0, 4);
	expect(api->step_completed() == 2, 5);
}

static void only_the_process_that_stepped_first_reports_steps(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	ifp_marks_segment(test.marks)->may_arm = 1;
	assert_int_equal(mark_test_run(&test, step_beside_a_worker), 0);
	mark_test_drain(&test);
	assert_int_equal(test.count, 2);
	assert_int_equal(ifp_marks_segment(test.marks)->step_claim_pid, test.child);
	mark_test_end(&test);
}

static void die_as_the_rank(void)
{
	expect(infprof_get_()->step_completed() == 1, 1);
}

static void the_claim_of_a_dead_process_passes_on(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, die_as_the_rank), 0);
	assert_int_equal(ifp_marks_segment(test.marks)->step_claim_pid, test.child);
	assert_int_equal(mark_test_run(&test, complete_three_steps), 0);
	assert_int_equal(ifp_marks_segment(test.marks)->step_claim_pid, test.child);
	assert_int_equal(ifp_marks_segment(test.marks)->step_count, 3);
	mark_test_end(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_user_code_become_slices),
		cmocka_unit_test(optimizer_steps_are_numbered_marked_and_counted),
		cmocka_unit_test(only_the_process_that_stepped_first_reports_steps),
		cmocka_unit_test(the_claim_of_a_dead_process_passes_on),
	};

	return RUN_TESTS(tests);
}
