/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that any thread may end (IFP_MARK_START, IFP_MARK_END), paired by their id. The two marks
 * may lie in two rings, and rings are read one after the other: an end can be read a drain before
 * its start. Part of agent/capture/marks.c; belongs to the agent's thread.
 */
#pragma once

#include "agent/capture/mark_stack.h"

/* Ranges open at once; what is beyond is counted and not kept: starts without ends. */
#define IFP_MARK_OPEN_MAX 16384

struct ifp_mark_open_range {
	uint64_t id;
	bool started, ended;
	uint8_t drains_waited; /* of an end, for its start */
	uint8_t origin;
	struct ifp_lane lane; /* of the start */
	uint64_t start, end;
	char *name; /* owned; NULL = empty */
	uint32_t name_bytes;
};

struct ifp_mark_open {
	struct ifp_mark_open_range *ranges;
	size_t count, capacity;
};

/* Takes a START or END. */
void ifp_mark_open_take(struct ifp_mark_open *open, const struct ifp_lane *lane,
	const struct ifp_mark_record *record, struct ifp_str name, struct ifp_mark_emitter *emitter,
	struct ifp_mark_thread_counters *counters);

/* After every drain: gives up ends whose start has not come within two drains. */
void ifp_mark_open_age(struct ifp_mark_open *open, struct ifp_mark_thread_counters *counters);

/* Closes what is open at stamp end, and frees the memory; *open is {0} then. */
void ifp_mark_open_end(struct ifp_mark_open *open, uint64_t end, struct ifp_mark_emitter *emitter,
	struct ifp_mark_thread_counters *counters);

/* Frees the memory without closing anything. */
void ifp_mark_open_free(struct ifp_mark_open *open);
