/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's line to the collector: one ZeroMQ DEALER socket, control messages, and the frames
 * that wait to be acknowledged (docs/protocol.md). It knows how to send, not when to say what:
 * that is agent/session.h. Nothing here blocks. Belongs to the agent's thread.
 */
#pragma once

#include "agent/uplink/frame_queue.h"
#include "trace/wire/keys.h"
#include "trace/wire/message.h"

#include <stdbool.h>
#include <stdint.h>

#define IFP_UPLINK_MEMORY_BYTES (16u * 1024u * 1024u)

struct ifp_uplink_config {
	void *zmq_context; /* borrowed */
	const char *address;
	const struct ifp_keys *keys; /* NULL = no encryption */
	struct ifp_frame_queue_config queue;
};

struct ifp_uplink;

/* Connects in the background: that the collector is there is seen by its first message only. */
int ifp_uplink_new(const struct ifp_uplink_config *config, struct ifp_uplink **out);
void ifp_uplink_free(struct ifp_uplink **uplink);

/* For zmq_poll(). */
void *ifp_uplink_socket(const struct ifp_uplink *uplink);
struct ifp_frame_queue *ifp_uplink_frames(struct ifp_uplink *uplink);

/*
 * Sends a control message; document is JSON text, NULL = empty payload. Failures are not told:
 * all that matters is said again until it is answered.
 */
void ifp_uplink_send(struct ifp_uplink *uplink, enum ifp_message_type type, const char *document);

/*
 * The next message: 1 and *message (payload valid until the next call); 0 when there is none.
 * What is malformed, or belongs to another run, is skipped. -EPROTO with a cause when the
 * collector speaks another version of the protocol.
 */
int ifp_uplink_receive(struct ifp_uplink *uplink, struct ifp_message *message);

/*
 * The collector's answer to HELLO: from here on messages carry run_id, frames may be sent, and
 * what is later than last_sequence is sent again.
 */
void ifp_uplink_welcome(
	struct ifp_uplink *uplink, uint64_t run_id, uint64_t last_sequence, uint64_t credit);

/* ACK. now_ns (RAW) counts as the last progress when the sequence has risen or nothing waits. */
void ifp_uplink_acknowledge(
	struct ifp_uplink *uplink, uint64_t sequence, uint64_t credit, int64_t now_ns);

/* Sends frames as long as there are some, and credit. */
void ifp_uplink_pump(struct ifp_uplink *uplink);

/* When frames were last acknowledged while some were waiting; see ifp_uplink_acknowledge(). */
int64_t ifp_uplink_progress_ns(const struct ifp_uplink *uplink);
