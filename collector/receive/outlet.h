/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of a session do to the world: say something to an agent, put something into the
 * archive. The parts themselves (roster, windows, clocks, ends) are state machines without sockets
 * and files, driven by messages and by the time that they are told.
 */
#pragma once

#include "trace/archive/frame.h"
#include "trace/wire/message.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

struct ifp_outlet {
	/* document may be NULL for an empty payload; it stays the caller's. */
	void (*send)(
		void *context, uint32_t rank, enum ifp_message_type type, const cJSON *document);
	/* A frame of the collector's own (sequence 0). The payload is copied. */
	void (*store)(void *context, enum ifp_frame_type type, uint32_t rank, const void *payload,
		size_t payload_bytes);
	void *context;
};

static inline void ifp_outlet_send(const struct ifp_outlet *outlet, uint32_t rank,
	enum ifp_message_type type, const cJSON *document)
{
	outlet->send(outlet->context, rank, type, document);
}

/* Stores a document as a frame. */
void ifp_outlet_document(const struct ifp_outlet *outlet, enum ifp_frame_type type, uint32_t rank,
	const cJSON *document);

/* Stores one row of the ledger; rank may be IFP_FRAME_NO_RANK. The text is formatted. */
void ifp_outlet_ledger(const struct ifp_outlet *outlet, uint32_t rank, const char *what,
	int64_t count, const char *why, ...) __attribute__((format(printf, 5, 6)));
