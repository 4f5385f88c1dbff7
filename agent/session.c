/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/session.h"

#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAY_AGAIN_NS IFP_NS_PER_S
/* Silence after which the agent asks who is there. */
#define SILENCE_NS (3 * IFP_NS_PER_S)
/* Frames under way for so long without an acknowledgement got lost with a connection. */
#define STALLED_NS (5 * IFP_NS_PER_S)

void ifp_session_free(struct ifp_session *session)
{
	cJSON_Delete(session->verdict);
	session->verdict = NULL;
	free(session->output);
	session->output = NULL;
}

static void take_welcome(struct ifp_session *session, const cJSON *document)
{
	const char *run_id = ifp_document_get_text(document, "run_id");
	const char *name = ifp_document_get_text(document, "session");
	const char *output = ifp_document_get_text(document, "output");

	if (!run_id || !name)
		return;
	if (!session->output && output)
		session->output = strdup(output);
	session->welcomed = true;
	snprintf(session->name, sizeof(session->name), "%s", name);
	ifp_uplink_welcome(session->uplink, strtoull(run_id, NULL, 16),
		ifp_document_get_count(document, "last_sequence"),
		ifp_document_get_count(document, "credit"));
}

static void take_refusal(struct ifp_session *session, const cJSON *document)
{
	const char *reason = ifp_document_get_text(document, "reason");

	/* once welcomed, only another agent can be meant */
	if (session->welcomed)
		return;
	session->refused = true;
	snprintf(session->refusal, sizeof(session->refusal), "%s",
		reason ? reason : "the collector gave no reason");
}

/* Whether no smaller rank has the clock of this one. */
static bool leads(const cJSON *ranks, uint32_t rank)
{
	const cJSON *item, *own = NULL;
	int64_t clock = 0, other, number;

	cJSON_ArrayForEach(item, ranks)
	{
		if (ifp_document_get_int(item, "rank", &number) && number == rank)
			own = item;
	}
	if (!ifp_document_get_int(own, "clock", &clock))
		return true;
	cJSON_ArrayForEach(item, ranks)
	{
		if (ifp_document_get_int(item, "rank", &number) && number < rank &&
			ifp_document_get_int(item, "clock", &other) && other == clock)
			return false;
	}
	return true;
}

static void take_roll(struct ifp_session *session, const cJSON *document)
{
	const char *plan = ifp_document_get_text(document, "clock_plan");

	/* the start happens once, also when the roll is sent again to an agent that came back */
	if (session->rolled)
		return;
	session->rolled = true;
	session->missing =
		(uint32_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(document, "missing"));
	session->late = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(document, "late"));
	if (plan && !strcmp(plan, "mpi"))
		session->plan = IFP_CLOCK_PLAN_MPI;
	else if (plan && !strcmp(plan, "zmq"))
		session->plan = IFP_CLOCK_PLAN_ZMQ;
	session->leads_clock = leads(cJSON_GetObjectItemCaseSensitive(document, "ranks"),
		session->facts->identity->rank);
}

/* True when the message is for others. *document is theirs then. */
static bool take(struct ifp_session *session, const struct ifp_message *message, int64_t now_ns,
	cJSON **document)
{
	switch (message->type) {
	case IFP_MSG_WELCOME:
		take_welcome(session, *document);
		return false;
	case IFP_MSG_REFUSE:
		take_refusal(session, *document);
		return false;
	case IFP_MSG_ROLL:
		take_roll(session, *document);
		return false;
	case IFP_MSG_ACK:
		ifp_uplink_acknowledge(session->uplink,
			ifp_document_get_count(*document, "sequence"),
			ifp_document_get_count(*document, "credit"), now_ns);
		return false;
	case IFP_MSG_FLUSH:
		session->flush_ns = session->flush ? session->flush_ns : now_ns;
		session->flush = true;
		return false;
	case IFP_MSG_CLOSED:
		session->closed = true;
		return false;
	case IFP_MSG_VERDICT:
		cJSON_Delete(session->verdict);
		session->verdict = *document;
		*document = NULL;
		return false;
	case IFP_MSG_WINDOW_PLAN:
	case IFP_MSG_WINDOW_GO:
	case IFP_MSG_CLOCK_ASK:
		return *document;
	default:
		return false;
	}
}

int ifp_session_next(
	struct ifp_session *session, int64_t now_ns, enum ifp_message_type *type, cJSON **document)
{
	struct ifp_message message;
	int got;

	while ((got = ifp_uplink_receive(session->uplink, &message)) > 0) {
		cJSON *json =
			cJSON_ParseWithLength((const char *)message.payload, message.payload_bytes);

		session->heard_ns = now_ns;
		if (take(session, &message, now_ns, &json)) {
			*type = message.type;
			*document = json;
			return 1;
		}
		cJSON_Delete(json);
	}
	if (got < 0) {
		if (!session->welcomed) {
			session->refused = true;
			ifp_error_text(session->refusal, sizeof(session->refusal));
		}
		ifp_error_clear();
	}
	return 0;
}

static bool hello_due(const struct ifp_session *session, int64_t now_ns)
{
	int64_t since_ns = now_ns - session->hello_ns;

	if (session->closed || session->refused)
		return false;
	if (!session->hello_ns)
		return true;
	if (!session->welcomed || now_ns - session->heard_ns > SILENCE_NS)
		return since_ns >= SAY_AGAIN_NS;
	return ifp_frame_queue_in_flight(ifp_uplink_frames(session->uplink)) &&
	       now_ns - ifp_uplink_progress_ns(session->uplink) > STALLED_NS &&
	       since_ns > STALLED_NS;
}

static void say_hello(struct ifp_session *session, int64_t now_ns)
{
	char *document = ifp_document_hello(session->facts, session->name);

	session->hello_ns = now_ns;
	ifp_uplink_send(session->uplink, IFP_MSG_HELLO, document);
	cJSON_free(document);
}

static bool heartbeat_due(const struct ifp_session *session, int64_t now_ns,
	const struct ifp_agent_counters *counters)
{
	return session->welcomed && (now_ns - session->heartbeat_ns >= SAY_AGAIN_NS ||
					    counters->hook != session->told_hook ||
					    counters->running != session->told_running);
}

void ifp_session_tick(
	struct ifp_session *session, int64_t now_ns, const struct ifp_agent_counters *counters)
{
	char *document;

	if (hello_due(session, now_ns))
		say_hello(session, now_ns);
	/* a collector that is gone is told how things stand when it is back */
	if (!heartbeat_due(session, now_ns, counters) || ifp_session_lost(session, now_ns))
		return;
	session->heartbeat_ns = now_ns;
	session->told_hook = counters->hook;
	session->told_running = counters->running;
	document = ifp_document_heartbeat(counters);
	ifp_uplink_send(session->uplink, IFP_MSG_HEARTBEAT, document);
	cJSON_free(document);
}

void ifp_session_failing(struct ifp_session *session, const char *end_document)
{
	if (session->welcomed)
		ifp_uplink_send(session->uplink, IFP_MSG_FAILING, end_document);
}

void ifp_session_bye(struct ifp_session *session, int64_t now_ns, const char *end_document)
{
	if (session->closed || !session->welcomed || !end_document)
		return;
	if (session->bye_ns && now_ns - session->bye_ns < SAY_AGAIN_NS)
		return;
	session->bye_ns = now_ns;
	ifp_uplink_send(session->uplink, IFP_MSG_BYE, end_document);
}

bool ifp_session_lost(const struct ifp_session *session, int64_t now_ns)
{
	return session->welcomed && now_ns - session->heard_ns > IFP_SESSION_LOST_NS;
}
