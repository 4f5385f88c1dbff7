/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which a picture keeps things, what folds say, and how texts are shortened. */
#include "collector/timeline/brief.h"
#include "collector/timeline/levels.h"
#include "collector/timeline/plan.h"
#include "collector/timeline/subject.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void things_are_kept_in_the_published_order(void **state)
{
	(void)state;
	const struct {
		enum ifp_subject subject;
		bool outermost;
		int64_t dur_ns;
	} order[] = {
		{IFP_SUBJECT_STEP, true, 1},
		{IFP_SUBJECT_COLLECTIVE, false, 1},
		{IFP_SUBJECT_MARK, false, 1},
		{IFP_SUBJECT_COPY, true, 1},
		{IFP_SUBJECT_KERNEL, true, 1000000},
		{IFP_SUBJECT_OPERATOR, true, 900000},
		{IFP_SUBJECT_KERNEL, true, 800000},
		{IFP_SUBJECT_KERNEL, true, 1},
		{IFP_SUBJECT_LAUNCH, false, 1000},
		{IFP_SUBJECT_LAUNCH, false, 900},
		{IFP_SUBJECT_OPERATOR, false, 1000000},
		{IFP_SUBJECT_OPERATOR, false, 0},
		{IFP_SUBJECT_FRAME, false, 1000000},
		{IFP_SUBJECT_OTHER, false, 1000000},
	};

	for (size_t i = 1; i < IFP_ARRAY_SIZE(order); i++)
		assert_true(ifp_level_of(order[i - 1].subject, order[i - 1].outermost,
				    order[i - 1].dur_ns) <
			    ifp_level_of(order[i].subject, order[i].outermost, order[i].dur_ns));
	assert_true(ifp_level_of(IFP_SUBJECT_OTHER, false, 0) < IFP_LEVEL_MOMENTS);
}

static void a_level_shows_what_is_as_long_as_it_says(void **state)
{
	(void)state;
	for (int64_t dur_ns = 1; dur_ns < INT64_C(1) << 43; dur_ns += 1 + dur_ns / 7) {
		uint16_t level = ifp_level_of(IFP_SUBJECT_LAUNCH, false, dur_ns);
		int64_t shortest_ns = ifp_level_shortest_ns(level);

		assert_in_range(dur_ns - shortest_ns, 0, dur_ns / 16);
		assert_int_equal(ifp_level_of(IFP_SUBJECT_LAUNCH, false, shortest_ns), level);
		assert_true(ifp_level_of(IFP_SUBJECT_LAUNCH, false, shortest_ns - 1) >= level);
	}
}

/* Keys are 2n in step n and 2n + 1 behind it. */
static void groups_of_steps_are_told_apart_from_their_level_on(void **state)
{
	(void)state;
	assert_int_equal(ifp_level_apart(2 * 5, 2 * 5 + 1), 15);
	assert_int_equal(ifp_level_apart(2 * 4, 2 * 5), 15);
	assert_int_equal(ifp_level_apart(2 * 5, 2 * 6), 14);
	assert_int_equal(ifp_level_apart(2 * 7, 2 * 8), 12);
	assert_int_equal(ifp_level_apart(2 * 16383, 2 * 16384), 1);
	assert_int_equal(ifp_level_apart(2 * 32767, 2 * 32768), 0);
	assert_int_equal(ifp_level_apart(-1, INT64_MAX), 0);
}

static void assert_text_of(uint16_t level, uint32_t kinds, const char *expected)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};

	ifp_level_text(level, kinds, &text);
	ifp_buf_append_u8(&text, 0);
	assert_string_equal(text.data, expected);
}

static void assert_text(uint16_t level, const char *expected)
{
	assert_text_of(level, UINT32_MAX & ~(uint32_t)IFP_KIND_MOMENT, expected);
}

static void a_level_says_what_it_folds(void **state)
{
	(void)state;
	assert_text(10, "a lane has one fold for every 32 steps");
	assert_text(IFP_LEVEL_STEP, "a lane has one fold for each step");
	assert_text(IFP_LEVEL_STEPS, "everything but steps is folded");
	assert_text(IFP_LEVEL_ARROWS, "everything but steps and collectives is folded");
	assert_text(IFP_LEVEL_COUNTERS,
		"everything but steps, collectives, marks and the longest events is folded");
	assert_text(ifp_level_of(IFP_SUBJECT_COLLECTIVE, false, 12288),
		"collectives shorter than 12.2 us, marks, copies, kernels, outermost operators, "
		"launches, inner operators, Python frames and others are folded");
	assert_text(ifp_level_of(IFP_SUBJECT_FRAME, false, 12288),
		"Python frames shorter than 12.2 us and others are folded");
	assert_text(ifp_level_of(IFP_SUBJECT_OPERATOR, false, 1 << 20),
		"inner operators shorter than 1.04 ms, Python frames and others are folded");
	assert_text(IFP_LEVEL_MOMENTS, "long args are shortened");
}

static void a_level_names_only_what_the_run_has(void **state)
{
	uint16_t kernels = ifp_level_of(IFP_SUBJECT_KERNEL, false, 12288);

	(void)state;
	assert_text_of(kernels, IFP_KIND_OUTERMOST | IFP_KIND_OTHER | IFP_KIND_COPY,
		"outermost operators shorter than 12.2 us and others are folded");
	assert_text_of(kernels, IFP_KIND_KERNEL | IFP_KIND_LAUNCH | IFP_KIND_INNER,
		"kernels shorter than 12.2 us, launches and inner operators are folded");
	assert_text_of(kernels, IFP_KIND_FRAME, "Python frames are folded");
	assert_text_of(kernels, IFP_KIND_COPY, "long args are shortened");
	assert_text_of(kernels, IFP_KIND_KERNEL | IFP_KIND_MOMENT,
		"kernels shorter than 12.2 us, instants and counters are folded");
	assert_text_of(IFP_LEVEL_ARROWS, IFP_KIND_STEP, "everything but steps is folded");
	assert_text_of(IFP_LEVEL_ARROWS, IFP_KIND_FRAME, "everything is folded");
	assert_text_of(IFP_LEVEL_COUNTERS, IFP_KIND_COLLECTIVE,
		"everything but collectives and the longest events is folded");
}

static void a_plan_is_the_last_level_that_fits(void **state)
{
	(void)state;
	struct ifp_plan *plan = calloc(1, sizeof(*plan));
	struct ifp_budget budget = {.bytes = 100};
	struct ifp_size size;
	uint16_t level = 7;

	assert_non_null(plan);
	plan->always = (struct ifp_size){10, 0};
	ifp_plan_add(plan, 3, IFP_LEVEL_COUNT, (struct ifp_size){50, 1});
	ifp_plan_add(plan, 0, 3, (struct ifp_size){60, 1}); /* a fold of it */
	ifp_plan_add(plan, 20, IFP_LEVEL_COUNT, (struct ifp_size){40, 1});
	ifp_plan_add(plan, 21, IFP_LEVEL_COUNT, (struct ifp_size){1, 1});
	assert_int_equal(ifp_plan_choose(plan, &budget, &level, &size), 0);
	assert_int_equal(level, 20);
	assert_int_equal(size.bytes, 100);
	budget.events = 1;
	assert_int_equal(ifp_plan_choose(plan, &budget, &level, &size), 0);
	assert_int_equal(level, 19);
	budget.bytes = 59;
	assert_int_equal(ifp_plan_choose(plan, &budget, &level, &size), -E2BIG);
	assert_int_equal(size.bytes, 60);
	free(plan);
}

static void assert_brief(const char *text, uint32_t max_bytes, const char *expected)
{
	IFP_CLEANUP_BUF struct ifp_buf scratch = {0};
	struct ifp_str brief = ifp_brief_text(ifp_str(text), max_bytes, &scratch);

	assert_int_equal(brief.len_bytes, strlen(expected));
	assert_memory_equal(brief.ptr, expected, brief.len_bytes);
}

static void texts_are_cut_between_characters(void **state)
{
	(void)state;
	assert_brief("as it is", 8, "as it is");
	assert_brief("too long", 7, "too …");
	assert_brief("aé€𝄞b", 10, "aé€…");
	assert_brief("ab\\u00e9cdef", 10, "ab…");
	assert_brief("ab\\\"cdefgh", 8, "ab\\\"c…");
	assert_brief("a\\ud83d\\ude00bcdef", 14, "a…");
	assert_brief("a\\ud83d\\ude00bcdefg", 17, "a\\ud83d\\ude00b…");
}

static void assert_args(enum ifp_event_source source, const char *args, const char *expected)
{
	IFP_CLEANUP_BUF struct ifp_buf scratch = {0};
	const struct ifp_event event = {.source = source, .args = ifp_str(args)};
	struct ifp_str brief = ifp_brief_args(event.source, event.args, &scratch);

	assert_int_equal(brief.len_bytes, strlen(expected));
	assert_memory_equal(brief.ptr, expected, brief.len_bytes);
}

static void args_keep_what_people_look_at(void **state)
{
	(void)state;
	assert_args(IFP_SOURCE_KINETO, "", "");
	assert_args(IFP_SOURCE_KINETO, "{\"External id\":5,\"correlation\":6}", "");
	assert_args(IFP_SOURCE_KINETO,
		"{\"External id\":5,\"Input Dims\":[[8,16],[16,4]],\"Ev Idx\":3,\"bytes\":9}",
		"{\"Input Dims\":[[8,16],[16,4]],\"bytes\":9}");
	assert_args(IFP_SOURCE_KINETO,
		"{\"Input "
		"type\":[\"float\",\"float\",\"float\",\"float\",\"float\",\"float\",\"float\","
		"\"float\",\"float\",\"float\"]}",
		"{\"Input "
		"type\":\"[float,float,float,float,float,float,float,float,float,floa…\"}");
	assert_args(IFP_SOURCE_MARK, "{\"External id\":5,\"step\":6}",
		"{\"External id\":5,\"step\":6}");
}

static void collectives_are_known_by_their_names(void **state)
{
	(void)state;
	struct ifp_rank_category python = {.subject = IFP_SUBJECT_FRAME};
	struct ifp_event frame = {
		.source = IFP_SOURCE_KINETO, .name = ifp_str("nccl.py(1): all_reduce")};

	assert_true(ifp_subject_is_collective(ifp_str("nccl:all_reduce")));
	assert_true(ifp_subject_is_collective(ifp_str("ncclDevKernel_AllReduce_Sum_f32_RING_LL")));
	assert_true(ifp_subject_is_collective(ifp_str("c10d::allreduce_")));
	assert_true(ifp_subject_is_collective(ifp_str("record_param_comms")));
	assert_true(ifp_subject_is_collective(ifp_str("gloo:broadcast")));
	assert_false(ifp_subject_is_collective(ifp_str("aten::mm")));
	assert_int_equal(ifp_subject_of(&frame, &python), IFP_SUBJECT_FRAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(things_are_kept_in_the_published_order),
		cmocka_unit_test(a_level_shows_what_is_as_long_as_it_says),
		cmocka_unit_test(groups_of_steps_are_told_apart_from_their_level_on),
		cmocka_unit_test(a_level_says_what_it_folds),
		cmocka_unit_test(a_level_names_only_what_the_run_has),
		cmocka_unit_test(a_plan_is_the_last_level_that_fits),
		cmocka_unit_test(texts_are_cut_between_characters),
		cmocka_unit_test(args_keep_what_people_look_at),
		cmocka_unit_test(collectives_are_known_by_their_names),
	};

	return RUN_TESTS(tests);
}
