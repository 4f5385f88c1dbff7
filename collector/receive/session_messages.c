/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/session_internal.h"

#include "core/error.h"
#include "core/log.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A rank whose frames come out of order is told to begin again no more often than this. */
#define GAP_NS IFP_NS_PER_S

/* A stranger may ask each second for hours: the log must not grow without end. */
#define MAX_LOGGED_REFUSALS 20

struct incoming {
	struct ifp_message message;
	const struct ifp_route *route;
	const cJSON *document; /* NULL where the payload is none */
};

static void refuse(struct ifp_session *session, const struct incoming *in)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	char reason[1024];

	ifp_error_text(reason, sizeof(reason));
	ifp_error_clear();
	if (++session->refusals <= MAX_LOGGED_REFUSALS)
		ifp_log_warn("rank %" PRIu32 " is refused: %s", in->message.rank, reason);
	cJSON_AddStringToObject(document, "reason", reason);
	ifp_session_send_over(session, in->route, in->message.rank, IFP_MSG_REFUSE, document);
}

static void send_welcome(struct ifp_session *session, uint32_t rank)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	char run_id[17];

	snprintf(run_id, sizeof(run_id), "%016" PRIx64, session->run_id);
	cJSON_AddStringToObject(document, "run_id", run_id);
	cJSON_AddStringToObject(document, "session", session->name);
	cJSON_AddStringToObject(document, "output", session->config->output);
	cJSON_AddNumberToObject(document, "last_sequence",
		(double)(session->store ? ifp_store_acknowledged(session->store, rank)
					: session->ranks[rank].acknowledged));
	cJSON_AddNumberToObject(
		document, "credit", session->store ? ifp_store_credit(session->store) : 0);
	ifp_outlet_send(&session->outlet, rank, IFP_MSG_WELCOME, document);
}

static void take_hello(struct ifp_session *session, const struct incoming *in, int64_t now_ns)
{
	bool begun = session->roster.world && session->ranks;
	uint32_t rank = 0;
	bool news = false;
	int err = ifp_roster_hello(&session->roster, in->document, now_ns, &rank, &news);

	if (!err && !begun)
		err = ifp_session_begin(session);
	if (err) {
		refuse(session, in);
		return;
	}
	session->ranks[rank].route = *in->route;
	if (!begun)
		ifp_session_store_run(session);
	if (news)
		ifp_ends_returned(&session->ends, rank);
	if (rank == 0 && ifp_windows_wish(session->windows, in->document))
		ifp_log_chain(IFP_LOG_WARN);
	if (rank == 0)
		ifp_clocks_wish(session->clocks, in->document);
	ifp_clocks_join(session->clocks, rank, ifp_roster_member(&session->roster, rank));
	send_welcome(session, rank);
	if (session->roster.called)
		ifp_session_send_roll(session, rank, !session->ranks[rank].in_roll);
}

/* What an agent may put into the archive: the other frames are the collector's own. */
static bool is_agents_frame(const struct ifp_frame *frame, uint32_t rank)
{
	bool type = frame->type == IFP_FRAME_EVENTS || frame->type == IFP_FRAME_RANK ||
		    frame->type == IFP_FRAME_CLOCK || frame->type == IFP_FRAME_LEDGER ||
		    frame->type == IFP_FRAME_WINDOW;

	return type && frame->rank == rank && frame->sequence > 0 &&
	       (frame->type == IFP_FRAME_EVENTS || !frame->event_count);
}

static void take_frame(struct ifp_session *session, const struct incoming *in, int64_t now_ns)
{
	uint32_t rank = in->message.rank;
	struct session_rank *r = &session->ranks[rank];
	struct ifp_frame frame;
	size_t used_bytes = 0;
	int err;

	if (!session->store)
		return;
	err = ifp_frame_decode(in->message.payload, in->message.payload_bytes, &frame, &used_bytes);
	if (!err && (used_bytes != in->message.payload_bytes || !is_agents_frame(&frame, rank)))
		err = ifp_fail(-EBADMSG, "not a frame of its own");
	if (!err)
		err = ifp_store_frame(session->store, &frame, now_ns);
	r->ack_due = true;
	if (err == -EAGAIN && now_ns - r->gap_ns >= GAP_NS) {
		r->gap_ns = now_ns;
		send_welcome(session, rank);
	} else if (err && err != -EAGAIN) {
		ifp_fail(err, "frame of rank %" PRIu32, rank);
		ifp_log_chain(IFP_LOG_WARN);
	}
}

static void take_heartbeat(struct ifp_session *session, const struct incoming *in, int64_t now_ns)
{
	uint32_t rank = in->message.rank;
	struct session_rank *r = &session->ranks[rank];
	bool running = ifp_document_is_true(in->document, "running");
	struct ifp_heartbeat heartbeat = {
		.steps = ifp_document_get_count(in->document, "steps"),
		.hook = (uint32_t)ifp_document_get_count(in->document, "hook"),
	};

	/* Not running and never seen running: the program has not been started yet. */
	heartbeat.running = running || !r->has_run;
	r->has_run |= running;
	r->steps = heartbeat.steps;
	r->ack_due = true;
	ifp_windows_heartbeat(session->windows, rank, &heartbeat, now_ns);
	ifp_clocks_heartbeat(session->clocks, rank, heartbeat.running, now_ns);
}

static void take_window_ack(struct ifp_session *session, const struct incoming *in, int64_t now_ns)
{
	(void)now_ns;
	ifp_windows_ack(session->windows, in->message.rank, in->document);
}

static void take_window_done(struct ifp_session *session, const struct incoming *in, int64_t now_ns)
{
	(void)now_ns;
	ifp_windows_done(session->windows, in->message.rank, in->document);
}

static void take_clock_done(struct ifp_session *session, const struct incoming *in, int64_t now_ns)
{
	(void)now_ns;
	ifp_clocks_done(session->clocks, in->message.rank, in->document);
}

static void note_failure(struct ifp_session *session)
{
	if (!session->ends.failure)
		return;
	ifp_clocks_give_up(session->clocks);
	session->roster.disconnected_is_dead = true;
}

static void take_failing(struct ifp_session *session, const struct incoming *in, int64_t now_ns)
{
	(void)now_ns;
	ifp_ends_failing(&session->ends, in->message.rank, in->document);
	note_failure(session);
}

static void take_bye(struct ifp_session *session, const struct incoming *in, int64_t now_ns)
{
	uint32_t rank = in->message.rank;

	ifp_windows_gone(session->windows, rank);
	ifp_clocks_program_ended(session->clocks, rank, now_ns);
	ifp_ends_bye(&session->ends, rank, in->document);
	ifp_roster_ended(&session->roster, rank);
	note_failure(session);
}

/* Every message that a collector understands. */
static const struct handler {
	enum ifp_message_type type;
	bool is_document;
	bool from_member; /* only from a rank, and over the connection, that has said HELLO */
	void (*take)(struct ifp_session *session, const struct incoming *in, int64_t now_ns);
} handlers[] = {
	{IFP_MSG_HELLO, true, false, take_hello},
	{IFP_MSG_FRAME, false, true, take_frame},
	{IFP_MSG_HEARTBEAT, true, true, take_heartbeat},
	{IFP_MSG_WINDOW_ACK, true, true, take_window_ack},
	{IFP_MSG_WINDOW_DONE, true, true, take_window_done},
	{IFP_MSG_CLOCK_DONE, true, true, take_clock_done},
	{IFP_MSG_FAILING, true, true, take_failing},
	{IFP_MSG_BYE, true, true, take_bye},
};

static const struct handler *find_handler(enum ifp_message_type type)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(handlers); i++)
		if (handlers[i].type == type)
			return &handlers[i];
	return NULL;
}

/* Whether the sender has said HELLO over this connection in this life of the collector. */
static bool is_member(struct ifp_session *session, const struct incoming *in, int64_t now_ns)
{
	uint32_t rank = in->message.rank;
	const struct ifp_route *route;

	if (!session->ranks || rank >= session->roster.world)
		return false;
	route = &session->ranks[rank].route;
	if (route->len_bytes != in->route->len_bytes ||
		memcmp(route->bytes, in->route->bytes, route->len_bytes) != 0)
		return false;
	ifp_roster_seen(&session->roster, rank, now_ns);
	ifp_roster_returned(&session->roster, rank);
	ifp_ends_returned(&session->ends, rank);
	return true;
}

void ifp_session_take(struct ifp_session *session, const struct ifp_route *route, const void *data,
	size_t len_bytes)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = NULL;
	struct incoming in = {.route = route};
	const struct handler *handler;
	int64_t now_ns = ifp_clock_raw_ns();
	int err = ifp_message_decode(data, len_bytes, &in.message);

	if (err == -EPROTO) {
		refuse(session, &in);
		return;
	}
	if (err) {
		ifp_log_chain(IFP_LOG_DEBUG);
		return;
	}
	handler = find_handler(in.message.type);
	if (!handler)
		return;
	if (handler->from_member && in.message.run_id != session->run_id) {
		ifp_fail(-EPROTO, "this collector belongs to another run");
		refuse(session, &in);
		return;
	}
	if (handler->from_member && !is_member(session, &in, now_ns))
		return;
	if (handler->is_document) {
		document = ifp_document_parse(in.message.payload, in.message.payload_bytes);
		if (!document) {
			ifp_log_debug("message %d of rank %" PRIu32 " is no document",
				(int)in.message.type, in.message.rank);
			return;
		}
		in.document = document;
	}
	handler->take(session, &in, now_ns);
}
