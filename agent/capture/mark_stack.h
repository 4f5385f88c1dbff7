/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One recording thread of the program: its open ranges, paired into slices as their ends come.
 * Part of agent/capture/marks.c; belongs to the agent's thread.
 */
#pragma once

#include "agent/capture/mark_emit.h"

/* Ranges open at once on one stack; deeper ones are counted and not kept: pushes without pops. */
#define IFP_MARK_DEPTH_MAX 1024
/* Stacks of one thread: mark.h and the NVTX domains it uses. What is beyond is not kept. */
#define IFP_MARK_STACKS_MAX 64

struct ifp_mark_frame {
	uint64_t depth; /* as the writer counts: pushes that were dropped leave holes */
	uint64_t start;
	size_t name_at; /* in the stack's names */
	uint8_t origin;
};

struct ifp_mark_stack {
	uint16_t number;
	struct ifp_mark_frame *frames;
	size_t count, capacity;
	struct ifp_buf names; /* of the open ranges, one behind the other */
};

struct ifp_mark_thread_counters {
	uint64_t unfinished;	 /* ranges closed without their own end */
	uint64_t pops_unmatched; /* ends without their range: dropped, too deep, or never begun */
	uint64_t too_deep;	 /* ranges not kept: IFP_MARK_DEPTH_MAX, IFP_MARK_STACKS_MAX */
};

struct ifp_mark_thread {
	struct ifp_lane lane;
	uint64_t last_stamp;
	struct ifp_mark_stack stacks[IFP_MARK_STACKS_MAX];
	size_t stack_count;
	bool in_step;
	uint64_t step_number, step_start;
};

/* Takes a PUSH, POP, STEP_BEGIN or STEP_END. */
void ifp_mark_thread_take(struct ifp_mark_thread *thread, const struct ifp_mark_record *record,
	struct ifp_str name, struct ifp_mark_emitter *emitter,
	struct ifp_mark_thread_counters *counters);

/* Closes what is open at the thread's last stamp, frees the memory; the thread is {0} then. */
void ifp_mark_thread_end(struct ifp_mark_thread *thread, struct ifp_mark_emitter *emitter,
	struct ifp_mark_thread_counters *counters);

/* Frees the memory without closing anything. */
void ifp_mark_thread_free(struct ifp_mark_thread *thread);
