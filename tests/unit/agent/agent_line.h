/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: an agent's uplink, and the collector's end of it in the same process. */
#pragma once

#include "test.h"

#include "agent/uplink/uplink.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <zmq.h>

#define LINE_RANK 1u
#define LINE_WAIT_MS 5000

struct line {
	void *context, *router;
	struct ifp_uplink *uplink;
	uint8_t peer[256]; /* routing id of the agent, as of the last message */
	size_t peer_bytes;
	uint8_t data[16384];
	cJSON *heard; /* document of the last message */
};

static inline void line_listen(struct line *line)
{
	int wait_ms = LINE_WAIT_MS, linger_ms = 0;

	line->router = zmq_socket(line->context, ZMQ_ROUTER);
	zmq_setsockopt(line->router, ZMQ_RCVTIMEO, &wait_ms, sizeof(wait_ms));
	zmq_setsockopt(line->router, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
	assert_int_equal(zmq_bind(line->router, "inproc://collector"), 0);
}

/* An agent of this rank that the collector has not welcomed yet. */
static inline void line_open(struct line *line, uint32_t rank)
{
	struct ifp_uplink_config config = {.address = "inproc://collector",
		.queue = {.rank = rank, .memory_bytes = 1 << 20, .spool_directory = "/tmp"}};

	line->context = config.zmq_context = zmq_ctx_new();
	line_listen(line);
	assert_ok(ifp_uplink_new(&config, &line->uplink));
}

static inline void line_close(struct line *line)
{
	cJSON_Delete(line->heard);
	ifp_uplink_free(&line->uplink);
	zmq_close(line->router);
	zmq_ctx_term(line->context);
}

/* A line of LINE_RANK, welcomed. Freed with line_free(). */
static inline struct line *line_new(void)
{
	struct line *line = calloc(1, sizeof(*line));

	line_open(line, LINE_RANK);
	ifp_uplink_welcome(line->uplink, 1, 0, 100);
	return line;
}

static inline void line_free(struct line *line)
{
	line_close(line);
	free(line);
}

/* What the agent has said; its document is in line->heard, NULL for a frame. */
static inline struct ifp_message line_hear(struct line *line)
{
	struct ifp_message message;
	int n = zmq_recv(line->router, line->peer, sizeof(line->peer), 0);

	assert_true(n > 0);
	line->peer_bytes = (size_t)n;
	n = zmq_recv(line->router, line->data, sizeof(line->data), 0);
	assert_true(n > 0 && (size_t)n <= sizeof(line->data));
	assert_ok(ifp_message_decode(line->data, (size_t)n, &message));
	cJSON_Delete(line->heard);
	line->heard = cJSON_ParseWithLength((const char *)message.payload, message.payload_bytes);
	return message;
}

static inline void line_hear_nothing(struct line *line)
{
	uint8_t data[1];

	assert_int_equal(zmq_recv(line->router, data, sizeof(data), ZMQ_DONTWAIT), -1);
}

/* Says something to the agent, which must have said something before. */
static inline void line_say(struct line *line, const void *data, size_t len_bytes)
{
	assert_true(zmq_send(line->router, line->peer, line->peer_bytes, ZMQ_SNDMORE) >= 0);
	assert_true(zmq_send(line->router, data, len_bytes, 0) >= 0);
}

/* Waits until there is something to receive for the agent. */
static inline void line_wait(struct line *line)
{
	zmq_pollitem_t item = {.socket = ifp_uplink_socket(line->uplink), .events = ZMQ_POLLIN};

	assert_int_equal(zmq_poll(&item, 1, LINE_WAIT_MS), 1);
}
