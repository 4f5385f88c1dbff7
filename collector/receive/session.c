/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/session.h"

#include "collector/receive/recovery.h"
#include "collector/receive/session_internal.h"
#include "core/error.h"
#include "core/log.h"
#include "infprof/version.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define TICK_MS 200
/* Messages between two looks at the clock. */
#define BATCH 256
/* A rank that is silent for so long is sent something, to see whether its connection stands. */
#define PROBE_SILENCE_NS (3 * IFP_NS_PER_S)
#define PROBE_INTERVAL_NS IFP_NS_PER_S

int ifp_session_send_over(struct ifp_session *session, const struct ifp_route *route, uint32_t rank,
	enum ifp_message_type type, const cJSON *document)
{
	IFP_CLEANUP_FREE char *text = document ? cJSON_PrintUnformatted(document) : NULL;
	struct ifp_message message = {.type = type,
		.rank = rank,
		.run_id = session->run_id,
		.payload = (const uint8_t *)text,
		.payload_bytes = text ? (uint32_t)strlen(text) : 0};

	if (document && !text)
		return -ENOMEM;
	ifp_buf_clear(&session->message);
	ifp_message_encode(&message, &session->message);
	if (session->message.failed)
		return -ENOMEM;
	return ifp_server_send(
		session->server, route, session->message.data, session->message.len_bytes);
}

/* Nothing is repeated here: what matters is asked for again by the other side. */
static void outlet_send(
	void *context, uint32_t rank, enum ifp_message_type type, const cJSON *document)
{
	struct ifp_session *session = context;
	const struct ifp_route *route = &session->ranks[rank].route;

	/* After a restart, a rank has no route before its HELLO: that is no closed connection. */
	if (!route->len_bytes)
		return;
	if (ifp_session_send_over(session, route, rank, type, document) == -EHOSTUNREACH)
		session->roster.members[rank].connected = false;
}

static void outlet_store(void *context, enum ifp_frame_type type, uint32_t rank,
	const void *payload, size_t payload_bytes)
{
	struct ifp_session *session = context;
	struct ifp_frame frame = {.type = type,
		.rank = rank,
		.payload = payload,
		.payload_bytes = (uint32_t)payload_bytes};

	if (session->store && ifp_store_frame(session->store, &frame, ifp_clock_raw_ns()))
		ifp_log_chain(IFP_LOG_WARN);
}

void ifp_session_send_ack(struct ifp_session *session, uint32_t rank)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	struct session_rank *r = &session->ranks[rank];

	if (session->store)
		r->acknowledged = ifp_store_acknowledged(session->store, rank);
	cJSON_AddNumberToObject(document, "sequence", (double)r->acknowledged);
	cJSON_AddNumberToObject(
		document, "credit", session->store ? ifp_store_credit(session->store) : 0);
	r->ack_due = false;
	ifp_outlet_send(&session->outlet, rank, IFP_MSG_ACK, document);
}

void ifp_session_store_run(struct ifp_session *session)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	const cJSON *hello = NULL;
	const char *program;
	char run_id[17];

	for (uint32_t i = 0; i < session->roster.world && !hello; i++)
		hello = session->roster.members[i].hello;
	program = ifp_document_get_text(hello, "program");
	snprintf(run_id, sizeof(run_id), "%016" PRIx64, session->run_id);
	cJSON_AddStringToObject(document, "run_id", run_id);
	cJSON_AddStringToObject(document, "job", session->roster.job);
	cJSON_AddStringToObject(document, "program", program ? program : "");
	cJSON_AddNumberToObject(document, "world", session->roster.world);
	ifp_document_add_int64(document, "started_realtime_ns", session->started_realtime_ns);
	cJSON_AddStringToObject(document, "infprof", INFPROF_VERSION);
	cJSON_AddStringToObject(document, "output", session->config->output);
	if (session->roster.called)
		cJSON_AddStringToObject(
			document, "clock_plan", ifp_clocks_plan_name(session->clock_plan));
	ifp_outlet_document(&session->outlet, IFP_FRAME_RUN, IFP_FRAME_NO_RANK, document);
}

int ifp_session_begin(struct ifp_session *session)
{
	uint32_t world = session->roster.world;
	int err;

	session->ranks = calloc(world, sizeof(*session->ranks));
	if (!session->ranks)
		return ifp_fail(-ENOMEM, "out of memory for %" PRIu32 " ranks", world);
	if ((err = ifp_store_new(&session->writer, world, &session->store)) ||
		(err = ifp_windows_new(&session->outlet, world, &session->windows)) ||
		(err = ifp_clocks_new(
			 &session->outlet, session->config->server_key, world, &session->clocks)) ||
		(err = ifp_ends_init(&session->ends, &session->outlet, world)))
		return err;
	return 0;
}

/* Goes on with the run of an archive: its agents will say HELLO again. */
static int restore(struct ifp_session *session, const struct ifp_recovery *recovery)
{
	int64_t now_ns = ifp_clock_raw_ns();
	int err = ifp_roster_init(&session->roster, recovery->job, recovery->world);

	if (!err)
		err = ifp_session_begin(session);
	if (err)
		return err;
	session->run_id = recovery->run_id;
	session->roster.called = recovery->called;
	session->roster.restored_ns = now_ns;
	for (uint32_t i = 0; i < recovery->world && !err; i++) {
		if (recovery->hellos[i]) {
			err = ifp_roster_restore(&session->roster, i, recovery->hellos[i], now_ns);
			session->ranks[i].in_roll = recovery->called;
		}
		if (!err && recovery->ends[i]) {
			ifp_ends_restore(&session->ends, i, recovery->ends[i]);
			if (session->ends.states[i] == IFP_END_LOST)
				ifp_roster_lost(&session->roster, i);
			else
				ifp_roster_ended(&session->roster, i);
			ifp_windows_gone(session->windows, i);
		}
	}
	ifp_windows_skip(session->windows, recovery->windows_made);
	if (recovery->hellos[0])
		ifp_clocks_wish(session->clocks, recovery->hellos[0]);
	if (session->ends.failure)
		ifp_clocks_give_up(session->clocks);
	else if (recovery->called)
		ifp_clocks_resume(session->clocks, &session->roster, recovery->epochs_made,
			recovery->edges, now_ns);
	ifp_log_info("goes on with run %016" PRIx64, session->run_id);
	return err;
}

static int open_archive(struct ifp_session *session)
{
	IFP_CLEANUP_RECOVERY struct ifp_recovery recovery = {0};
	const struct ifp_session_config *config = session->config;
	int err;

	if (asprintf(&session->archive_path, "%s/run.ifp", config->output) < 0) {
		session->archive_path = NULL;
		return ifp_fail(-ENOMEM, "out of memory for a path");
	}
	/* The lock on the archive comes first: two collectors must not read the same state. */
	err = ifp_archive_writer_open(session->archive_path, false, &session->writer);
	if (!err)
		err = ifp_recovery_read(session->archive_path, &recovery);
	if (err)
		return err;
	if (!recovery.found)
		return ifp_roster_init(&session->roster, config->job, config->world);
	if (config->job && strcmp(config->job, recovery.job) != 0)
		return ifp_fail(-EEXIST, "%s holds the run of another job (%s)",
			session->archive_path, recovery.job);
	return restore(session, &recovery);
}

int ifp_session_new(const struct ifp_session_config *config, struct ifp_server *server,
	struct ifp_session **out)
{
	IFP_CLEANUP(ifp_session_free)
	struct ifp_session *session = calloc(1, sizeof(*session));
	uint64_t name;
	int err;

	if (!session)
		return ifp_fail(-ENOMEM, "out of memory for the session");
	session->config = config;
	session->server = server;
	session->outlet = (struct ifp_outlet){outlet_send, outlet_store, session};
	session->started_ns = ifp_clock_raw_ns();
	session->started_realtime_ns = ifp_clock_realtime_ns();
	if (getrandom(&session->run_id, sizeof(session->run_id), 0) < 0 ||
		getrandom(&name, sizeof(name), 0) < 0)
		return ifp_fail_errno("draw the number of the run");
	session->run_id |= 1; /* 0 means none */
	snprintf(session->name, sizeof(session->name), "%016" PRIx64, name);
	err = open_archive(session);
	if (err)
		return err;
	session->roster.disconnected_is_dead = ifp_server_is_local(server);
	*out = IFP_TAKE_PTR(session);
	return 0;
}

void ifp_session_free(struct ifp_session **session)
{
	struct ifp_session *s = IFP_TAKE_PTR(*session);

	if (!s)
		return;
	ifp_windows_free(&s->windows);
	ifp_clocks_free(&s->clocks);
	ifp_ends_free(&s->ends);
	ifp_store_close(&s->store);
	ifp_archive_writer_abandon(&s->writer);
	ifp_roster_free(&s->roster);
	ifp_buf_free(&s->message);
	free(s->ranks);
	free(s->archive_path);
	free(s);
}

void ifp_session_send_roll(struct ifp_session *session, uint32_t rank, bool late)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	cJSON *ranks = cJSON_AddArrayToObject(document, "ranks");
	cJSON *missing = cJSON_AddArrayToObject(document, "missing");

	for (uint32_t i = 0; i < session->roster.world; i++) {
		const struct ifp_member *member = &session->roster.members[i];
		cJSON *item;

		if (!member->hello) {
			cJSON_AddItemToArray(missing, cJSON_CreateNumber(i));
			continue;
		}
		item = cJSON_CreateObject();
		cJSON_AddNumberToObject(item, "rank", i);
		cJSON_AddStringToObject(item, "host", ifp_document_get_text(member->hello, "host"));
		cJSON_AddNumberToObject(item, "clock", ifp_clocks_of(session->clocks, i));
		cJSON_AddItemToArray(ranks, item);
	}
	cJSON_AddNumberToObject(document, "world", session->roster.world);
	cJSON_AddNumberToObject(document, "clocks", ifp_clocks_count(session->clocks));
	cJSON_AddStringToObject(document, "clock_plan", ifp_clocks_plan_name(session->clock_plan));
	cJSON_AddBoolToObject(document, "late", late);
	ifp_outlet_send(&session->outlet, rank, IFP_MSG_ROLL, document);
}

static void call_roll(struct ifp_session *session, int64_t now_ns)
{
	session->roster.called = true;
	session->clock_plan = ifp_clocks_roll(session->clocks, &session->roster, now_ns);
	ifp_session_store_run(session);
	ifp_log_info("%" PRIu32 " of %" PRIu32 " ranks are there, %" PRIu32 " clock%s",
		session->roster.present, session->roster.world, ifp_clocks_count(session->clocks),
		ifp_clocks_count(session->clocks) == 1 ? "" : "s");
	for (uint32_t i = 0; i < session->roster.world; i++) {
		if (!session->roster.members[i].hello)
			continue;
		session->ranks[i].in_roll = true;
		ifp_session_send_roll(session, i, false);
	}
}

/* The rank ended when it was last heard of, as far as anybody can know. */
static void declare_lost(
	struct ifp_session *session, uint32_t rank, const char *how, const char *reason)
{
	const struct ifp_member *member = &session->roster.members[rank];
	int64_t ended_ns = ifp_clock_realtime_ns();
	char moment[32], why[256];
	struct tm tm;
	time_t seconds;

	if (member->seen_ns)
		ended_ns -= ifp_clock_raw_ns() - member->seen_ns;
	seconds = (time_t)(ended_ns / IFP_NS_PER_S);
	strftime(moment, sizeof(moment), "%F %T", gmtime_r(&seconds, &tm));
	if (member->seen_ns)
		snprintf(why, sizeof(why), "%s; last heard of at %s UTC", reason, moment);
	else
		snprintf(why, sizeof(why), "%s", reason);
	ifp_log_warn("rank %" PRIu32 ": %s", rank, why);
	ifp_ends_lost(&session->ends, rank, how, session->ranks[rank].steps, ended_ns, why);
	ifp_roster_lost(&session->roster, rank);
	ifp_windows_gone(session->windows, rank);
	ifp_clocks_gone(session->clocks, rank);
	session->roster.disconnected_is_dead = true;
}

static void look_for_lost(struct ifp_session *session, int64_t now_ns)
{
	uint32_t rank;

	while ((rank = ifp_roster_overdue(&session->roster, now_ns)) != IFP_FRAME_NO_RANK)
		declare_lost(session, rank, "lost",
			session->roster.members[rank].connected
				? "its agent has been silent for 30 s"
				: "its agent's connection is closed and has not come back");
	if (now_ns - session->probed_ns < PROBE_INTERVAL_NS)
		return;
	session->probed_ns = now_ns;
	for (uint32_t i = 0; i < session->roster.world; i++) {
		const struct ifp_member *member = &session->roster.members[i];

		if (member->state == IFP_MEMBER_PRESENT && member->connected &&
			now_ns - member->seen_ns >= PROBE_SILENCE_NS)
			ifp_session_send_ack(session, i);
	}
}

/* Nobody is left: ranks that have never come will not come any more. */
static void close_absent(struct ifp_session *session, int64_t now_ns)
{
	if (!ifp_roster_is_deserted(&session->roster, now_ns))
		return;
	for (uint32_t i = 0; i < session->roster.world; i++)
		if (!ifp_ends_has(&session->ends, i))
			declare_lost(session, i, "not-started", "its agent has never reported");
}

static void tick(struct ifp_session *session)
{
	struct ifp_moment now = {ifp_clock_raw_ns(), ifp_clock_realtime_ns()};

	if (!session->ranks)
		return;
	if (ifp_roster_roll_due(&session->roster, now.raw_ns))
		call_roll(session, now.raw_ns);
	look_for_lost(session, now.raw_ns);
	ifp_store_tick(session->store, now.raw_ns);
	ifp_windows_tick(session->windows, now);
	if (ifp_windows_open(session->windows))
		ifp_clocks_hurry(session->clocks, now.raw_ns);
	ifp_clocks_tick(session->clocks, now.raw_ns);
	if (!ifp_clocks_hold(session->clocks))
		ifp_ends_release(&session->ends);
	close_absent(session, now.raw_ns);
}

void ifp_session_serve(struct ifp_session *session, int wake_fd, int64_t timeout_ms)
{
	struct ifp_route route;
	const void *data;
	size_t len_bytes;

	if (ifp_server_wait(session->server, wake_fd, timeout_ms))
		for (int i = 0; i < BATCH; i++) {
			if (ifp_server_receive(session->server, &route, &data, &len_bytes))
				break;
			ifp_session_take(session, &route, data, len_bytes);
		}
	for (uint32_t i = 0; session->ranks && i < session->roster.world; i++)
		if (session->ranks[i].ack_due)
			ifp_session_send_ack(session, i);
}

static bool told_to_stop(const struct ifp_session *session)
{
	struct pollfd stop = {.fd = session->config->stop_fd, .events = POLLIN};

	return stop.fd >= 0 && poll(&stop, 1, 0) > 0;
}

static void stop_all(struct ifp_session *session)
{
	ifp_log_info("told to stop");
	for (uint32_t i = 0; session->ranks && i < session->roster.world; i++)
		if (!ifp_ends_has(&session->ends, i))
			declare_lost(session, i, "lost", "the collector was told to stop");
}

/* All ranks have ended, and nothing is to be measured any more. */
static bool is_over(const struct ifp_session *session)
{
	return session->ranks && ifp_ends_all(&session->ends) && !ifp_clocks_hold(session->clocks);
}

static bool is_idle(const struct ifp_session *session)
{
	return !session->roster.first_hello_ns &&
	       ifp_clock_raw_ns() - session->started_ns >= session->config->idle_ns;
}

static int close_archive(struct ifp_session *session)
{
	ifp_windows_close(session->windows);
	for (uint32_t i = 0; i < session->roster.world; i++)
		session->ranks[i].acknowledged = ifp_store_acknowledged(session->store, i);
	return ifp_store_close(&session->store);
}

int ifp_session_run(struct ifp_session *session)
{
	int close_err, draw_err;

	while (!is_over(session) && !is_idle(session) && !told_to_stop(session)) {
		ifp_session_serve(session, session->config->stop_fd, TICK_MS);
		tick(session);
	}
	if (!session->ranks) {
		ifp_archive_writer_abandon(&session->writer);
		unlink(session->archive_path); /* it holds nothing */
		return ifp_fail(-ETIMEDOUT, "no agent has said HELLO");
	}
	if (!is_over(session))
		stop_all(session);
	ifp_ends_release(&session->ends);
	close_err = close_archive(session);
	if (close_err)
		ifp_log_chain(IFP_LOG_ERROR); /* what is stored is drawn all the same */
	draw_err = ifp_session_finish(session);
	if (close_err && !draw_err)
		return ifp_fail(close_err, "the archive %s is not whole", session->archive_path);
	return draw_err;
}
