/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agents and the collector say to each other: one ZeroMQ message part each, a fixed header
 * and a payload. This module only encodes and decodes; who sends what when is in docs/protocol.md.
 * Documents are JSON objects, read and written with cJSON; 64-bit integers travel as text there.
 */
#pragma once

#include "core/buf.h"

#include <stdint.h>

#define IFP_WIRE_VERSION 1

enum ifp_message_type {
	/* agent to collector */
	IFP_MSG_HELLO = 1,	 /* document: identity, host, clocks, wishes */
	IFP_MSG_FRAME = 2,	 /* a frame as it goes into the archive (trace/archive/frame.h) */
	IFP_MSG_HEARTBEAT = 3,	 /* document: counters */
	IFP_MSG_WINDOW_ACK = 4,	 /* document */
	IFP_MSG_WINDOW_DONE = 5, /* document */
	IFP_MSG_CLOCK_DONE = 6,	 /* document: an exchange that was asked for has ended */
	IFP_MSG_FAILING = 7,	 /* document: this rank's program has failed: flush everywhere */
	IFP_MSG_BYE = 8,	 /* document: how the program ended; all frames have been sent */
	/* collector to agent */
	IFP_MSG_WELCOME = 32,	  /* document: run id, session, output directory, last sequence */
	IFP_MSG_REFUSE = 33,	  /* document: reason */
	IFP_MSG_ROLL = 34,	  /* document: all ranks, clock plan */
	IFP_MSG_ACK = 35,	  /* document: sequence, credit */
	IFP_MSG_WINDOW_PLAN = 36, /* document */
	IFP_MSG_WINDOW_GO = 37,	  /* document */
	IFP_MSG_CLOCK_ASK = 38,	  /* document: measure this edge now */
	IFP_MSG_FLUSH = 39,	  /* empty: another rank has failed; send all you have */
	IFP_MSG_CLOSED = 40,	  /* empty: BYE has been seen and everything is stored */
	IFP_MSG_VERDICT = 41,	  /* document: text and files, to rank 0 */
};

struct ifp_message {
	enum ifp_message_type type;
	uint32_t rank;	 /* of the sending or receiving agent */
	uint64_t run_id; /* 0 in HELLO; a message of another run is refused */
	const uint8_t *payload;
	uint32_t payload_bytes;
};

void ifp_message_encode(const struct ifp_message *message, struct ifp_buf *out);

/* -EPROTO for another wire version (the cause names both), -EBADMSG for anything malformed. */
int ifp_message_decode(const void *data, size_t len_bytes, struct ifp_message *out);
