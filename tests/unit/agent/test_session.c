/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/session.h"
#include "trace/wire/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

#define RANK 1u
#define RUN_ID UINT64_C(0xabcdef0123456789)
#define WAIT_MS 5000
#define SECOND IFP_NS_PER_S

static char *const program[] = {"python", "train.py", NULL};

/* The collector's end of the line, and an agent's session. */
struct line {
	void *context, *router;
	struct ifp_uplink *uplink;
	struct ifp_session session;
	struct ifp_agent_facts facts;
	struct ifp_agent_options options;
	struct ifp_identity identity;
	struct ifp_window_wishes wishes;
	uint8_t peer[256], data[8192];
	size_t peer_bytes;
	cJSON *heard; /* document of the last message */
};

static int set_up(void **state)
{
	struct line *line = calloc(1, sizeof(*line));
	struct ifp_uplink_config config = {.address = "inproc://collector",
		.queue = {.rank = RANK, .memory_bytes = 1 << 20, .spool_directory = "/tmp"}};
	int wait_ms = WAIT_MS, linger_ms = 0;

	line->context = config.zmq_context = zmq_ctx_new();
	line->router = zmq_socket(line->context, ZMQ_ROUTER);
	zmq_setsockopt(line->router, ZMQ_RCVTIMEO, &wait_ms, sizeof(wait_ms));
	zmq_setsockopt(line->router, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
	assert_int_equal(zmq_bind(line->router, "inproc://collector"), 0);
	assert_ok(ifp_uplink_new(&config, &line->uplink));
	line->options = ifp_agent_option_defaults;
	line->identity =
		(struct ifp_identity){.launcher = "openmpi", .rank = RANK, .world = 4, .job = "77"};
	line->wishes = (struct ifp_window_wishes){.items = {{0, 5}, {200, 6}}, .count = 2};
	line->facts = (struct ifp_agent_facts){.options = &line->options,
		.identity = &line->identity,
		.windows = &line->wishes,
		.argv = program,
		.program = "train",
		.host = "node1",
		.clock = {.boot_id = "boot", .time_namespace = 4026531834},
		.started_realtime_ns = INT64_C(1796083200123456789)};
	line->session.uplink = line->uplink;
	line->session.facts = &line->facts;
	*state = line;
	return 0;
}

static int tear_down(void **state)
{
	struct line *line = *state;

	cJSON_Delete(line->heard);
	ifp_session_free(&line->session);
	ifp_uplink_free(&line->uplink);
	zmq_close(line->router);
	zmq_ctx_term(line->context);
	free(line);
	return 0;
}

/* What the agent has said: its type; the document is in line->heard. */
static enum ifp_message_type hear(struct line *line)
{
	struct ifp_message message;
	int n = zmq_recv(line->router, line->peer, sizeof(line->peer), 0);

	assert_true(n > 0);
	line->peer_bytes = (size_t)n;
	n = zmq_recv(line->router, line->data, sizeof(line->data), 0);
	assert_true(n > 0 && (size_t)n <= sizeof(line->data));
	assert_ok(ifp_message_decode(line->data, (size_t)n, &message));
	cJSON_Delete(line->heard);
	line->heard = cJSON_ParseWithLength((const char *)message.payload, message.payload_bytes);
	return message.type;
}

static void hear_nothing(struct line *line)
{
	uint8_t data[1];

	assert_int_equal(zmq_recv(line->router, data, sizeof(data), ZMQ_DONTWAIT), -1);
}

/* Says something to the agent, which takes it in at now_ns: what ifp_session_next() gives. */
static int say(struct line *line, enum ifp_message_type type, const char *document, int64_t now_ns,
	cJSON **out)
{
	const struct ifp_message message = {.type = type,
		.rank = RANK,
		.run_id = RUN_ID,
		.payload = (const uint8_t *)document,
		.payload_bytes = document ? (uint32_t)strlen(document) : 0};
	zmq_pollitem_t item = {.socket = ifp_uplink_socket(line->uplink), .events = ZMQ_POLLIN};
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	enum ifp_message_type got = 0;
	cJSON *given = NULL;
	int result;

	ifp_message_encode(&message, &buf);
	assert_true(zmq_send(line->router, line->peer, line->peer_bytes, ZMQ_SNDMORE) >= 0);
	assert_true(zmq_send(line->router, buf.data, buf.len_bytes, 0) >= 0);
	assert_int_equal(zmq_poll(&item, 1, WAIT_MS), 1);
	result = ifp_session_next(&line->session, now_ns, &got, &given);
	if (result)
		assert_int_equal(got, type);
	if (out)
		*out = given;
	else
		cJSON_Delete(given);
	return result;
}

static void tick(struct line *line, int64_t now_ns)
{
	const struct ifp_agent_counters counters = {.running = true};

	ifp_session_tick(&line->session, now_ns, &counters);
}

static void welcome(struct line *line, int64_t now_ns)
{
	tick(line, now_ns);
	assert_int_equal(hear(line), IFP_MSG_HELLO);
	say(line, IFP_MSG_WELCOME,
		"{\"run_id\":\"abcdef0123456789\",\"session\":\"s1\",\"last_sequence\":\"0\","
		"\"credit\":8}",
		now_ns, NULL);
	assert_true(line->session.welcomed);
	tick(line, now_ns);
	assert_int_equal(hear(line), IFP_MSG_HEARTBEAT);
}

static void test_hello_says_who_the_rank_is_and_what_is_wanted(void **state)
{
	struct line *line = *state;
	const cJSON *windows;

	tick(line, SECOND);
	assert_int_equal(hear(line), IFP_MSG_HELLO);
	assert_string_equal(ifp_document_get_text(line->heard, "job"), "77");
	assert_int_equal(ifp_document_get_count(line->heard, "rank"), RANK);
	assert_int_equal(ifp_document_get_count(line->heard, "world"), 4);
	assert_string_equal(ifp_document_get_text(line->heard, "host"), "node1");
	assert_string_equal(ifp_document_get_text(line->heard, "session"), "");
	assert_string_equal(ifp_document_get_text(line->heard, "clock"), "auto");
	assert_int_equal(
		ifp_document_get_count(line->heard, "started_realtime_ns"), 1796083200123456789);
	assert_int_equal(ifp_document_get_count(line->heard, "duration_ms"), 2000);
	windows = cJSON_GetObjectItem(line->heard, "windows");
	assert_int_equal(cJSON_GetArraySize(windows), 2);
	assert_int_equal(ifp_document_get_count(cJSON_GetArrayItem(windows, 1), "first"), 200);
	assert_int_equal(ifp_document_get_count(cJSON_GetArrayItem(windows, 1), "count"), 6);
}

static void test_hello_is_said_each_second_until_welcome(void **state)
{
	struct line *line = *state;

	tick(line, SECOND);
	assert_int_equal(hear(line), IFP_MSG_HELLO);
	tick(line, SECOND + SECOND / 2);
	hear_nothing(line);
	tick(line, 2 * SECOND);
	assert_int_equal(hear(line), IFP_MSG_HELLO);
	welcome(line, 3 * SECOND);
	tick(line, 3 * SECOND + SECOND / 2);
	hear_nothing(line);
	tick(line, 4 * SECOND);
	assert_int_equal(hear(line), IFP_MSG_HEARTBEAT);
}

static void test_a_heartbeat_goes_out_at_once_when_the_hook_has_news(void **state)
{
	struct line *line = *state;
	const struct ifp_agent_counters armed = {.hook = 9, .steps = 3, .running = true};

	welcome(line, SECOND);
	ifp_session_tick(&line->session, SECOND + 1, &armed);
	assert_int_equal(hear(line), IFP_MSG_HEARTBEAT);
	assert_int_equal(ifp_document_get_count(line->heard, "hook"), 9);
	assert_int_equal(ifp_document_get_count(line->heard, "steps"), 3);
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(line->heard, "running")));
	ifp_session_tick(&line->session, SECOND + 2, &armed);
	hear_nothing(line);
}

static void test_after_silence_the_agent_asks_with_the_session_it_knows(void **state)
{
	struct line *line = *state;

	welcome(line, SECOND);
	tick(line, 5 * SECOND);
	assert_int_equal(hear(line), IFP_MSG_HELLO);
	assert_string_equal(ifp_document_get_text(line->heard, "session"), "s1");
	assert_int_equal(hear(line), IFP_MSG_HEARTBEAT);
	assert_false(ifp_session_lost(&line->session, 31 * SECOND));
	assert_true(ifp_session_lost(&line->session, 32 * SECOND));
	/* a collector that is gone gets no heartbeats to pile up for it */
	tick(line, 32 * SECOND);
	assert_int_equal(hear(line), IFP_MSG_HELLO);
	hear_nothing(line);
}

static void test_a_refusal_counts_before_welcome_only(void **state)
{
	struct line *line = *state;

	tick(line, SECOND);
	hear(line);
	say(line, IFP_MSG_REFUSE, "{\"reason\":\"another job\"}", SECOND, NULL);
	assert_true(line->session.refused);
	assert_string_equal(line->session.refusal, "another job");
	tick(line, 3 * SECOND);
	hear_nothing(line);
}

static void test_a_refusal_after_welcome_is_meant_for_another(void **state)
{
	struct line *line = *state;

	welcome(line, SECOND);
	say(line, IFP_MSG_REFUSE, "{\"reason\":\"taken\"}", SECOND, NULL);
	assert_false(line->session.refused);
}

static void test_the_first_rank_of_a_clock_leads(void **state)
{
	struct line *line = *state;

	welcome(line, SECOND);
	say(line, IFP_MSG_ROLL,
		"{\"ranks\":[{\"rank\":0,\"clock\":0},{\"rank\":1,\"clock\":1},"
		"{\"rank\":2,\"clock\":1}],\"missing\":[3],\"clocks\":2,\"clock_plan\":\"mpi\"}",
		SECOND, NULL);
	assert_true(line->session.rolled);
	assert_int_equal(line->session.plan, IFP_CLOCK_PLAN_MPI);
	assert_true(line->session.leads_clock);
	assert_int_equal(line->session.missing, 1);
	assert_false(line->session.late);
	/* sent again it changes nothing: the start happens once */
	say(line, IFP_MSG_ROLL, "{\"ranks\":[],\"clock_plan\":\"none\",\"late\":true}", SECOND,
		NULL);
	assert_int_equal(line->session.plan, IFP_CLOCK_PLAN_MPI);
	assert_false(line->session.late);
}

static void test_others_of_a_clock_do_not_lead(void **state)
{
	struct line *line = *state;

	welcome(line, SECOND);
	say(line, IFP_MSG_ROLL,
		"{\"ranks\":[{\"rank\":0,\"clock\":0},{\"rank\":1,\"clock\":0}],"
		"\"clock_plan\":\"none\"}",
		SECOND, NULL);
	assert_false(line->session.leads_clock);
	assert_int_equal(line->session.plan, IFP_CLOCK_PLAN_NONE);
}

static void test_plans_are_handed_on_and_broken_documents_are_not(void **state)
{
	struct line *line = *state;
	cJSON *document = NULL;

	welcome(line, SECOND);
	assert_int_equal(say(line, IFP_MSG_WINDOW_PLAN, "{\"window\":2}", SECOND, &document), 1);
	assert_int_equal(ifp_document_get_count(document, "window"), 2);
	cJSON_Delete(document);
	assert_int_equal(say(line, IFP_MSG_WINDOW_PLAN, "{\"window\":", SECOND, NULL), 0);
	assert_int_equal(say(line, IFP_MSG_WELCOME, "[]", SECOND, NULL), 0);
	assert_int_equal(say(line, IFP_MSG_ROLL, NULL, SECOND, NULL), 0);
	assert_string_equal(line->session.name, "s1");
}

static void test_bye_is_said_again_until_closed(void **state)
{
	struct line *line = *state;

	welcome(line, SECOND);
	ifp_session_bye(&line->session, 2 * SECOND, "{\"how\":\"exited\"}");
	assert_int_equal(hear(line), IFP_MSG_BYE);
	ifp_session_bye(&line->session, 2 * SECOND + 1, "{\"how\":\"exited\"}");
	hear_nothing(line);
	ifp_session_bye(&line->session, 3 * SECOND, "{\"how\":\"exited\"}");
	assert_int_equal(hear(line), IFP_MSG_BYE);
	say(line, IFP_MSG_CLOSED, NULL, 3 * SECOND, NULL);
	assert_true(line->session.closed);
	ifp_session_bye(&line->session, 9 * SECOND, "{\"how\":\"exited\"}");
	hear_nothing(line);
}

static void test_flush_keeps_the_time_of_the_first(void **state)
{
	struct line *line = *state;

	welcome(line, SECOND);
	say(line, IFP_MSG_FLUSH, NULL, 2 * SECOND, NULL);
	say(line, IFP_MSG_FLUSH, NULL, 3 * SECOND, NULL);
	assert_true(line->session.flush);
	assert_int_equal(line->session.flush_ns, 2 * SECOND);
}

static void test_the_verdict_is_kept(void **state)
{
	struct line *line = *state;

	welcome(line, SECOND);
	say(line, IFP_MSG_VERDICT, "{\"text\":\"no rank is late\"}", SECOND, NULL);
	assert_string_equal(
		ifp_document_get_text(line->session.verdict, "text"), "no rank is late");
}

#define LINE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINE_TEST(test_hello_says_who_the_rank_is_and_what_is_wanted),
		LINE_TEST(test_hello_is_said_each_second_until_welcome),
		LINE_TEST(test_a_heartbeat_goes_out_at_once_when_the_hook_has_news),
		LINE_TEST(test_after_silence_the_agent_asks_with_the_session_it_knows),
		LINE_TEST(test_a_refusal_counts_before_welcome_only),
		LINE_TEST(test_a_refusal_after_welcome_is_meant_for_another),
		LINE_TEST(test_the_first_rank_of_a_clock_leads),
		LINE_TEST(test_others_of_a_clock_do_not_lead),
		LINE_TEST(test_plans_are_handed_on_and_broken_documents_are_not),
		LINE_TEST(test_bye_is_said_again_until_closed),
		LINE_TEST(test_flush_keeps_the_time_of_the_first),
		LINE_TEST(test_the_verdict_is_kept),
	};

	return RUN_TESTS(tests);
}
