/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/arrivals.h"

#include "core/cleanup.h"

#include "test.h"

enum { ALL_REDUCE, BROADCAST };

/* A collective: its step, start, length and name. */
#define DID(step_, start, dur, name_)                                                              \
	{                                                                                          \
		.step = (step_), .start_ns = (start), .dur_ns = (dur), .name = (name_)             \
	}

#define TIMES(list)                                                                                \
	(struct ifp_rank_times)                                                                    \
	{                                                                                          \
		.collectives = list, .collective_count = IFP_ARRAY_SIZE(list)                      \
	}

static void the_median_of_an_even_number_is_the_middle_of_two(void **state)
{
	int64_t odd[] = {9, 1, 5}, even[] = {8, 2, 4, 100}, one[] = {7};

	(void)state;
	assert_int_equal(ifp_median(odd, 3), 5);
	assert_int_equal(ifp_median(even, 4), 6);
	assert_int_equal(ifp_median(one, 1), 7);
}

static void lateness_is_measured_against_the_other_ranks(void **state)
{
	const int64_t arrival_ns[] = {10, 90, 20, 30};
	int64_t scratch_ns[3];

	(void)state;
	assert_int_equal(ifp_arrival_lateness(arrival_ns, 4, 1, scratch_ns), 70);
	assert_int_equal(ifp_arrival_lateness(arrival_ns, 4, 0, scratch_ns), -20);
}

/* Step 7 has three collectives; the second is where somebody (rank 1) came latest. */
static void of_a_step_the_collective_with_the_latest_rank_is_kept(void **state)
{
	const struct ifp_collective a[] = {
		DID(7, 100, 5, BROADCAST), DID(7, 200, 5, ALL_REDUCE), DID(7, 300, 5, ALL_REDUCE)};
	const struct ifp_collective b[] = {
		DID(7, 102, 5, BROADCAST), DID(7, 250, 5, ALL_REDUCE), DID(7, 301, 5, ALL_REDUCE)};
	const struct ifp_collective c[] = {
		DID(7, 101, 5, BROADCAST), DID(7, 204, 5, ALL_REDUCE), DID(7, 303, 5, ALL_REDUCE)};
	const struct ifp_rank_times ranks[] = {TIMES(a), TIMES(b), TIMES(c)};
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals arrivals = {0};

	(void)state;
	assert_ok(ifp_arrivals_at_collectives(ranks, 3, &arrivals));
	assert_int_equal(arrivals.step_count, 1);
	assert_int_equal(arrivals.steps_skipped, 0);
	assert_int_equal(arrivals.steps[0].step, 7);
	assert_int_equal(arrivals.steps[0].name, ALL_REDUCE);
	assert_int_equal(arrivals.steps[0].arrival_ns[0], 200);
	assert_int_equal(arrivals.steps[0].arrival_ns[1], 250);
	assert_int_equal(arrivals.steps[0].arrival_ns[2], 204);
}

/* A rank that came early (rank 0 at the first) makes a large spread, but nobody late. */
static void an_early_rank_does_not_choose_the_collective(void **state)
{
	const struct ifp_collective a[] = {DID(1, 0, 5, ALL_REDUCE), DID(1, 2000, 5, BROADCAST)};
	const struct ifp_collective b[] = {DID(1, 1000, 5, ALL_REDUCE), DID(1, 2100, 5, BROADCAST)};
	const struct ifp_collective c[] = {DID(1, 1001, 5, ALL_REDUCE), DID(1, 2001, 5, BROADCAST)};
	const struct ifp_collective d[] = {DID(1, 1002, 5, ALL_REDUCE), DID(1, 2002, 5, BROADCAST)};
	const struct ifp_rank_times ranks[] = {TIMES(a), TIMES(b), TIMES(c), TIMES(d)};
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals arrivals = {0};

	(void)state;
	assert_ok(ifp_arrivals_at_collectives(ranks, 4, &arrivals));
	assert_int_equal(arrivals.steps[0].name, BROADCAST);
}

/* Step 1: rank 1 has one less. Step 2: other names. Step 3: rank 0 has none. Step 4 is whole. */
static void steps_that_differ_between_ranks_are_skipped_and_counted(void **state)
{
	const struct ifp_collective a[] = {DID(1, 10, 1, ALL_REDUCE), DID(1, 20, 1, ALL_REDUCE),
		DID(2, 30, 1, ALL_REDUCE), DID(4, 50, 1, ALL_REDUCE)};
	const struct ifp_collective b[] = {DID(1, 21, 1, ALL_REDUCE), DID(2, 31, 1, BROADCAST),
		DID(3, 41, 1, ALL_REDUCE), DID(4, 53, 1, ALL_REDUCE)};
	const struct ifp_rank_times ranks[] = {TIMES(a), TIMES(b)};
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals arrivals = {0};

	(void)state;
	assert_ok(ifp_arrivals_at_collectives(ranks, 2, &arrivals));
	assert_int_equal(arrivals.steps_skipped, 3);
	assert_int_equal(arrivals.step_count, 1);
	assert_int_equal(arrivals.steps[0].step, 4);
	assert_int_equal(arrivals.steps[0].arrival_ns[1], 53);
}

static void one_rank_has_nothing_to_be_compared_with(void **state)
{
	const struct ifp_collective a[] = {DID(1, 10, 1, ALL_REDUCE)};
	const struct ifp_rank_times ranks[] = {TIMES(a)};
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals arrivals = {0};

	(void)state;
	assert_ok(ifp_arrivals_at_collectives(ranks, 1, &arrivals));
	assert_int_equal(arrivals.step_count, 0);
}

static void only_steps_that_all_ranks_marked_are_compared(void **state)
{
	const struct ifp_step_mark a[] = {{1, 100}, {2, 200}, {3, 300}, {5, 500}};
	const struct ifp_step_mark b[] = {{2, 210}, {3, 320}, {4, 410}, {5, 555}};
	const struct ifp_rank_times ranks[] = {
		{.marks = a, .mark_count = 4}, {.marks = b, .mark_count = 4}};
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals all = {0}, some = {0};

	(void)state;
	assert_ok(ifp_arrivals_at_marks(ranks, 2, 0, &all));
	assert_int_equal(all.step_count, 3);
	assert_int_equal(all.steps[1].step, 3);
	assert_int_equal(all.steps[1].arrival_ns[0], 300);
	assert_int_equal(all.steps[1].arrival_ns[1], 320);

	/* at most two: every second mark of the first rank, of which rank 1 lacks step 1 */
	assert_ok(ifp_arrivals_at_marks(ranks, 2, 2, &some));
	assert_int_equal(some.step_count, 1);
	assert_int_equal(some.steps[0].step, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_median_of_an_even_number_is_the_middle_of_two),
		cmocka_unit_test(lateness_is_measured_against_the_other_ranks),
		cmocka_unit_test(of_a_step_the_collective_with_the_latest_rank_is_kept),
		cmocka_unit_test(an_early_rank_does_not_choose_the_collective),
		cmocka_unit_test(steps_that_differ_between_ranks_are_skipped_and_counted),
		cmocka_unit_test(one_rank_has_nothing_to_be_compared_with),
		cmocka_unit_test(only_steps_that_all_ranks_marked_are_compared),
	};

	return RUN_TESTS(tests);
}
