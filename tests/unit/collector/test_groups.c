/* SPDX-License-Identifier: Apache-2.0 */
/* Which collectives of which ranks are one. */
#include "collector/analyse/groups.h"
#include "core/cleanup.h"
#include "test.h"

#include <stdio.h>

#define GROUP(name, ranks, size)                                                                   \
	"{\"Group size\":" size ",\"Process Group Name\":\"" name "\","                            \
	"\"Process Group Ranks\":\"" ranks "\"}"
#define ALL GROUP("0", "[0, 1, 2, 3]", "4")
#define LOW GROUP("1", "[0, 1]", "2")
#define HIGH GROUP("2", "[2, 3]", "2")

/* What a rank did: kernels, each with its launch in front, 100 ns apart, then the step's end. */
struct did {
	const char *name, *args;
};

#define MOST 8

static void take_rank(struct ifp_activity *activity, uint32_t i, const struct did *did)
{
	struct ifp_timed_event events[2 * MOST + 1] = {0};
	uint32_t count = 0;

	for (uint32_t k = 0; did[k].name; k++) {
		struct ifp_timed_event event = {.event = {.kind = IFP_EVENT_SLICE,
							.source = IFP_SOURCE_KINETO,
							.correlation = k + 1,
							.category = ifp_str("cuda_runtime"),
							.name = ifp_str("launch")},
			.start_ns = 100 * k + i,
			.dur_ns = 10};

		events[count++] = event;
		event.start_ns += 50;
		event.event.category = ifp_str("kernel");
		event.event.name = ifp_str(did[k].name);
		event.event.args = ifp_str(did[k].args);
		events[count++] = event;
	}
	events[count++] = (struct ifp_timed_event){
		.event = {.kind = IFP_EVENT_INSTANT, .source = IFP_SOURCE_STEP, .correlation = 1},
		.start_ns = 100000};
	assert_ok(ifp_activity_take(activity, events, count, &activity->ranks[i]));
}

/* "0@50 1@51;": the ranks of a meeting with the starts of their parts. */
static int note_meeting(void *context, const struct ifp_meeting *meeting)
{
	char *text = context;

	for (uint32_t r = 0; r < meeting->count; r++)
		sprintf(text + strlen(text), "%s%u@%d", r ? " " : "", meeting->ranks[r],
			(int)meeting->parts[r]->start_ns);
	strcat(text, ";");
	return 0;
}

static void assert_meetings(
	const struct did (*did)[MOST], uint32_t rank_count, const char *expected)
{
	IFP_CLEANUP_ACTIVITY struct ifp_activity activity = {0};
	struct ifp_rank_activity ranks[4] = {0};
	char text[1024] = "";

	activity.ranks = ranks;
	activity.rank_count = rank_count;
	/* Which rank is read first makes no difference. */
	for (uint32_t i = rank_count; i-- > 0;)
		take_rank(&activity, i, did[i]);
	assert_ok(ifp_groups_meet(&activity, note_meeting, text));
	assert_string_equal(text, expected);
}

#define REDUCE "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"
#define GATHER "ncclDevKernel_AllGather_RING_LL(x)"

/* Ranks 0 and 1 reduce among themselves before all four do, ranks 2 and 3 after that. */
static void groups_are_matched_by_themselves(void **state)
{
	const struct did did[4][MOST] = {
		{{REDUCE, LOW}, {REDUCE, ALL}},
		{{REDUCE, LOW}, {REDUCE, ALL}},
		{{REDUCE, ALL}, {REDUCE, HIGH}},
		{{REDUCE, ALL}, {REDUCE, HIGH}},
	};

	(void)state;
	assert_meetings(did, 4, "0@50 1@51;2@152 3@153;0@150 1@151 2@52 3@53;");
}

static void the_order_within_a_group_counts(void **state)
{
	const struct did did[2][MOST] = {
		{{REDUCE, LOW}, {GATHER, LOW}, {REDUCE, LOW}},
		{{REDUCE, LOW}, {GATHER, LOW}, {REDUCE, LOW}},
	};

	(void)state;
	assert_meetings(did, 2, "0@50 1@51;0@150 1@151;0@250 1@251;");
}

static void others_in_another_order_are_not_one(void **state)
{
	const struct did did[2][MOST] = {
		{{REDUCE, LOW}, {GATHER, LOW}},
		{{GATHER, LOW}, {REDUCE, LOW}},
	};

	(void)state;
	assert_meetings(did, 2, "");
}

/* Who came last is not known when not all came into the recording. */
static void a_group_of_which_some_rank_is_missing_is_left_out(void **state)
{
	const struct did did[2][MOST] = {
		{{REDUCE, ALL}, {REDUCE, LOW}}, {{REDUCE, ALL}, {REDUCE, LOW}}};

	(void)state;
	assert_meetings(did, 2, "0@150 1@151;");
}

static void without_a_word_of_groups_all_ranks_are_one(void **state)
{
	const struct did did[3][MOST] = {{{REDUCE, ""}}, {{REDUCE, "{}"}}, {{REDUCE, ""}}};

	(void)state;
	assert_meetings(did, 3, "0@50 1@51 2@52;");
}

static void assert_key(const char *args, const char *expected)
{
	IFP_CLEANUP_BUF struct ifp_buf key = {0};

	ifp_group_key(ifp_str(args), &key);
	assert_int_equal(key.len_bytes, strlen(expected));
	if (key.len_bytes)
		assert_memory_equal(key.data, expected, key.len_bytes);
}

static void a_group_is_known_by_its_size_name_and_ranks(void **state)
{
	(void)state;
	assert_key(LOW, "2 \"1\" \"[0, 1]\"");
	assert_key("{\"Group size\":8,\"Process Group Name\":\"tp\"}", "8 \"tp\" ");
	assert_key("{\"Group size\":8}", "");
	assert_key("{\"Process Group Name\":\"tp\"}", "");
	assert_key("{\"Group size\":-1,\"Process Group Name\":\"tp\"}", "");
	assert_key("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_matched_by_themselves),
		cmocka_unit_test(the_order_within_a_group_counts),
		cmocka_unit_test(others_in_another_order_are_not_one),
		cmocka_unit_test(a_group_of_which_some_rank_is_missing_is_left_out),
		cmocka_unit_test(without_a_word_of_groups_all_ranks_are_one),
		cmocka_unit_test(a_group_is_known_by_its_size_name_and_ranks),
	};

	return RUN_TESTS(tests);
}
