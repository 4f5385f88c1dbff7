/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what was marked to events: names are escaped, categories and args made, here and nowhere
 * else. Part of agent/capture/marks.c; belongs to the agent's thread.
 */
#pragma once

#include "agent/capture/capture.h"
#include "core/buf.h"
#include "core/segment.h"

struct ifp_mark_emitter {
	const struct ifp_sink *sink; /* set for the length of a drain; borrowed */
	enum ifp_clock_domain clock;
	uint64_t events;	   /* that the sink has taken */
	int result;		   /* 0, or -ENOMEM when an event was lost for lack of memory */
	struct ifp_buf name, args; /* of the event in the making */
};

void ifp_mark_emitter_free(struct ifp_mark_emitter *emitter);

/* A range, of whichever kind, and where it was marked. Stamps as in the ring. */
struct ifp_mark_range {
	struct ifp_lane lane;
	uint8_t origin; /* enum ifp_mark_origin */
	uint64_t start, end;
	struct ifp_str name; /* as marked */
	bool unfinished;     /* nothing marked its end: said in the event's args */
};

void ifp_mark_emit_range(struct ifp_mark_emitter *emitter, const struct ifp_mark_range *range);

/* As a range, with the number of the step for a name. */
void ifp_mark_emit_step_range(
	struct ifp_mark_emitter *emitter, const struct ifp_mark_range *range, uint64_t number);

/* INSTANT, COUNTER, STEP, THREAD_NAME: records that are an event each. */
void ifp_mark_emit_record(struct ifp_mark_emitter *emitter, const struct ifp_lane *lane,
	const struct ifp_mark_record *record, struct ifp_str name);

/* A call of MPI; world_size: ranks of its MPI_COMM_WORLD. */
void ifp_mark_emit_mpi(struct ifp_mark_emitter *emitter, const struct ifp_lane *lane,
	const struct ifp_mark_record *record, const struct ifp_mpi_record *call,
	uint32_t world_size);
