/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_line.h"

#include "agent/session.h"
#include "trace/wire/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

#define RANK 1u
#define RUN_ID UINT64_C(0xabcdef0123456789)
#define SECOND IFP_NS_PER_S

static char *const program[] = {"python", "train.py", NULL};

/* The collector's end of the line, and an agent's session. */
struct talk {
	struct line line;
	struct ifp_session session;
	struct ifp_agent_facts facts;
	struct ifp_agent_options options;
	struct ifp_identity identity;
	struct ifp_window_wishes wishes;
};

static int set_up(void **state)
{
	struct talk *talk = calloc(1, sizeof(*talk));

	line_open(&talk->line, RANK);
	talk->options = ifp_agent_option_defaults;
	talk->identity =
		(struct ifp_identity){.launcher = "openmpi", .rank = RANK, .world = 4, .job = "77"};
	talk->wishes = (struct ifp_window_wishes){.items = {{0, 5}, {200, 6}}, .count = 2};
	talk->facts = (struct ifp_agent_facts){.options = &talk->options,
		.identity = &talk->identity,
		.windows = &talk->wishes,
		.argv = program,
		.program = "train",
		.host = "node1",
		.clock = {.boot_id = "boot", .time_namespace = 4026531834},
		.started_realtime_ns = INT64_C(1796083200123456789)};
	talk->session.uplink = talk->line.uplink;
	talk->session.facts = &talk->facts;
	*state = talk;
	return 0;
}

static int tear_down(void **state)
{
	struct talk *talk = *state;

	ifp_session_free(&talk->session);
	line_close(&talk->line);
	free(talk);
	return 0;
}

/* What the agent has said: its type; the document is in talk->line.heard. */
static enum ifp_message_type hear(struct talk *talk)
{
	return line_hear(&talk->line).type;
}

/* Says something to the agent, which takes it in at now_ns: what ifp_session_next() gives. */
static int say(struct talk *talk, enum ifp_message_type type, const char *document, int64_t now_ns,
	cJSON **out)
{
	const struct ifp_message message = {.type = type,
		.rank = RANK,
		.run_id = RUN_ID,
		.payload = (const uint8_t *)document,
		.payload_bytes = document ? (uint32_t)strlen(document) : 0};
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	enum ifp_message_type got = 0;
	cJSON *given = NULL;
	int result;

	ifp_message_encode(&message, &buf);
	line_say(&talk->line, buf.data, buf.len_bytes);
	line_wait(&talk->line);
	result = ifp_session_next(&talk->session, now_ns, &got, &given);
	if (result)
		assert_int_equal(got, type);
	if (out)
		*out = given;
	else
		cJSON_Delete(given);
	return result;
}

static void tick(struct talk *talk, int64_t now_ns)
{
	const struct ifp_agent_counters counters = {.running = true};

	ifp_session_tick(&talk->session, now_ns, &counters);
}

static void welcome(struct talk *talk, int64_t now_ns)
{
	tick(talk, now_ns);
	assert_int_equal(hear(talk), IFP_MSG_HELLO);
	say(talk, IFP_MSG_WELCOME,
		"{\"run_id\":\"abcdef0123456789\",\"session\":\"s1\",\"last_sequence\":\"0\","
		"\"credit\":8}",
		now_ns, NULL);
	assert_true(talk->session.welcomed);
	tick(talk, now_ns);
	assert_int_equal(hear(talk), IFP_MSG_HEARTBEAT);
}

static void test_hello_says_who_the_rank_is_and_what_is_wanted(void **state)
{
	struct talk *talk = *state;
	const cJSON *windows;

	tick(talk, SECOND);
	assert_int_equal(hear(talk), IFP_MSG_HELLO);
	assert_string_equal(ifp_document_get_text(talk->line.heard, "job"), "77");
	assert_int_equal(ifp_document_get_count(talk->line.heard, "rank"), RANK);
	assert_int_equal(ifp_document_get_count(talk->line.heard, "world"), 4);
	assert_string_equal(ifp_document_get_text(talk->line.heard, "host"), "node1");
	assert_string_equal(ifp_document_get_text(talk->line.heard, "session"), "");
	assert_string_equal(ifp_document_get_text(talk->line.heard, "clock"), "auto");
	assert_int_equal(ifp_document_get_count(talk->line.heard, "started_realtime_ns"),
		1796083200123456789);
	assert_int_equal(ifp_document_get_count(talk->line.heard, "duration_ms"), 2000);
	windows = cJSON_GetObjectItem(talk->line.heard, "windows");
	assert_int_equal(cJSON_GetArraySize(windows), 2);
	assert_int_equal(ifp_document_get_count(cJSON_GetArrayItem(windows, 1), "first"), 200);
	assert_int_equal(ifp_document_get_count(cJSON_GetArrayItem(windows, 1), "count"), 6);
}

static void test_hello_is_said_each_second_until_welcome(void **state)
{
	struct talk *talk = *state;

	tick(talk, SECOND);
	assert_int_equal(hear(talk), IFP_MSG_HELLO);
	tick(talk, SECOND + SECOND / 2);
	line_hear_nothing(&talk->line);
	tick(talk, 2 * SECOND);
	assert_int_equal(hear(talk), IFP_MSG_HELLO);
	welcome(talk, 3 * SECOND);
	tick(talk, 3 * SECOND + SECOND / 2);
	line_hear_nothing(&talk->line);
	tick(talk, 4 * SECOND);
	assert_int_equal(hear(talk), IFP_MSG_HEARTBEAT);
}

static void test_a_heartbeat_goes_out_at_once_when_the_hook_has_news(void **state)
{
	struct talk *talk = *state;
	const struct ifp_agent_counters armed = {.hook = 9, .steps = 3, .running = true};

	welcome(talk, SECOND);
	ifp_session_tick(&talk->session, SECOND + 1, &armed);
	assert_int_equal(hear(talk), IFP_MSG_HEARTBEAT);
	assert_int_equal(ifp_document_get_count(talk->line.heard, "hook"), 9);
	assert_int_equal(ifp_document_get_count(talk->line.heard, "steps"), 3);
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(talk->line.heard, "running")));
	ifp_session_tick(&talk->session, SECOND + 2, &armed);
	line_hear_nothing(&talk->line);
}

static void test_after_silence_the_agent_asks_with_the_session_it_knows(void **state)
{
	struct talk *talk = *state;

	welcome(talk, SECOND);
	tick(talk, 5 * SECOND);
	assert_int_equal(hear(talk), IFP_MSG_HELLO);
	assert_string_equal(ifp_document_get_text(talk->line.heard, "session"), "s1");
	assert_int_equal(hear(talk), IFP_MSG_HEARTBEAT);
	assert_false(ifp_session_lost(&talk->session, 31 * SECOND));
	assert_true(ifp_session_lost(&talk->session, 32 * SECOND));
	/* a collector that is gone gets no heartbeats to pile up for it */
	tick(talk, 32 * SECOND);
	assert_int_equal(hear(talk), IFP_MSG_HELLO);
	line_hear_nothing(&talk->line);
}

static void test_a_refusal_counts_before_welcome_only(void **state)
{
	struct talk *talk = *state;

	tick(talk, SECOND);
	hear(talk);
	say(talk, IFP_MSG_REFUSE, "{\"reason\":\"another job\"}", SECOND, NULL);
	assert_true(talk->session.refused);
	assert_string_equal(talk->session.refusal, "another job");
	tick(talk, 3 * SECOND);
	line_hear_nothing(&talk->line);
}

static void test_a_refusal_after_welcome_is_meant_for_another(void **state)
{
	struct talk *talk = *state;

	welcome(talk, SECOND);
	say(talk, IFP_MSG_REFUSE, "{\"reason\":\"taken\"}", SECOND, NULL);
	assert_false(talk->session.refused);
}

static void test_the_first_rank_of_a_clock_leads(void **state)
{
	struct talk *talk = *state;

	welcome(talk, SECOND);
	say(talk, IFP_MSG_ROLL,
		"{\"ranks\":[{\"rank\":0,\"clock\":0},{\"rank\":1,\"clock\":1},"
		"{\"rank\":2,\"clock\":1}],\"missing\":[3],\"clocks\":2,\"clock_plan\":\"mpi\"}",
		SECOND, NULL);
	assert_true(talk->session.rolled);
	assert_int_equal(talk->session.plan, IFP_CLOCK_PLAN_MPI);
	assert_true(talk->session.leads_clock);
	assert_int_equal(talk->session.missing, 1);
	assert_false(talk->session.late);
	/* sent again it changes nothing: the start happens once */
	say(talk, IFP_MSG_ROLL, "{\"ranks\":[],\"clock_plan\":\"none\",\"late\":true}", SECOND,
		NULL);
	assert_int_equal(talk->session.plan, IFP_CLOCK_PLAN_MPI);
	assert_false(talk->session.late);
}

static void test_others_of_a_clock_do_not_lead(void **state)
{
	struct talk *talk = *state;

	welcome(talk, SECOND);
	say(talk, IFP_MSG_ROLL,
		"{\"ranks\":[{\"rank\":0,\"clock\":0},{\"rank\":1,\"clock\":0}],"
		"\"clock_plan\":\"none\"}",
		SECOND, NULL);
	assert_false(talk->session.leads_clock);
	assert_int_equal(talk->session.plan, IFP_CLOCK_PLAN_NONE);
}

static void test_plans_are_handed_on_and_broken_documents_are_not(void **state)
{
	struct talk *talk = *state;
	cJSON *document = NULL;

	welcome(talk, SECOND);
	assert_int_equal(say(talk, IFP_MSG_WINDOW_PLAN, "{\"window\":2}", SECOND, &document), 1);
	assert_int_equal(ifp_document_get_count(document, "window"), 2);
	cJSON_Delete(document);
	assert_int_equal(say(talk, IFP_MSG_WINDOW_PLAN, "{\"window\":", SECOND, NULL), 0);
	assert_int_equal(say(talk, IFP_MSG_WELCOME, "[]", SECOND, NULL), 0);
	assert_int_equal(say(talk, IFP_MSG_ROLL, NULL, SECOND, NULL), 0);
	assert_string_equal(talk->session.name, "s1");
}

static void test_bye_is_said_again_until_closed(void **state)
{
	struct talk *talk = *state;

	welcome(talk, SECOND);
	ifp_session_bye(&talk->session, 2 * SECOND, "{\"how\":\"exited\"}");
	assert_int_equal(hear(talk), IFP_MSG_BYE);
	ifp_session_bye(&talk->session, 2 * SECOND + 1, "{\"how\":\"exited\"}");
	line_hear_nothing(&talk->line);
	ifp_session_bye(&talk->session, 3 * SECOND, "{\"how\":\"exited\"}");
	assert_int_equal(hear(talk), IFP_MSG_BYE);
	say(talk, IFP_MSG_CLOSED, NULL, 3 * SECOND, NULL);
	assert_true(talk->session.closed);
	ifp_session_bye(&talk->session, 9 * SECOND, "{\"how\":\"exited\"}");
	line_hear_nothing(&talk->line);
}

static void test_flush_keeps_the_time_of_the_first(void **state)
{
	struct talk *talk = *state;

	welcome(talk, SECOND);
	say(talk, IFP_MSG_FLUSH, NULL, 2 * SECOND, NULL);
	say(talk, IFP_MSG_FLUSH, NULL, 3 * SECOND, NULL);
	assert_true(talk->session.flush);
	assert_int_equal(talk->session.flush_ns, 2 * SECOND);
}

static void test_the_verdict_is_kept(void **state)
{
	struct talk *talk = *state;

	welcome(talk, SECOND);
	say(talk, IFP_MSG_VERDICT, "{\"text\":\"no rank is late\"}", SECOND, NULL);
	assert_string_equal(
		ifp_document_get_text(talk->session.verdict, "text"), "no rank is late");
}

#define TALK_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TALK_TEST(test_hello_says_who_the_rank_is_and_what_is_wanted),
		TALK_TEST(test_hello_is_said_each_second_until_welcome),
		TALK_TEST(test_a_heartbeat_goes_out_at_once_when_the_hook_has_news),
		TALK_TEST(test_after_silence_the_agent_asks_with_the_session_it_knows),
		TALK_TEST(test_a_refusal_counts_before_welcome_only),
		TALK_TEST(test_a_refusal_after_welcome_is_meant_for_another),
		TALK_TEST(test_the_first_rank_of_a_clock_leads),
		TALK_TEST(test_others_of_a_clock_do_not_lead),
		TALK_TEST(test_plans_are_handed_on_and_broken_documents_are_not),
		TALK_TEST(test_bye_is_said_again_until_closed),
		TALK_TEST(test_flush_keeps_the_time_of_the_first),
		TALK_TEST(test_the_verdict_is_kept),
	};

	return RUN_TESTS(tests);
}
