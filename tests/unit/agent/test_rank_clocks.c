/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_line.h"

#include "agent/documents.h"
#include "agent/rank_clocks.h"
#include "clocksync/exchange/ping.h"
#include "core/clock.h"
#include "trace/wire/document.h"

static struct ifp_rank_clocks *make_clocks(struct line *line)
{
	const struct ifp_rank_clocks_config config = {
		.uplink = line->uplink, .zmq_context = line->context, .rank = LINE_RANK};
	struct ifp_rank_clocks *clocks = NULL;

	assert_ok(ifp_rank_clocks_new(&config, &clocks));
	return clocks;
}

/* The number of readings in the next frame that the agent sends. */
static uint32_t hear_tuples(struct line *line)
{
	struct ifp_clock_samples samples;
	struct ifp_message message;
	struct ifp_frame frame;
	uint32_t count;
	size_t used;

	ifp_uplink_pump(line->uplink);
	message = line_hear(line);
	assert_int_equal(message.type, IFP_MSG_FRAME);
	assert_ok(ifp_frame_decode(message.payload, message.payload_bytes, &frame, &used));
	assert_int_equal(frame.type, IFP_FRAME_CLOCK);
	assert_ok(ifp_clock_samples_decode(frame.payload, frame.payload_bytes, &samples));
	assert_int_equal(samples.edge_count, 0);
	count = samples.tuple_count;
	ifp_clock_samples_free(&samples);
	return count;
}

static void test_the_first_reading_is_sent_at_once_and_later_ones_together(void **state)
{
	struct line *line = line_new();
	struct ifp_rank_clocks *clocks = make_clocks(line);

	(void)state;
	ifp_rank_clocks_tick(clocks, IFP_NS_PER_S);
	assert_int_equal(hear_tuples(line), 1);
	/* a second has to pass between two readings */
	ifp_rank_clocks_tick(clocks, IFP_NS_PER_S + 1);
	for (int i = 2; i <= 8; i++)
		ifp_rank_clocks_tick(clocks, i * IFP_NS_PER_S);
	ifp_uplink_pump(line->uplink);
	line_hear_nothing(line);
	ifp_rank_clocks_tick(clocks, 9 * IFP_NS_PER_S);
	assert_int_equal(hear_tuples(line), 8);
	/* at the end nothing is held back, and one more reading is made */
	ifp_rank_clocks_tick(clocks, 10 * IFP_NS_PER_S);
	ifp_rank_clocks_flush(clocks);
	assert_int_equal(hear_tuples(line), 2);
	ifp_rank_clocks_free(&clocks);
	line_free(line);
}

static void assert_near(int64_t value, int64_t expected)
{
	/* other processes may get in between the readings that are compared */
	assert_in_range(value - expected + 50 * IFP_NS_PER_MS, 0, 100 * IFP_NS_PER_MS);
}

static void test_stamps_become_realtime(void **state)
{
	struct line *line = line_new();
	struct ifp_rank_clocks *clocks = make_clocks(line);
	int64_t realtime_ns;

	(void)state;
	assert_int_equal(ifp_rank_clocks_realtime_ns(clocks, IFP_CLOCK_REALTIME, 77), 77);
	ifp_rank_clocks_tick(clocks, IFP_NS_PER_S);
	ifp_rank_clocks_tick(clocks, 2 * IFP_NS_PER_S);
	realtime_ns = ifp_clock_realtime_ns();
	assert_near(ifp_rank_clocks_realtime_ns(clocks, IFP_CLOCK_RAW, ifp_clock_raw_ns()),
		realtime_ns);
	ifp_rank_clocks_free(&clocks);
	line_free(line);
}

static void ask(struct ifp_rank_clocks *clocks, const char *document)
{
	cJSON *json = cJSON_Parse(document);

	ifp_rank_clocks_ask(clocks, json);
	cJSON_Delete(json);
}

static void test_an_exchange_that_fails_is_answered_with_the_reason(void **state)
{
	struct line *line = line_new();
	struct ifp_rank_clocks *clocks = make_clocks(line);
	int64_t server = 0;

	(void)state;
	ask(clocks, "{\"epoch\":1,\"server\":0}");
	assert_int_equal(line_hear(line).type, IFP_MSG_CLOCK_DONE);
	assert_int_equal(ifp_document_get_count(line->heard, "epoch"), 1);
	assert_string_equal(ifp_document_get_text(line->heard, "outcome"), "failed");
	assert_string_equal(ifp_document_get_text(line->heard, "reason"), "no endpoint was given");
	assert_null(cJSON_GetObjectItem(line->heard, "edge"));

	/* no helper is installed here */
	ask(clocks, "{\"epoch\":1,\"server\":-1}");
	assert_int_equal(line_hear(line).type, IFP_MSG_CLOCK_DONE);
	assert_true(ifp_document_get_int(line->heard, "server", &server));
	assert_int_equal(server, -1);
	assert_string_equal(ifp_document_get_text(line->heard, "outcome"), "failed");
	assert_false(ifp_rank_clocks_helper_running(clocks));
	assert_int_equal(ifp_error_depth(), 0);

	/* and what is no question gets no answer */
	ask(clocks, "{\"epoch\":1}");
	line_hear_nothing(line);
	ifp_rank_clocks_free(&clocks);
	line_free(line);
}

/* An agent's loop and that of the agent which answers it, until there is nothing more to wait for.
 */
static void exchange(struct ifp_rank_clocks *clocks, struct ifp_ping_server *server)
{
	int64_t wait_ms = LINE_WAIT_MS;
	void *own;

	while ((own = ifp_rank_clocks_before_wait(clocks, &wait_ms))) {
		zmq_pollitem_t items[] = {{.socket = own, .events = ZMQ_POLLIN},
			{.socket = ifp_ping_server_socket(server), .events = ZMQ_POLLIN}};

		assert_true(zmq_poll(items, 2, wait_ms) >= 0);
		ifp_rank_clocks_after_wait(clocks);
		if (items[1].revents)
			ifp_ping_server_answer(server);
	}
}

static void ask_for(struct ifp_rank_clocks *clocks, int epoch, const char *endpoint)
{
	char document[256];

	snprintf(document, sizeof(document),
		"{\"epoch\":%d,\"server\":7,\"endpoint\":\"%s\",\"round_trips\":32}", epoch,
		endpoint);
	ask(clocks, document);
}

static void test_an_exchange_goes_on_beside_everything_else(void **state)
{
	struct line *line = line_new();
	struct ifp_rank_clocks *clocks = make_clocks(line);
	struct ifp_ping_server *server = NULL;
	int64_t wait_ms = 100, low_ns, high_ns;
	const cJSON *edge;

	(void)state;
	assert_ok(ifp_ping_server_new(line->context, "tcp://127.0.0.1:*", NULL, &server));
	assert_null(ifp_rank_clocks_before_wait(clocks, &wait_ms));
	assert_int_equal(wait_ms, 100);
	/* the collector has given up the first one: nobody answers there, and nobody waits for it
	 */
	ask_for(clocks, 1, "inproc://nobody");
	ask_for(clocks, 2, ifp_ping_server_endpoint(server));
	line_hear_nothing(line);
	exchange(clocks, server);
	assert_int_equal(line_hear(line).type, IFP_MSG_CLOCK_DONE);
	assert_int_equal(ifp_document_get_count(line->heard, "epoch"), 2);
	assert_int_equal(ifp_document_get_count(line->heard, "server"), 7);
	assert_string_equal(ifp_document_get_text(line->heard, "outcome"), "measured");
	edge = cJSON_GetObjectItem(line->heard, "edge");
	assert_in_range(ifp_document_get_count(edge, "round_trips"), 8, 32);
	assert_true(ifp_document_get_int(edge, "low_ns", &low_ns));
	assert_true(ifp_document_get_int(edge, "high_ns", &high_ns));
	assert_true(low_ns <= 0 && high_ns >= 0); /* one clock */
	line_hear_nothing(line);
	ifp_ping_server_free(&server);
	ifp_rank_clocks_free(&clocks);
	line_free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_reading_is_sent_at_once_and_later_ones_together),
		cmocka_unit_test(test_stamps_become_realtime),
		cmocka_unit_test(test_an_exchange_that_fails_is_answered_with_the_reason),
		cmocka_unit_test(test_an_exchange_goes_on_beside_everything_else),
	};

	return RUN_TESTS(tests);
}
