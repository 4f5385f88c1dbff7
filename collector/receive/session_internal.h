/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by session.c (the course of a job), session_messages.c (what is done on each message) and
 * session_finish.c (what follows the last message).
 */
#pragma once

#include "collector/receive/clocks.h"
#include "collector/receive/ends.h"
#include "collector/receive/roster.h"
#include "collector/receive/session.h"
#include "collector/receive/store.h"
#include "collector/receive/windows.h"

#include <stdbool.h>
#include <stdint.h>

/* What the session knows of a rank beside the roster. */
struct session_rank {
	struct ifp_route route; /* where its last HELLO came from */
	uint64_t steps;
	bool has_run; /* a heartbeat said that its program runs */
	bool in_roll; /* was there at the roll call */
	bool ack_due;
	int64_t gap_ns; /* when it was last told to send again */
	uint64_t acknowledged;
};

struct ifp_session {
	const struct ifp_session_config *config;
	struct ifp_server *server;
	struct ifp_archive_writer *writer; /* until the store takes it */
	char *archive_path;
	uint64_t run_id;
	char name[17]; /* of this life of the collector */
	int64_t started_ns, started_realtime_ns;
	int64_t probed_ns;
	uint64_t refusals;

	struct ifp_roster roster;
	struct session_rank *ranks; /* NULL until the size of the world is known */
	struct ifp_outlet outlet;
	struct ifp_store *store; /* NULL before the first HELLO, and after the end */
	struct ifp_windows *windows;
	struct ifp_clocks *clocks;
	struct ifp_ends ends;
	enum ifp_clocks_plan clock_plan;
	struct ifp_buf message; /* scratch */
};

/* The world is known: makes everything that depends on its size. */
int ifp_session_begin(struct ifp_session *session);

/* Writes the RUN document; with the clock plan once the roll has been called. */
void ifp_session_store_run(struct ifp_session *session);

/* Sends the roll to one rank. */
void ifp_session_send_roll(struct ifp_session *session, uint32_t rank, bool late);

/* Sends a message over a route; document may be NULL. Errors as of ifp_server_send(). */
int ifp_session_send_over(struct ifp_session *session, const struct ifp_route *route, uint32_t rank,
	enum ifp_message_type type, const cJSON *document);

void ifp_session_send_ack(struct ifp_session *session, uint32_t rank);

/* Takes one message, through the one table of session_messages.c. */
void ifp_session_take(struct ifp_session *session, const struct ifp_route *route, const void *data,
	size_t len_bytes);

/*
 * Waits for messages, or for wake_fd to be readable, up to timeout_ms; takes what has come, up to
 * a limit, then acknowledges.
 */
void ifp_session_serve(struct ifp_session *session, int wake_fd, int64_t timeout_ms);

/* Draws the outputs of the closed archive, and tells rank 0. Answers agents meanwhile. */
int ifp_session_finish(struct ifp_session *session);
