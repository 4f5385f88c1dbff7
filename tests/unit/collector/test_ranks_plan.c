/* SPDX-License-Identifier: Apache-2.0 */
/* What of a run the analysis files hold when it does not all fit. */
#include "collector/timeline/args_detail.h"
#include "collector/timeline/ranks_plan.h"

#include "core/cleanup.h"
#include "test.h"

#define RANKS 4u
#define STEPS 6u

/* Every rank: 10 bytes beside its steps, of which each has 100, 90, 60 or 40 by detail. */
static const uint64_t of_detail[IFP_ARGS_DETAILS] = {100, 90, 60, 40};

static const int64_t numbers[STEPS] = {7, 8, 9, 10, 11, 12};
static const int64_t even_ns[STEPS] = {5, 5, 5, 5, 5, 5};
static const struct ifp_ranks_steps even = {numbers, even_ns, STEPS};

static struct ifp_ranks_plan plan_for(uint64_t budget_bytes)
{
	struct ifp_ranks_cost cost;
	struct ifp_ranks_plan plan;

	assert_ok(ifp_ranks_cost_new(RANKS, STEPS, &cost));
	for (uint32_t r = 0; r < RANKS; r++)
		for (int d = 0; d < IFP_ARGS_DETAILS; d++) {
			for (uint32_t s = 0; s < STEPS; s++)
				*ifp_ranks_cost_at(&cost, r, (enum ifp_args_detail)d, s) =
					of_detail[d];
			*ifp_ranks_cost_at(&cost, r, (enum ifp_args_detail)d, STEPS) = 10;
		}
	assert_ok(ifp_ranks_plan_make(&cost, &even, budget_bytes, &plan));
	ifp_ranks_cost_free(&cost);
	return plan;
}

static void assert_plan(uint64_t budget_bytes, enum ifp_args_detail detail, uint32_t steps,
	uint32_t ranks, uint64_t bytes)
{
	struct ifp_ranks_plan plan = plan_for(budget_bytes);

	assert_int_equal(plan.detail, detail);
	assert_int_equal(plan.ranks, ranks);
	assert_int_equal(plan.bytes, bytes);
	assert_int_equal(plan.whole_bytes, RANKS * (10 + STEPS * 100));
	if (ranks)
		assert_int_equal(plan.steps, steps);
}

static void args_go_first_then_steps_then_ranks(void **state)
{
	(void)state;
	assert_plan(2440, IFP_ARGS_ALL, 6, 4, 2440);
	assert_plan(2439, IFP_ARGS_NO_STACKS, 6, 4, 4 * (10 + 6 * 90));
	assert_plan(2199, IFP_ARGS_SHORT, 6, 4, 4 * (10 + 6 * 60));
	assert_plan(1479, IFP_ARGS_NO_SHAPES, 6, 4, 4 * (10 + 6 * 40));
	assert_plan(999, IFP_ARGS_NO_SHAPES, 5, 4, 4 * (10 + 5 * 40));
	assert_plan(200, IFP_ARGS_NO_SHAPES, 1, 4, 200);
	assert_plan(199, IFP_ARGS_NO_SHAPES, 1, 3, 150);
	assert_plan(50, IFP_ARGS_NO_SHAPES, 1, 1, 50);
}

static void what_does_not_fit_at_all_says_how_much_it_is(void **state)
{
	(void)state;
	assert_plan(49, IFP_ARGS_NO_SHAPES, 1, 0, 0);
	assert_int_equal(plan_for(49).least_bytes, 50);
	assert_int_equal(plan_for(0).least_bytes, 50);
}

/* Every budget: never more than it, and never less held than with a smaller one. */
static void more_budget_never_holds_less(void **state)
{
	struct ifp_ranks_plan before = plan_for(0);

	(void)state;
	for (uint64_t budget_bytes = 1; budget_bytes < 2500; budget_bytes++) {
		struct ifp_ranks_plan plan = plan_for(budget_bytes);

		assert_true(plan.bytes <= budget_bytes);
		assert_true(plan.bytes >= before.bytes);
		assert_true(plan.ranks >= before.ranks);
		assert_true(plan.detail <= before.detail);
		before = plan;
	}
	assert_int_equal(before.bytes, before.whole_bytes);
}

static void without_steps_everything_is_one(void **state)
{
	struct ifp_ranks_cost cost;
	struct ifp_ranks_plan plan;

	(void)state;
	assert_ok(ifp_ranks_cost_new(2, 1, &cost));
	for (uint32_t r = 0; r < 2; r++)
		for (int d = 0; d < IFP_ARGS_DETAILS; d++)
			*ifp_ranks_cost_at(&cost, r, (enum ifp_args_detail)d, 0) = of_detail[d];
	assert_ok(ifp_ranks_plan_make(&cost, &(struct ifp_ranks_steps){0}, 75, &plan));
	assert_int_equal(plan.ranks, 1);
	assert_int_equal(plan.bytes, 40);
	assert_int_equal(plan.steps, 1);
	ifp_ranks_cost_free(&cost);
}

static uint32_t first_of(const int64_t *step_numbers, const int64_t *length_ns, uint32_t count)
{
	const struct ifp_ranks_steps steps = {step_numbers, length_ns, STEPS};
	uint32_t first = UINT32_MAX;

	assert_ok(ifp_ranks_representative(&steps, count, &first));
	return first;
}

static void the_steps_that_stand_for_all(void **state)
{
	const int64_t warm_up_ns[STEPS] = {90, 20, 10, 11, 10, 30};
	const int64_t gap[STEPS] = {7, 8, 20, 21, 22, 40};

	(void)state;
	/* all alike: those in the middle, of two equal places the first */
	assert_int_equal(first_of(numbers, even_ns, 2), 2);
	assert_int_equal(first_of(numbers, even_ns, 1), 2);
	assert_int_equal(first_of(numbers, even_ns, 5), 0);
	/* the median step is 20: not the first one, and not one that alone hits the median */
	assert_int_equal(first_of(numbers, warm_up_ns, 3), 1);
	assert_int_equal(first_of(numbers, warm_up_ns, 1), 1);
	/* no gap inside while there are so many without one, whatever the lengths */
	assert_int_equal(first_of(gap, warm_up_ns, 3), 2);
	assert_int_equal(first_of(gap, warm_up_ns, 4), 1);
}

static void assert_order(uint32_t candidate_count, const uint32_t *first, uint32_t first_count,
	const uint32_t *expected, uint32_t wanted)
{
	uint32_t candidates[16], order[16];

	for (uint32_t i = 0; i < candidate_count; i++)
		candidates[i] = 10 + i;
	assert_ok(ifp_ranks_prefer(candidates, candidate_count, first, first_count, wanted, order));
	for (uint32_t i = 0; i < wanted; i++)
		assert_int_equal(order[i], expected[i]);
}

static void ranks_are_chosen_evenly_behind_the_ones_that_matter(void **state)
{
	const uint32_t even_order[] = {10, 18, 14, 12, 16, 11, 13, 15, 17};
	const uint32_t first[] = {17, 99, 17, 12};
	const uint32_t first_order[] = {17, 12, 10, 14};

	(void)state;
	assert_order(9, NULL, 0, even_order, 9);
	assert_order(9, NULL, 0, even_order, 3);
	assert_order(9, first, 4, first_order, 4);
	assert_order(9, first, 4, first_order, 1);
	assert_order(0, first, 4, NULL, 0);
}

static void assert_cut(
	const char *args, enum ifp_args_detail detail, bool collective, const char *expected)
{
	IFP_CLEANUP_BUF struct ifp_buf out = {0};

	ifp_args_cut(&out, ifp_str(args), detail, collective);
	assert_str(((struct ifp_str){(const char *)out.data, (uint32_t)out.len_bytes}), expected);
}

static void args_lose_what_nothing_is_computed_from(void **state)
{
	const char *args = "{\"Call stack\":\"a;b\",\"External id\":7,\"Input Dims\":[[2,3]],"
			   "\"Input Strides\":[[3,1]],\"cbid\":211}";

	(void)state;
	assert_cut(args, IFP_ARGS_ALL, false, args);
	assert_cut(args, IFP_ARGS_NO_STACKS, false,
		"{\"External id\":7,\"Input Dims\":[[2,3]],\"Input Strides\":[[3,1]],"
		"\"cbid\":211}");
	assert_cut(args, IFP_ARGS_SHORT, false, "{\"External id\":7,\"Input Dims\":[[2,3]]}");
	assert_cut(args, IFP_ARGS_NO_SHAPES, false, "{\"External id\":7}");
	assert_cut(args, IFP_ARGS_NO_SHAPES, true, "{\"External id\":7,\"Input Dims\":[[2,3]]}");
	assert_cut("{\"cbid\":211}", IFP_ARGS_SHORT, false, "");
	assert_cut("{}", IFP_ARGS_ALL, false, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(args_go_first_then_steps_then_ranks),
		cmocka_unit_test(what_does_not_fit_at_all_says_how_much_it_is),
		cmocka_unit_test(more_budget_never_holds_less),
		cmocka_unit_test(without_steps_everything_is_one),
		cmocka_unit_test(the_steps_that_stand_for_all),
		cmocka_unit_test(ranks_are_chosen_evenly_behind_the_ones_that_matter),
		cmocka_unit_test(args_lose_what_nothing_is_computed_from),
	};

	return RUN_TESTS(tests);
}
