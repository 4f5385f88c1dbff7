/* SPDX-License-Identifier: Apache-2.0 */
/* The real collector: who gets in and who does not, ends, losses, windows, a full disk. */
#include "collector_harness.h"

#include "core/segment.h"
#include "trace/archive/archive.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#define HOOK_TRAINS (IFP_HOOK_LOADED | IFP_HOOK_TORCH | IFP_HOOK_STEPPED | IFP_HOOK_ARMED)

struct fixture {
	struct folder folder;
	struct collector collector;
	void *context;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	folder_make(&fixture->folder);
	fixture->context = zmq_ctx_new();
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->collector.pid > 0) {
		collector_kill(&fixture->collector, SIGKILL);
		collector_wait(&fixture->collector);
	}
	zmq_ctx_term(fixture->context);
	folder_remove(&fixture->folder);
	free(fixture);
	return 0;
}

static void start(struct fixture *fixture, const char *listen)
{
	const char *arguments[] = {"--listen", listen, "--job", "job", NULL};

	collector_start(&fixture->collector, &fixture->folder, arguments);
	assert_int_equal(strncmp(fixture->collector.line, "ready ", 6), 0);
}

static void start_local(struct fixture *fixture)
{
	start(fixture, "tcp://127.0.0.1:*");
}

/* Waits for REFUSE and compares its reason. */
static void expect_refusal(struct stand_in *agent, const char *reason)
{
	cJSON *document = stand_in_receive(agent, IFP_MSG_REFUSE);

	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(document, "reason")), reason);
	cJSON_Delete(document);
}

/* Number of lines that it has written to stderr, and whether one of them holds text. */
static int count_lines(const struct collector *collector, const char *text)
{
	IFP_CLEANUP_FREE char *log = collector_log(collector);
	int lines = 0;

	if (!strstr(log, text))
		fail_msg("\"%s\" is not in: %s", text, log);
	for (const char *c = log; *c; c++)
		lines += *c == '\n';
	return lines;
}

/* The only document of this type and rank in the archive. */
static cJSON *stored_document(
	const struct folder *folder, enum ifp_frame_type type, uint32_t rank, uint64_t *count)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_archive_reader *reader;
	struct ifp_frame frame;
	cJSON *document = NULL;
	char path[128];

	*count = 0;
	snprintf(path, sizeof(path), "%s/out/run.ifp", folder->path);
	assert_ok(ifp_archive_reader_open(path, &reader));
	for (uint64_t i = 0; i < ifp_archive_reader_count(reader); i++) {
		const struct ifp_frame *header = ifp_archive_reader_frame(reader, i);

		if (header->type != type || header->rank != rank)
			continue;
		assert_ok(ifp_archive_reader_load(reader, i, &buf, &frame));
		cJSON_Delete(document);
		document = cJSON_ParseWithLength((const char *)frame.payload, frame.payload_bytes);
		++*count;
	}
	ifp_archive_reader_close(&reader);
	return document;
}

static void expect_end(const struct folder *folder, uint32_t rank, const char *how)
{
	uint64_t count;
	cJSON *end = stored_document(folder, IFP_FRAME_END, rank, &count);

	assert_int_equal(count, 1);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(end, "how")), how);
	cJSON_Delete(end);
}

static void send_ledger(struct stand_in *agent, uint64_t sequence)
{
	static const char text[] = "{\"rows\":[]}";

	stand_in_send_frame(agent, &(struct ifp_frame){.type = IFP_FRAME_LEDGER,
					   .rank = agent->rank,
					   .sequence = sequence,
					   .payload = (const uint8_t *)text,
					   .payload_bytes = sizeof(text) - 1});
}

static void one_job_from_hello_to_verdict(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agents[2];
	cJSON *roll, *run, *verdict;
	uint64_t count;

	start_local(fixture);
	for (uint32_t rank = 0; rank < 2; rank++) {
		stand_in_open(
			&agents[rank], fixture->context, fixture->collector.address, NULL, rank, 2);
		stand_in_join(&agents[rank], false);
	}
	roll = stand_in_receive(&agents[1], IFP_MSG_ROLL);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(roll, "ranks")), 2);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(roll, "missing")), 0);
	assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(roll, "clocks")), 1);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(roll, "clock_plan")), "none");
	assert_true(cJSON_IsFalse(cJSON_GetObjectItem(roll, "late")));
	cJSON_Delete(roll);
	for (uint32_t rank = 0; rank < 2; rank++) {
		for (uint64_t sequence = 1; sequence <= 10; sequence++)
			send_ledger(&agents[rank], sequence);
		stand_in_wait_acknowledged(&agents[rank], 10);
	}
	stand_in_end(&agents[0]);
	stand_in_end(&agents[1]);
	verdict = stand_in_receive(&agents[0], IFP_MSG_VERDICT);
	assert_non_null(cJSON_GetStringValue(cJSON_GetObjectItem(verdict, "text")));
	cJSON_Delete(verdict);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	run = stored_document(&fixture->folder, IFP_FRAME_RUN, IFP_FRAME_NO_RANK, &count);
	assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(run, "world")), 2);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(run, "job")), "job");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(run, "clock_plan")), "none");
	cJSON_Delete(run);
	expect_end(&fixture->folder, 0, "exited");
	expect_end(&fixture->folder, 1, "exited");
	stand_in_close(&agents[0]);
	stand_in_close(&agents[1]);
}

static void two_jobs_do_not_meet(void **state)
{
	struct fixture *one = *state;
	struct fixture *two = NULL;
	struct stand_in agent_one, agent_two, stray;

	set_up((void **)&two);
	start_local(one);
	start_local(two);
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
	tear_down((void **)&two);
}

static void second_agent_of_a_rank_is_refused_and_the_first_goes_on(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in first, second;

	start_local(fixture);
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

	start_local(fixture);
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

	start_local(fixture);
	set_up((void **)&other);
	collector_start(&other->collector, &other->folder,
		(const char *[]){"--listen", fixture->collector.address, NULL});
	assert_int_equal(collector_wait(&other->collector), 1);
	assert_int_equal(count_lines(&other->collector, "Address already in use"), 1);
	tear_down((void **)&other);

	/* ZeroMQ itself would take an ipc address over without a word */
	collector_kill(&fixture->collector, SIGKILL);
	collector_wait(&fixture->collector);
	snprintf(ipc, sizeof(ipc), "ipc://%s/socket", fixture->folder.path);
	start(fixture, ipc);
	set_up((void **)&other);
	collector_start(&other->collector, &other->folder, (const char *[]){"--listen", ipc, NULL});
	assert_int_equal(collector_wait(&other->collector), 1);
	assert_int_equal(count_lines(&other->collector, "another collector listens on"), 1);
	tear_down((void **)&other);
}

static void archive_in_use_is_one_clear_line(void **state)
{
	struct fixture *fixture = *state;
	struct collector second;

	start_local(fixture);
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

static void agent_that_vanishes_is_lost_and_the_run_is_drawn(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agents[2];
	char ipc[128];
	cJSON *ledger;
	uint64_t rows;

	snprintf(ipc, sizeof(ipc), "ipc://%s/socket", fixture->folder.path);
	start(fixture, ipc);
	for (uint32_t rank = 0; rank < 2; rank++) {
		stand_in_open(&agents[rank], fixture->context, ipc, NULL, rank, 2);
		stand_in_join(&agents[rank], false);
	}
	send_ledger(&agents[1], 1);
	stand_in_wait_acknowledged(&agents[1], 1);
	stand_in_close(&agents[1]); /* as if it had been killed */
	stand_in_end(&agents[0]);
	stand_in_expect(&agents[0], IFP_MSG_VERDICT);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	expect_end(&fixture->folder, 0, "exited");
	expect_end(&fixture->folder, 1, "lost");
	ledger = stored_document(&fixture->folder, IFP_FRAME_LEDGER, 1, &rows);
	assert_int_equal(rows, 2); /* its own, and the one on its loss */
	cJSON_Delete(ledger);
	stand_in_close(&agents[0]);
}

static void failure_of_one_rank_flushes_the_others(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agents[2];

	start_local(fixture);
	for (uint32_t rank = 0; rank < 2; rank++) {
		stand_in_open(
			&agents[rank], fixture->context, fixture->collector.address, NULL, rank, 2);
		stand_in_join(&agents[rank], false);
	}
	stand_in_send(&agents[1], IFP_MSG_FAILING, "{'how':'exited','status':3}");
	stand_in_expect(&agents[0], IFP_MSG_FLUSH);
	stand_in_send(&agents[1], IFP_MSG_BYE, "{'how':'exited','status':3}");
	stand_in_expect(&agents[1], IFP_MSG_CLOSED);
	stand_in_end(&agents[0]);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	stand_in_close(&agents[0]);
	stand_in_close(&agents[1]);
}

static void sigterm_draws_what_is_there(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agent;

	start_local(fixture);
	stand_in_open(&agent, fixture->context, fixture->collector.address, NULL, 0, 1);
	stand_in_join(&agent, false);
	send_ledger(&agent, 1);
	stand_in_wait_acknowledged(&agent, 1);
	collector_kill(&fixture->collector, SIGTERM);
	stand_in_expect(&agent, IFP_MSG_VERDICT);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	expect_end(&fixture->folder, 0, "lost");
	stand_in_close(&agent);
}

static void nobody_comes(void **state)
{
	struct fixture *fixture = *state;
	char path[128];

	collector_start(&fixture->collector, &fixture->folder,
		(const char *[]){"--idle-timeout", "100ms", NULL});
	assert_int_equal(collector_wait(&fixture->collector), 1);
	assert_int_equal(count_lines(&fixture->collector, "no agent has said HELLO"), 1);
	snprintf(path, sizeof(path), "%s/out/run.ifp", fixture->folder.path);
	assert_int_equal(access(path, F_OK), -1);
}

static void ranks_that_step_get_a_window(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agent;
	char text[128];
	cJSON *plan = NULL;
	int steps = 1;

	start_local(fixture);
	stand_in_open(&agent, fixture->context, fixture->collector.address, NULL, 0, 1);
	stand_in_join(&agent, false);
	do {
		snprintf(text, sizeof(text), "{'steps':%d,'hook':%u,'running':true}", steps,
			HOOK_TRAINS);
		stand_in_send(&agent, IFP_MSG_HEARTBEAT, text);
		steps += 2;
	} while (!stand_in_try(&agent, IFP_MSG_WINDOW_PLAN, 300, &plan) && steps < 100);
	assert_non_null(plan);
	assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(plan, "first_step")) > steps);
	assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(plan, "count")), 5);
	cJSON_Delete(plan);
	stand_in_send(
		&agent, IFP_MSG_WINDOW_ACK, "{'window':0,'attempt':0,'accepted':true,'steps':9}");
	stand_in_expect(&agent, IFP_MSG_WINDOW_GO);
	stand_in_end(&agent);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	stand_in_close(&agent);
}

static void limit_files(pid_t pid, rlim_t bytes)
{
	assert_int_equal(
		prlimit(pid, RLIMIT_FSIZE,
			&(struct rlimit){.rlim_cur = bytes, .rlim_max = RLIM_INFINITY}, NULL),
		0);
}

static void full_disk_loses_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agent;
	uint64_t count;
	cJSON *row;

	signal(SIGXFSZ, SIG_IGN); /* inherited: a write beyond the limit is an error, no signal */
	start_local(fixture);
	stand_in_open(&agent, fixture->context, fixture->collector.address, NULL, 0, 1);
	stand_in_join(&agent, false);
	send_ledger(&agent, 1);
	stand_in_wait_acknowledged(&agent, 1);
	limit_files(fixture->collector.pid, 100); /* less than there is already */
	send_ledger(&agent, 2);
	send_ledger(&agent, 3);
	do {
		stand_in_send(&agent, IFP_MSG_HEARTBEAT, "{'steps':0,'hook':0,'running':true}");
		stand_in_expect(&agent, IFP_MSG_ACK);
	} while (agent.credit);
	assert_int_equal(agent.last_sequence, 1);
	limit_files(fixture->collector.pid, RLIM_INFINITY);
	while (agent.last_sequence < 3) {
		stand_in_send(&agent, IFP_MSG_HEARTBEAT, "{'steps':0,'hook':0,'running':true}");
		stand_in_expect(&agent, IFP_MSG_ACK);
		stand_in_try(&agent, IFP_MSG_VERDICT, 100, NULL); /* nothing comes: a pause */
	}
	assert_true(agent.credit > 0);
	stand_in_end(&agent);
	assert_int_equal(collector_wait(&fixture->collector), 0);
	row = stored_document(&fixture->folder, IFP_FRAME_LEDGER, IFP_FRAME_NO_RANK, &count);
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(
			cJSON_GetArrayItem(cJSON_GetObjectItem(row, "rows"), 0), "what")),
		"store-failed");
	cJSON_Delete(row);
	row = stored_document(&fixture->folder, IFP_FRAME_LEDGER, 0, &count);
	assert_int_equal(count, 3);
	cJSON_Delete(row);
	stand_in_close(&agent);
}

static void frame_of_another_rank_is_not_stored(void **state)
{
	struct fixture *fixture = *state;
	struct stand_in agent;
	uint64_t count;

	start_local(fixture);
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

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_job_from_hello_to_verdict),
		TEST(two_jobs_do_not_meet),
		TEST(second_agent_of_a_rank_is_refused_and_the_first_goes_on),
		TEST(other_wire_version_is_told_so),
		TEST(listening_beyond_this_host_takes_keys),
		TEST(address_in_use_is_one_clear_line),
		TEST(archive_in_use_is_one_clear_line),
		TEST(wrong_key_never_gets_in),
		TEST(agent_that_vanishes_is_lost_and_the_run_is_drawn),
		TEST(failure_of_one_rank_flushes_the_others),
		TEST(sigterm_draws_what_is_there),
		TEST(nobody_comes),
		TEST(ranks_that_step_get_a_window),
		TEST(full_disk_loses_nothing),
		TEST(frame_of_another_rank_is_not_stored),
	};

	return RUN_TESTS(tests);
}
