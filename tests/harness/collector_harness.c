/* SPDX-License-Identifier: Apache-2.0 */
#include "collector_harness.h"

#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#define HELLO_INTERVAL_MS 200
#define MAX_ARGUMENTS 24
#define READY_FD 3
#define MAX_STAND_INS 16

static void *open_sockets[MAX_STAND_INS];

static int64_t now_ms(void)
{
	return ifp_clock_raw_ns() / IFP_NS_PER_MS;
}

void folder_make(struct folder *folder)
{
	snprintf(folder->path, sizeof(folder->path), "/tmp/infprof-collector-test-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

void folder_remove(struct folder *folder)
{
	assert_int_equal(nftw(folder->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* In the child: the pipe becomes READY_FD, stderr the log. */
static void become_collector(const struct collector *collector, int pipe, const char *output,
	const char *const *arguments)
{
	const char *argv[MAX_ARGUMENTS] = {
		INFPROF_COLLECTOR_PATH, "--ready-fd", "3", "--output", output};
	size_t count = 5;
	int log = open(collector->log, O_CREAT | O_WRONLY | O_APPEND, 0600);

	while (*arguments && count + 1 < MAX_ARGUMENTS)
		argv[count++] = *arguments++;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(log, STDERR_FILENO);
	dup2(pipe, READY_FD);
	close_range(READY_FD + 1, ~0u, 0);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

void collector_start(
	struct collector *collector, const struct folder *folder, const char *const *arguments)
{
	int64_t deadline = now_ms() + DEADLINE_MS;
	char output[128];
	size_t used = 0;
	int pipes[2];

	snprintf(output, sizeof(output), "%s/out", folder->path);
	snprintf(collector->log, sizeof(collector->log), "%s/log", folder->path);
	assert_int_equal(pipe(pipes), 0);
	collector->pid = fork();
	if (!collector->pid)
		become_collector(collector, pipes[1], output, arguments);
	close(pipes[1]);
	collector->line[0] = collector->address[0] = '\0';
	while (used < sizeof(collector->line) - 1) {
		struct pollfd wait = {.fd = pipes[0], .events = POLLIN};
		ssize_t n;

		if (poll(&wait, 1, (int)(deadline - now_ms())) <= 0)
			fail_msg("the collector says nothing: %s", collector_log(collector));
		n = read(pipes[0], collector->line + used, sizeof(collector->line) - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	close(pipes[0]);
	collector->line[used] = '\0';
	sscanf(collector->line, "ready %511s", collector->address);
}

static bool ends_within(struct collector *collector, int timeout_ms)
{
	int fd = pidfd_open(collector->pid, 0);
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	bool ended;

	assert_true(fd >= 0);
	ended = poll(&wait, 1, timeout_ms) > 0;
	close(fd);
	return ended;
}

void collector_stays(struct collector *collector, int for_ms)
{
	if (ends_within(collector, for_ms))
		fail_msg("the collector has ended: %s", collector_log(collector));
}

int collector_wait(struct collector *collector)
{
	int status;

	if (!ends_within(collector, DEADLINE_MS)) {
		kill(collector->pid, SIGKILL);
		fail_msg("the collector does not end: %s", collector_log(collector));
	}
	assert_int_equal(waitpid(collector->pid, &status, 0), collector->pid);
	collector->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void collector_kill(struct collector *collector, int signal)
{
	assert_int_equal(kill(collector->pid, signal), 0);
}

char *collector_log(const struct collector *collector)
{
	FILE *file = fopen(collector->log, "re");
	char *text = calloc(1, 65536);

	assert_non_null(text);
	if (file) {
		size_t used = fread(text, 1, 65535, file);

		text[used] = '\0';
		fclose(file);
	}
	return text;
}

void stand_in_open(struct stand_in *agent, void *zmq_context, const char *address,
	const struct ifp_keys *keys, uint32_t rank, uint32_t world)
{
	int linger_ms = 0, reconnect_ms = 10;

	*agent = (struct stand_in){
		.job = "job", .boot_id = "b", .rank = rank, .world = world, .pid = 1000 + rank};
	agent->socket = zmq_socket(zmq_context, ZMQ_DEALER);
	assert_non_null(agent->socket);
	zmq_setsockopt(agent->socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
	zmq_setsockopt(agent->socket, ZMQ_RECONNECT_IVL, &reconnect_ms, sizeof(reconnect_ms));
	if (keys) {
		zmq_setsockopt(agent->socket, ZMQ_CURVE_SERVERKEY, keys->server_public, 41);
		zmq_setsockopt(agent->socket, ZMQ_CURVE_PUBLICKEY, keys->client_public, 41);
		zmq_setsockopt(agent->socket, ZMQ_CURVE_SECRETKEY, keys->client_secret, 41);
	}
	assert_int_equal(zmq_connect(agent->socket, address), 0);
	for (size_t i = 0; i < MAX_STAND_INS; i++)
		if (!open_sockets[i]) {
			open_sockets[i] = agent->socket;
			return;
		}
	fail_msg("more than %d stand-ins", MAX_STAND_INS);
}

void stand_in_close(struct stand_in *agent)
{
	for (size_t i = 0; i < MAX_STAND_INS; i++)
		if (open_sockets[i] == agent->socket)
			open_sockets[i] = NULL;
	zmq_close(agent->socket);
	agent->socket = NULL;
}

void stand_in_close_all(void)
{
	for (size_t i = 0; i < MAX_STAND_INS; i++) {
		if (open_sockets[i])
			zmq_close(open_sockets[i]);
		open_sockets[i] = NULL;
	}
}

static void send_payload(struct stand_in *agent, enum ifp_message_type type, const void *payload,
	size_t payload_bytes)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_message message = {.type = type,
		.rank = agent->rank,
		.run_id = type == IFP_MSG_HELLO ? 0 : agent->run_id,
		.payload = payload,
		.payload_bytes = (uint32_t)payload_bytes};

	ifp_message_encode(&message, &buf);
	zmq_send(agent->socket, buf.data, buf.len_bytes, ZMQ_DONTWAIT);
}

void stand_in_send(struct stand_in *agent, enum ifp_message_type type, const char *document)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s", document ? document : "");
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	send_payload(agent, type, text, strlen(text));
}

void stand_in_send_frame(struct stand_in *agent, const struct ifp_frame *frame)
{
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	ifp_frame_encode(frame, &buf);
	send_payload(agent, IFP_MSG_FRAME, buf.data, buf.len_bytes);
}

/* Notes what WELCOME and ACK say. */
static void note(struct stand_in *agent, enum ifp_message_type type, const cJSON *document)
{
	const char *run_id = cJSON_GetStringValue(cJSON_GetObjectItem(document, "run_id"));
	const char *session = cJSON_GetStringValue(cJSON_GetObjectItem(document, "session"));
	const char *name = type == IFP_MSG_WELCOME ? "last_sequence" : "sequence";

	if (type != IFP_MSG_WELCOME && type != IFP_MSG_ACK)
		return;
	agent->last_sequence = (uint64_t)cJSON_GetNumberValue(cJSON_GetObjectItem(document, name));
	agent->credit = (uint64_t)cJSON_GetNumberValue(cJSON_GetObjectItem(document, "credit"));
	if (type != IFP_MSG_WELCOME)
		return;
	agent->run_id = strtoull(run_id, NULL, 16);
	snprintf(agent->session, sizeof(agent->session), "%s", session);
}

bool stand_in_try(
	struct stand_in *agent, enum ifp_message_type type, int timeout_ms, cJSON **document)
{
	int64_t deadline = now_ms() + timeout_ms;
	zmq_pollitem_t item = {.socket = agent->socket, .events = ZMQ_POLLIN};
	bool found = false;

	while (!found) {
		struct ifp_message message;
		cJSON *payload;
		zmq_msg_t received;
		int64_t left = deadline - now_ms();

		if (zmq_poll(&item, 1, left > 0 ? left : 0) <= 0)
			return false;
		zmq_msg_init(&received);
		assert_true(zmq_msg_recv(&received, agent->socket, ZMQ_DONTWAIT) >= 0);
		assert_ok(ifp_message_decode(
			zmq_msg_data(&received), zmq_msg_size(&received), &message));
		payload = message.payload_bytes
				  ? cJSON_ParseWithLength(
					    (const char *)message.payload, message.payload_bytes)
				  : NULL;
		note(agent, message.type, payload);
		found = message.type == type;
		if (found && document)
			*document = payload;
		else
			cJSON_Delete(payload);
		zmq_msg_close(&received);
	}
	return true;
}

cJSON *stand_in_receive(struct stand_in *agent, enum ifp_message_type type)
{
	cJSON *document = NULL;

	if (!stand_in_try(agent, type, DEADLINE_MS, &document))
		fail_msg("rank %u: no message of type %d", agent->rank, (int)type);
	return document;
}

void stand_in_expect(struct stand_in *agent, enum ifp_message_type type)
{
	cJSON_Delete(stand_in_receive(agent, type));
}

void stand_in_say_hello(struct stand_in *agent)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"{'version':1,'job':'%s','rank':%u,'world':%u,'local_rank':%u,'launcher':'none',"
		"'host':'node','pid':%u,'boot_id':'%s','clock_endpoint':'ipc://"
		"nobody','time_namespace':'1','stamp_clock':'raw',"
		"'program':'program','argv':['program'],'clock':'auto','windows':[{'first':0,"
		"'count':5}],'warmup':1,'duration_ms':1000,'session':'%s',"
		"'started_realtime_ns':'1800000000000000001'}",
		agent->job, agent->rank, agent->world, agent->rank, agent->pid, agent->boot_id,
		agent->session);
	stand_in_send(agent, IFP_MSG_HELLO, text);
}

void stand_in_join(struct stand_in *agent, bool other_session)
{
	int64_t deadline = now_ms() + DEADLINE_MS;
	char before[32];

	snprintf(before, sizeof(before), "%s", agent->session);
	while (now_ms() < deadline) {
		stand_in_say_hello(agent);
		while (stand_in_try(agent, IFP_MSG_WELCOME, HELLO_INTERVAL_MS, NULL))
			if (!other_session || strcmp(before, agent->session) != 0)
				return;
	}
	fail_msg("rank %u: no WELCOME", agent->rank);
}

void stand_in_wait_acknowledged(struct stand_in *agent, uint64_t sequence)
{
	while (agent->last_sequence < sequence)
		stand_in_expect(agent, IFP_MSG_ACK);
}

void stand_in_end(struct stand_in *agent)
{
	stand_in_send(agent, IFP_MSG_BYE,
		"{'how':'exited','status':0,'ended_realtime_ns':'1800000000000000009','steps':0}");
	stand_in_expect(agent, IFP_MSG_CLOSED);
}
