/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/uplink/uplink.h"
#include "core/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

#define RANK 2u
#define RUN_ID UINT64_C(0x1122334455667788)
#define WAIT_MS 5000

/* The collector's end of the line, and the agent's. */
struct line {
	void *context, *router;
	struct ifp_uplink *uplink;
	uint8_t peer[256]; /* routing id of the agent, as of the last message */
	size_t peer_bytes;
	uint8_t data[4096];
};

static void listen_on(struct line *line)
{
	int wait_ms = WAIT_MS, linger_ms = 0;

	line->router = zmq_socket(line->context, ZMQ_ROUTER);
	zmq_setsockopt(line->router, ZMQ_RCVTIMEO, &wait_ms, sizeof(wait_ms));
	zmq_setsockopt(line->router, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
	assert_int_equal(zmq_bind(line->router, "inproc://collector"), 0);
}

static int set_up(void **state)
{
	struct line *line = calloc(1, sizeof(*line));
	struct ifp_uplink_config config = {.address = "inproc://collector",
		.queue = {.rank = RANK, .memory_bytes = 1 << 20, .spool_directory = "/tmp"}};

	line->context = zmq_ctx_new();
	listen_on(line);
	config.zmq_context = line->context;
	assert_ok(ifp_uplink_new(&config, &line->uplink));
	*state = line;
	return 0;
}

static int tear_down(void **state)
{
	struct line *line = *state;

	ifp_uplink_free(&line->uplink);
	zmq_close(line->router);
	zmq_ctx_term(line->context);
	free(line);
	return 0;
}

/* What the agent has said. */
static struct ifp_message hear(struct line *line)
{
	struct ifp_message message;
	int n = zmq_recv(line->router, line->peer, sizeof(line->peer), 0);

	assert_true(n > 0);
	line->peer_bytes = (size_t)n;
	n = zmq_recv(line->router, line->data, sizeof(line->data), 0);
	assert_true(n > 0 && (size_t)n <= sizeof(line->data));
	assert_ok(ifp_message_decode(line->data, (size_t)n, &message));
	assert_int_equal(message.rank, RANK);
	return message;
}

static void hear_frame(struct line *line, uint64_t sequence)
{
	struct ifp_message message = hear(line);
	struct ifp_frame frame;
	size_t used;

	assert_int_equal(message.type, IFP_MSG_FRAME);
	assert_int_equal(message.run_id, RUN_ID);
	assert_ok(ifp_frame_decode(message.payload, message.payload_bytes, &frame, &used));
	assert_int_equal(frame.sequence, sequence);
}

static void hear_nothing(struct line *line)
{
	uint8_t data[1];

	assert_int_equal(zmq_recv(line->router, data, sizeof(data), ZMQ_DONTWAIT), -1);
}

static void say(struct line *line, const void *data, size_t len_bytes)
{
	assert_true(zmq_send(line->router, line->peer, line->peer_bytes, ZMQ_SNDMORE) >= 0);
	assert_true(zmq_send(line->router, data, len_bytes, 0) >= 0);
}

static void say_message(struct line *line, enum ifp_message_type type, uint64_t run_id)
{
	const struct ifp_message message = {.type = type, .rank = RANK, .run_id = run_id};
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	ifp_message_encode(&message, &buf);
	assert_ok(ifp_buf_status(&buf));
	say(line, buf.data, buf.len_bytes);
}

/* Waits for a message to the agent. */
static int receive(struct line *line, struct ifp_message *message)
{
	zmq_pollitem_t item = {.socket = ifp_uplink_socket(line->uplink), .events = ZMQ_POLLIN};

	assert_int_equal(zmq_poll(&item, 1, WAIT_MS), 1);
	return ifp_uplink_receive(line->uplink, message);
}

static void add_frames(struct line *line, int count)
{
	const struct ifp_frame frame = {.type = IFP_FRAME_EVENTS,
		.event_count = 1,
		.payload = (const uint8_t *)"payload",
		.payload_bytes = 7};

	for (int i = 0; i < count; i++)
		assert_ok(ifp_frame_queue_add(ifp_uplink_frames(line->uplink), &frame));
}

static void test_hello_carries_no_run_and_other_messages_do(void **state)
{
	struct line *line = *state;
	struct ifp_message message;

	ifp_uplink_send(line->uplink, IFP_MSG_HELLO, "{\"rank\":2}");
	message = hear(line);
	assert_int_equal(message.type, IFP_MSG_HELLO);
	assert_int_equal(message.run_id, 0);
	assert_int_equal(message.payload_bytes, 10);
	assert_memory_equal(message.payload, "{\"rank\":2}", 10);
	ifp_uplink_welcome(line->uplink, RUN_ID, 0, 0);
	ifp_uplink_send(line->uplink, IFP_MSG_HEARTBEAT, "{}");
	message = hear(line);
	assert_int_equal(message.run_id, RUN_ID);
}

static void test_no_frame_is_sent_before_welcome_or_beyond_the_credit(void **state)
{
	struct line *line = *state;

	add_frames(line, 5);
	ifp_uplink_pump(line->uplink);
	hear_nothing(line);
	ifp_uplink_welcome(line->uplink, RUN_ID, 0, 2);
	ifp_uplink_pump(line->uplink);
	hear_frame(line, 1);
	hear_frame(line, 2);
	hear_nothing(line);
	ifp_uplink_acknowledge(line->uplink, 1, 3, 77);
	assert_int_equal(ifp_uplink_progress_ns(line->uplink), 77);
	ifp_uplink_pump(line->uplink);
	hear_frame(line, 3);
	hear_frame(line, 4);
	hear_nothing(line);
	/* the same acknowledgement again is no progress */
	ifp_uplink_acknowledge(line->uplink, 1, 3, 99);
	assert_int_equal(ifp_uplink_progress_ns(line->uplink), 77);
	/* nor is a collector that is there, and has stored nothing new */
	ifp_uplink_welcome(line->uplink, RUN_ID, 1, 3);
	assert_int_equal(ifp_uplink_progress_ns(line->uplink), 77);
}

static void test_a_new_session_gets_what_it_does_not_have(void **state)
{
	struct line *line = *state;

	add_frames(line, 4);
	ifp_uplink_welcome(line->uplink, RUN_ID, 0, 100);
	ifp_uplink_pump(line->uplink);
	for (uint64_t i = 1; i <= 4; i++)
		hear_frame(line, i);
	ifp_uplink_acknowledge(line->uplink, 2, 100, 0);
	/* the collector dies having stored 3, and is started again on its archive */
	ifp_uplink_welcome(line->uplink, RUN_ID, 3, 100);
	ifp_uplink_pump(line->uplink);
	hear_frame(line, 4);
	hear_nothing(line);
	ifp_uplink_acknowledge(line->uplink, 4, 100, 0);
	assert_int_equal(ifp_frame_queue_waiting(ifp_uplink_frames(line->uplink)), 0);
}

static void test_messages_of_another_run_and_rubbish_are_skipped(void **state)
{
	struct line *line = *state;
	struct ifp_message message;

	ifp_uplink_send(line->uplink, IFP_MSG_HELLO, "{}");
	hear(line);
	ifp_uplink_welcome(line->uplink, RUN_ID, 0, 1);
	say(line, "rubbish", 7);
	say_message(line, IFP_MSG_FLUSH, RUN_ID + 1);
	say_message(line, IFP_MSG_CLOSED, RUN_ID);
	/* inproc delivers in order: the first two are there when the third is asked for */
	while (!receive(line, &message))
		;
	assert_int_equal(message.type, IFP_MSG_CLOSED);
	assert_int_equal(ifp_uplink_receive(line->uplink, &message), 0);
}

static void test_another_version_of_the_protocol_is_told(void **state)
{
	struct line *line = *state;
	const struct ifp_message closed = {.type = IFP_MSG_CLOSED, .rank = RANK};
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_message message;

	ifp_uplink_send(line->uplink, IFP_MSG_HELLO, "{}");
	hear(line);
	ifp_message_encode(&closed, &buf);
	buf.data[4] = 99; /* the version: see message.c */
	say(line, buf.data, buf.len_bytes);
	assert_int_equal(receive(line, &message), -EPROTO);
	ifp_error_clear();
}

static void test_the_line_can_be_encrypted(void **state)
{
	struct line *line = *state;
	struct ifp_uplink_config config = {
		.zmq_context = line->context, .queue = {.rank = RANK, .spool_directory = "/tmp"}};
	struct ifp_uplink *uplink = NULL;
	struct ifp_keys keys;
	char address[128];
	size_t size_bytes = sizeof(address);
	int server = 1;

	assert_int_equal(zmq_curve_keypair(keys.server_public, keys.server_secret), 0);
	assert_int_equal(zmq_curve_keypair(keys.client_public, keys.client_secret), 0);
	zmq_setsockopt(line->router, ZMQ_CURVE_SERVER, &server, sizeof(server));
	zmq_setsockopt(line->router, ZMQ_CURVE_SECRETKEY, keys.server_secret, 41);
	assert_int_equal(zmq_bind(line->router, "tcp://127.0.0.1:*"), 0);
	zmq_getsockopt(line->router, ZMQ_LAST_ENDPOINT, address, &size_bytes);
	config.address = address;
	config.keys = &keys;
	assert_ok(ifp_uplink_new(&config, &uplink));
	ifp_uplink_send(uplink, IFP_MSG_HELLO, "{}");
	assert_int_equal(hear(line).type, IFP_MSG_HELLO);
	ifp_uplink_free(&uplink);
}

#define LINE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINE_TEST(test_hello_carries_no_run_and_other_messages_do),
		LINE_TEST(test_no_frame_is_sent_before_welcome_or_beyond_the_credit),
		LINE_TEST(test_a_new_session_gets_what_it_does_not_have),
		LINE_TEST(test_messages_of_another_run_and_rubbish_are_skipped),
		LINE_TEST(test_another_version_of_the_protocol_is_told),
		LINE_TEST(test_the_line_can_be_encrypted),
	};

	return RUN_TESTS(tests);
}
