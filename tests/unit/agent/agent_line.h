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
	uint8_t data[16384];
	cJSON *heard; /* document of the last message */
};

static inline struct line *line_new(void)
{
	struct line *line = calloc(1, sizeof(*line));
	struct ifp_uplink_config config = {.address = "inproc://collector",
		.queue = {.rank = LINE_RANK, .memory_bytes = 1 << 20, .spool_directory = "/tmp"}};
	int wait_ms = LINE_WAIT_MS, linger_ms = 0;

	line->context = config.zmq_context = zmq_ctx_new();
	line->router = zmq_socket(line->context, ZMQ_ROUTER);
	zmq_setsockopt(line->router, ZMQ_RCVTIMEO, &wait_ms, sizeof(wait_ms));
	zmq_setsockopt(line->router, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
	assert_int_equal(zmq_bind(line->router, "inproc://collector"), 0);
	assert_ok(ifp_uplink_new(&config, &line->uplink));
	ifp_uplink_welcome(line->uplink, 1, 0, 100);
	return line;
}

static inline void line_free(struct line *line)
{
	cJSON_Delete(line->heard);
	ifp_uplink_free(&line->uplink);
	zmq_close(line->router);
	zmq_ctx_term(line->context);
	free(line);
}

/* What the agent has said; its document is in line->heard, NULL for a frame. */
static inline struct ifp_message line_hear(struct line *line)
{
	struct ifp_message message;
	int n = zmq_recv(line->router, line->data, sizeof(line->data), 0);

	assert_true(n > 0);
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
