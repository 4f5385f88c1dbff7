/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_line.h"

#include "core/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

#define RANK 2u
#define RUN_ID UINT64_C(0x1122334455667788)

static int set_up(void **state)
{
	struct line *line = calloc(1, sizeof(*line));

	line_open(line, RANK);
	*state = line;
	return 0;
}

static int tear_down(void **state)
{
	line_free(*state);
	return 0;
}

/* What the agent has said. */
static struct ifp_message hear(struct line *line)
{
	struct ifp_message message = line_hear(line);

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

static void say_message(struct line *line, enum ifp_message_type type, uint64_t run_id)
{
	const struct ifp_message message = {.type = type, .rank = RANK, .run_id = run_id};
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	ifp_message_encode(&message, &buf);
	assert_ok(ifp_buf_status(&buf));
	line_say(line, buf.data, buf.len_bytes);
}

/* Waits for a message to the agent. */
static int receive(struct line *line, struct ifp_message *message)
{
	line_wait(line);
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
	line_hear_nothing(line);
	ifp_uplink_welcome(line->uplink, RUN_ID, 0, 2);
	ifp_uplink_pump(line->uplink);
	hear_frame(line, 1);
	hear_frame(line, 2);
	line_hear_nothing(line);
	ifp_uplink_acknowledge(line->uplink, 1, 3, 77);
	assert_int_equal(ifp_uplink_progress_ns(line->uplink), 77);
	ifp_uplink_pump(line->uplink);
	hear_frame(line, 3);
	hear_frame(line, 4);
	line_hear_nothing(line);
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
	line_hear_nothing(line);
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
	line_say(line, "rubbish", 7);
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
	line_say(line, buf.data, buf.len_bytes);
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
