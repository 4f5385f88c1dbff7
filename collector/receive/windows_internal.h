/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by windows.c (the course of things) and windows_outcome.c (what has been recorded). */
#pragma once

#include "collector/receive/windows.h"

enum phase {
	PHASE_WAITING,
	PHASE_VOTING,
	PHASE_RECORDING,
	PHASE_FINISHED,
};

enum part {
	PART_NONE, /* no voter of this attempt */
	PART_ASKED,
	PART_ACCEPTED,
	PART_REFUSED,
	PART_RECORDING,
	PART_DONE,
};

struct part_of_rank {
	enum part part;
	bool recorded; /* outcome "recorded"; valid when DONE */
	bool ended;    /* its program ended first: asking again is no use */
	uint64_t first_step, last_step;
	char reason[200];
};

struct wish {
	uint64_t first, count;
};

struct ifp_windows {
	const struct ifp_outlet *outlet;
	struct ifp_pace pace;
	struct part_of_rank *parts;
	struct wish *wishes;
	uint32_t wish_count;
	uint64_t warmup;
	int64_t duration_ms;

	enum phase phase;
	uint32_t window, attempt;
	bool of_time;
	bool wish_missed; /* the steps that the user named had passed already */
	uint64_t first_step, count;
	int64_t start_realtime_ms;
	int64_t deadline_ns; /* of the phase; 0 = none yet */
};

static inline uint64_t last_step(const struct ifp_windows *w)
{
	return w->first_step + w->count - 1;
}

/* Whether a rank that is done has recorded what was asked. */
bool ifp_windows_part_good(const struct ifp_windows *windows, uint32_t rank);

/* Says what a rank recorded instead of what was asked. Returns text. */
char *ifp_windows_part_text(
	const struct ifp_windows *windows, uint32_t rank, char *text, size_t size_bytes);

/* The result of a rank, from its WINDOW_DONE. */
void ifp_windows_part_done(struct ifp_windows *windows, uint32_t rank, const cJSON *document);

/* Rows of the ledger for every part that is not good. */
void ifp_windows_part_rows(const struct ifp_windows *windows);
