/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent and its collector have told each other so far, and what has to be said again when
 * (docs/protocol.md, section 3). A state machine over the uplink; times are RAW ns that the caller
 * gives. Belongs to the agent's thread.
 */
#pragma once

#include "agent/documents.h"
#include "agent/uplink/uplink.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Without any message for so long, the collector counts as gone. */
#define IFP_SESSION_LOST_NS (30 * IFP_NS_PER_S)

enum ifp_clock_plan {
	IFP_CLOCK_PLAN_NONE,
	IFP_CLOCK_PLAN_MPI,
	IFP_CLOCK_PLAN_ZMQ,
};

/* {0} with uplink and facts set is a session that has not begun. */
struct ifp_session {
	struct ifp_uplink *uplink;	     /* borrowed */
	const struct ifp_agent_facts *facts; /* borrowed */

	bool welcomed;
	bool refused;
	char refusal[512];
	bool rolled;
	uint32_t missing; /* ranks that did not answer the roll call in time */
	bool late;	  /* the roll call had been made before this agent came */
	enum ifp_clock_plan plan;
	bool leads_clock; /* the first rank of those that share its clock */
	bool flush;
	bool closed;
	cJSON *verdict; /* owned; NULL until it comes */

	char *output;  /* directory of the run, as the collector says; NULL = not yet */
	char name[64]; /* of the collector's session */
	int64_t heard_ns, hello_ns, heartbeat_ns, bye_ns, flush_ns;
	uint32_t told_hook;
	bool told_running;
};

void ifp_session_free(struct ifp_session *session);

/*
 * Takes in messages. 1 and *type, *document (to be freed with cJSON_Delete) for one that is not
 * the session's own affair: WINDOW_PLAN, WINDOW_GO, CLOCK_ASK; 0 when there are no more.
 */
int ifp_session_next(
	struct ifp_session *session, int64_t now_ns, enum ifp_message_type *type, cJSON **document);

/* To be called each turn: says HELLO and HEARTBEAT when it is time. */
void ifp_session_tick(
	struct ifp_session *session, int64_t now_ns, const struct ifp_agent_counters *counters);

/* The program has failed: the END document so far, so that the other ranks flush at once. */
void ifp_session_failing(struct ifp_session *session, const char *end_document);

/* To be called each turn once all frames are acknowledged: says BYE again until it is answered. */
void ifp_session_bye(struct ifp_session *session, int64_t now_ns, const char *end_document);

/* Nothing has been heard of the collector for IFP_SESSION_LOST_NS. */
bool ifp_session_lost(const struct ifp_session *session, int64_t now_ns);
