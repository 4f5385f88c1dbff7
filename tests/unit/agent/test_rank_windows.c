/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_line.h"

#include "agent/documents.h"
#include "agent/rank_windows.h"
#include "trace/wire/document.h"

/* An agent whose program has not armed Kineto: what it can do is refuse, and say why. */
struct agent {
	struct line *line;
	struct ifp_kineto *kineto;
	struct ifp_event_blocks *blocks;
	struct ifp_step_log *steps;
	struct ifp_rank_clocks *clocks;
	struct ifp_rank_windows windows;
};

static int set_up(void **state)
{
	struct agent *agent = calloc(1, sizeof(*agent));
	struct ifp_rank_clocks_config config = {.rank = LINE_RANK};

	agent->line = line_new();
	config.uplink = agent->line->uplink;
	assert_ok(ifp_kineto_new(&agent->kineto));
	assert_ok(ifp_event_blocks_new(ifp_uplink_frames(agent->line->uplink), &agent->blocks));
	assert_ok(ifp_rank_clocks_new(&config, &agent->clocks));
	agent->steps = calloc(1, sizeof(*agent->steps));
	agent->windows.config = (struct ifp_rank_windows_config){.kineto = agent->kineto,
		.uplink = agent->line->uplink,
		.blocks = agent->blocks,
		.steps = agent->steps,
		.clocks = agent->clocks,
		.sink = ifp_event_blocks_sink(agent->blocks)};
	*state = agent;
	return 0;
}

static int tear_down(void **state)
{
	struct agent *agent = *state;

	ifp_rank_clocks_free(&agent->clocks);
	ifp_event_blocks_free(&agent->blocks);
	ifp_kineto_free(&agent->kineto);
	free(agent->steps);
	line_free(agent->line);
	free(agent);
	return 0;
}

static void plan(struct agent *agent, const char *document, uint64_t steps_now)
{
	cJSON *json = cJSON_Parse(document);

	ifp_rank_windows_plan(&agent->windows, json, steps_now);
	cJSON_Delete(json);
}

static void hear_refusal(struct agent *agent, uint64_t steps, const char *reason)
{
	assert_int_equal(line_hear(agent->line).type, IFP_MSG_WINDOW_ACK);
	assert_true(cJSON_IsFalse(cJSON_GetObjectItem(agent->line->heard, "accepted")));
	assert_int_equal(ifp_document_get_count(agent->line->heard, "window"), 1);
	assert_int_equal(ifp_document_get_count(agent->line->heard, "attempt"), 2);
	assert_int_equal(ifp_document_get_count(agent->line->heard, "steps"), steps);
	assert_string_equal(ifp_document_get_text(agent->line->heard, "reason"), reason);
}

static const char *const steps_plan =
	"{\"window\":1,\"attempt\":2,\"kind\":\"steps\",\"first_step\":50,\"count\":5}";

static void test_a_rank_that_is_not_armed_refuses(void **state)
{
	struct agent *agent = *state;

	plan(agent, steps_plan, 7);
	hear_refusal(agent, 7, "PyTorch's profiler is not armed");
	assert_false(agent->windows.planned);
}

static void test_a_rank_whose_program_has_ended_refuses(void **state)
{
	struct agent *agent = *state;

	assert_false(ifp_rank_windows_finish(&agent->windows));
	plan(agent, steps_plan, 40);
	hear_refusal(agent, 40, "the program has ended");
}

static void test_a_rank_that_is_recording_refuses(void **state)
{
	struct agent *agent = *state;

	agent->windows.started = true;
	plan(agent, steps_plan, 3);
	hear_refusal(agent, 3, "a window is being recorded");
}

static void test_a_plan_that_is_none_gets_no_answer(void **state)
{
	struct agent *agent = *state;
	static const char *const bad[] = {
		"{}",
		"{\"window\":1,\"kind\":\"steps\",\"first_step\":0,\"count\":5}",
		"{\"window\":1,\"kind\":\"steps\",\"first_step\":10,\"count\":0}",
		"{\"window\":1,\"kind\":\"time\",\"start_realtime_ms\":5}",
		"{\"window\":1,\"kind\":\"steps\",\"first_step\":\"ten\",\"count\":5}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		plan(agent, bad[i], 0);
	line_hear_nothing(agent->line);
}

static void test_go_for_a_plan_that_was_not_accepted_starts_nothing(void **state)
{
	struct agent *agent = *state;
	cJSON *go = cJSON_Parse("{\"window\":1,\"attempt\":2}");

	plan(agent, steps_plan, 7);
	line_hear(agent->line);
	ifp_rank_windows_go(&agent->windows, go);
	/* also not when another attempt was accepted */
	agent->windows.planned = true;
	agent->windows.plan = (struct ifp_window){.number = 1, .attempt = 1};
	ifp_rank_windows_go(&agent->windows, go);
	assert_true(agent->windows.planned);
	assert_int_equal(agent->windows.attempted, 0);
	line_hear_nothing(agent->line);
	cJSON_Delete(go);
}

/* Handed over, and never asked for: the program ends first. */
static void test_a_window_that_the_program_does_not_live_to_see_is_reported(void **state)
{
	struct agent *agent = *state;
	cJSON *go = cJSON_Parse("{\"window\":0,\"attempt\":1}");

	agent->windows.planned = true;
	agent->windows.plan = (struct ifp_window){
		.attempt = 1, .kind = IFP_WINDOW_STEPS, .first_step = 50, .count = 5};
	ifp_rank_windows_go(&agent->windows, go);
	cJSON_Delete(go);
	assert_true(agent->windows.started);
	while (ifp_rank_windows_finish(&agent->windows))
		;
	assert_false(agent->windows.started);
	assert_int_equal(line_hear(agent->line).type, IFP_MSG_WINDOW_DONE);
	assert_string_equal(ifp_document_get_text(agent->line->heard, "outcome"), "ended");
	assert_int_equal(ifp_document_get_count(agent->line->heard, "attempt"), 1);
	assert_int_equal(ifp_document_get_count(agent->line->heard, "first_step"), 0);
	/* and a frame of it goes into the archive */
	ifp_uplink_pump(agent->line->uplink);
	assert_int_equal(line_hear(agent->line).type, IFP_MSG_FRAME);
}

#define WINDOW_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WINDOW_TEST(test_a_rank_that_is_not_armed_refuses),
		WINDOW_TEST(test_a_rank_whose_program_has_ended_refuses),
		WINDOW_TEST(test_a_rank_that_is_recording_refuses),
		WINDOW_TEST(test_a_plan_that_is_none_gets_no_answer),
		WINDOW_TEST(test_go_for_a_plan_that_was_not_accepted_starts_nothing),
		WINDOW_TEST(test_a_window_that_the_program_does_not_live_to_see_is_reported),
	};

	return RUN_TESTS(tests);
}
