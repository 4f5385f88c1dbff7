/* SPDX-License-Identifier: Apache-2.0 */
/* The real collector: who gets in and who does not, and addresses that cannot be had. */
#include "collector_fixture.h"

#include "trace/archive/archive.h"

#include <signal.h>
#include <stdio.h>
#include <zmq.h>

static void two_jobs_do_not_meet(void **state)
{
	struct fixture *one = *state;
	struct fixture *two = NULL;
	struct stand_in agent_one, agent_two, stray;

	fixture_set_up((void **)&two);
	fixture_start_local(one);
	fixture_start_local(two);
	stand_in_open(&agent_one, one->context, one->collector.address, NULL, 0, 1);
	stand_in_open(&agent_two, two->context, two->collector.address, NULL, 0, 1);
	stand_in_join(&agent_one, false);
	stand_in_join(&agent_two, false);
	assert_true(agent_one.run_id != agent_two.run_id);
	/* an agent of job one whose messages reach the collector of job two */
	stand_in_open(&stray, two->context, two->collector.address, NULL, 0, 1);
	stray.run_id = agent_one.run_id;
	stand_in_send(&stray, IFP_MSG_HEARTBEAT, "{'steps':1,'hook':0,'running':true}");
	expect_refusal(&stray, "this collector belongs to another run");
	stray.job = "another";
	stand_in_say_hello(&stray);
	expect_refusal(&stray, "this collector serves job job, not another");
	stand_in_end(&agent_one);
	stand_in_end(&agent_two);
	assert_int_equal(collector_wait(&one->collector), 0);
	assert_int_equal(collector_wait(&two->collector), 0);
	stand_in_close(&stray);
	stand_in_close(&agent_one);
	stand_in_close(&agent_two);
	fixture_tear_down((void **)&two);
}

static void second_agent_of_a_rank_is_refused_and_the_first_goes_on(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in first, second;

	fixture_start_local(fixture);
	stand_in_open(&first, fixture->context, fixture->collector.address, NULL, 0, 1);
	stand_in_join(&first, false);
	stand_in_open(&second, fixture->context, fixture->collector.address, NULL, 0, 1);
	second.pid = 4711;
	stand_in_say_hello(&second);
	expect_refusal(&second, "rank 0 belongs to another agent (node, process 1000): "
				"two ranks claim one identity");
	second.run_id = first.run_id; /* knows the run, has not said HELLO with success */
	send_ledger(&second, 1);
	send_ledger(&first, 1);
	stand_in_wait_acknowledged(&first, 1);
	stand_in_end(&first);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	stand_in_close(&first);
	stand_in_close(&second);
}

static void other_wire_version_is_told_so(void **state)
{
	struct fixture *fixture = *state;
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct stand_in agent;

	fixture_start_local(fixture);
	stand_in_open(&agent, fixture->context, fixture->collector.address, NULL, 0, 1);
	ifp_message_encode(&(struct ifp_message){.type = IFP_MSG_HELLO}, &buf);
	buf.data[4] = IFP_WIRE_VERSION + 1; /* behind the magic; docs/protocol.md */
	assert_true(zmq_send(agent.socket, buf.data, buf.len_bytes, 0) > 0);
	expect_refusal(&agent, "the other side speaks wire version 2, this side version 1");
	assert_true(zmq_send(agent.socket, "rubbish", 7, 0) > 0); /* no answer, no harm */
	stand_in_join(&agent, false);
	stand_in_end(&agent);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	stand_in_close(&agent);
}

static void listening_beyond_this_host_takes_keys(void **state)
{
	struct fixture *fixture = *state;
	const char *arguments[] = {"--listen", "tcp://0.0.0.0:*", NULL};

	collector_start(&fixture->collector, &fixture->folder, arguments);
	assert_int_equal(collector_wait(&fixture->collector), 2);
	assert_int_equal(strncmp(fixture->collector.line, "error listening on ", 19), 0);
	assert_int_equal(count_lines(&fixture->collector, "without keys"), 1);
}

static void address_in_use_is_one_clear_line(void **state)
{
	struct fixture *fixture = *state;
	struct fixture *other = NULL;
	char ipc[128];

	fixture_start_local(fixture);
	fixture_set_up((void **)&other);
	collector_start(&other->collector, &other->folder,
		(const char *[]){"--listen", fixture->collector.address, NULL});
	assert_int_equal(collector_wait(&other->collector), 1);
	assert_int_equal(count_lines(&other->collector, "Address already in use"), 1);
	fixture_tear_down((void **)&other);

	/* ZeroMQ itself would take an ipc address over without a word */
	collector_kill(&fixture->collector, SIGKILL);
	collector_wait(&fixture->collector);
	snprintf(ipc, sizeof(ipc), "ipc://%s/socket", fixture->folder.path);
	fixture_start(fixture, ipc);
	fixture_set_up((void **)&other);
	collector_start(&other->collector, &other->folder, (const char *[]){"--listen", ipc, NULL});
	assert_int_equal(collector_wait(&other->collector), 1);
	assert_int_equal(count_lines(&other->collector, "another collector listens on"), 1);
	fixture_tear_down((void **)&other);
}

static void archive_in_use_is_one_clear_line(void **state)
{
	struct fixture *fixture = *state;
	struct collector second;

	fixture_start_local(fixture);
	collector_start(&second, &fixture->folder, (const char *[]){NULL});
	assert_int_equal(collector_wait(&second), 1);
	assert_int_equal(count_lines(&second, "is being written by another process"), 1);
}

static void make_keys(struct fixture *fixture, const char *name, char *path, struct ifp_keys *keys)
{
	snprintf(path, 128, "%s/%s", fixture->folder.path, name);
	collector_start(
		&fixture->collector, &fixture->folder, (const char *[]){"--keygen", path, NULL});
	assert_int_equal(collector_wait(&fixture->collector), 0);
	assert_ok(ifp_keys_read(path, keys));
}

/* The event that ZeroMQ reports on a socket's handshake. */
static int handshake_event(void *monitor)
{
	zmq_pollitem_t item = {.socket = monitor, .events = ZMQ_POLLIN};
	uint16_t event = 0;
	uint8_t first[6];
	char second[256];

	assert_int_equal(zmq_poll(&item, 1, DEADLINE_MS), 1);
	assert_int_equal(zmq_recv(monitor, first, sizeof(first), 0), sizeof(first));
	zmq_recv(monitor, second, sizeof(second), 0);
	memcpy(&event, first, sizeof(event));
	return event;
}

static void wrong_key_never_gets_in(void **state)
{
	struct fixture *fixture = *state;
	char path[128], other_path[128];
	struct stand_in agent, stranger;
	struct ifp_keys keys, other;
	void *monitor;

	make_keys(fixture, "key", path, &keys);
	make_keys(fixture, "other-key", other_path, &other);
	collector_start(&fixture->collector, &fixture->folder,
		(const char *[]){"--listen", "tcp://127.0.0.1:*", "--key-file", path, NULL});
	/* knows the collector's public key, but has a client key of its own */
	memcpy(other.server_public, keys.server_public, sizeof(keys.server_public));
	stranger.socket = NULL;
	stand_in_open(&stranger, fixture->context, "inproc://nowhere", &other, 0, 1);
	assert_int_equal(zmq_socket_monitor(stranger.socket, "inproc://stranger",
				 ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
					 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
					 ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL),
		0);
	monitor = zmq_socket(fixture->context, ZMQ_PAIR);
	assert_int_equal(zmq_connect(monitor, "inproc://stranger"), 0);
	assert_int_equal(zmq_connect(stranger.socket, fixture->collector.address), 0);
	assert_int_equal(handshake_event(monitor), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);

	stand_in_open(&agent, fixture->context, fixture->collector.address, &keys, 0, 1);
	stand_in_join(&agent, false);
	stand_in_end(&agent);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	count_lines(&fixture->collector, "with another key was refused");
	zmq_close(monitor);
	stand_in_close(&agent);
	stand_in_close(&stranger);
}

static void frame_of_another_rank_is_not_stored(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agent;
	uint64_t count;

	fixture_start_local(fixture);
	stand_in_open(&agent, fixture->context, fixture->collector.address, NULL, 0, 2);
	stand_in_join(&agent, false);
	stand_in_send_frame(&agent, &(struct ifp_frame){.type = IFP_FRAME_LEDGER,
					    .rank = 1,
					    .sequence = 1,
					    .payload = (const uint8_t *)"{}",
					    .payload_bytes = 2});
	stand_in_send_frame(&agent, &(struct ifp_frame){.type = IFP_FRAME_END,
					    .rank = 0,
					    .sequence = 1,
					    .payload = (const uint8_t *)"{}",
					    .payload_bytes = 2});
	send_ledger(&agent, 1);
	stand_in_wait_acknowledged(&agent, 1);
	collector_kill(&fixture->collector, SIGTERM);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	cJSON_Delete(stored_document(&fixture->folder, IFP_FRAME_LEDGER, 0, &count));
	assert_true(count >= 1);
	expect_end(&fixture->folder, 0, "lost");
	expect_end(&fixture->folder, 1, "lost");
	stand_in_close(&agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_jobs_do_not_meet),
		TEST(second_agent_of_a_rank_is_refused_and_the_first_goes_on),
		TEST(other_wire_version_is_told_so),
		TEST(listening_beyond_this_host_takes_keys),
		TEST(address_in_use_is_one_clear_line),
		TEST(archive_in_use_is_one_clear_line),
		TEST(wrong_key_never_gets_in),
		TEST(frame_of_another_rank_is_not_stored),
	};

	return RUN_TESTS(tests);
}
