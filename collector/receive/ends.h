/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How ranks end. Every rank gets an END document in the archive: its own (BYE), or one that the
 * collector writes for it; the last one counts. A failed program makes all others flush at once.
 */
#pragma once

#include "collector/receive/outlet.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

enum ifp_end_state {
	IFP_END_RUNNING,
	IFP_END_FAILING,  /* FAILING has come, BYE not yet */
	IFP_END_SAID_BYE, /* END is stored; waits for CLOSED */
	IFP_END_CLOSED,
	IFP_END_LOST, /* the collector has written END */
};

struct ifp_ends {
	const struct ifp_outlet *outlet; /* borrowed */
	enum ifp_end_state *states;
	uint32_t world;
	bool failure; /* a program has failed, or a rank is lost */
	bool flushed; /* FLUSH has been sent */
};

int ifp_ends_init(struct ifp_ends *ends, const struct ifp_outlet *outlet, uint32_t world);
void ifp_ends_free(struct ifp_ends *ends);

/* An END document found in the archive, written by an earlier life of the collector. */
void ifp_ends_restore(struct ifp_ends *ends, uint32_t rank, const cJSON *end);

/* Messages of a rank below world. Both may be repeated. */
void ifp_ends_failing(struct ifp_ends *ends, uint32_t rank, const cJSON *document);
void ifp_ends_bye(struct ifp_ends *ends, uint32_t rank, const cJSON *document);

/* The rank is silent: writes its END document and a row. how: "lost" or "not-started". */
void ifp_ends_lost(struct ifp_ends *ends, uint32_t rank, const char *how, uint64_t steps,
	int64_t realtime_ns, const char *why);

/* A lost rank is back: it ends once more, and the document of its own counts. */
void ifp_ends_returned(struct ifp_ends *ends, uint32_t rank);

/* Sends CLOSED to all that wait for it. */
void ifp_ends_release(struct ifp_ends *ends);

/* Whether the rank's END document has been written. */
static inline bool ifp_ends_has(const struct ifp_ends *ends, uint32_t rank)
{
	return ends->states[rank] >= IFP_END_SAID_BYE;
}

bool ifp_ends_all(const struct ifp_ends *ends);
