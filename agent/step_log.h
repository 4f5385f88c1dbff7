/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest step marks of this rank, to find out which steps a recorded window really holds:
 * Kineto's file has ranges of Optimizer.step, but not their numbers.
 */
#pragma once

#include "agent/capture/capture.h"
#include "agent/rank_clocks.h"

#include <stdbool.h>
#include <stdint.h>

#define IFP_STEP_LOG_STEPS 16384u

struct ifp_step_log {
	struct ifp_step_log_entry {
		uint64_t number;
		int64_t stamp;
		enum ifp_clock_domain clock;
	} entries[IFP_STEP_LOG_STEPS]; /* entries[i % IFP_STEP_LOG_STEPS] is the i-th noted */
	uint64_t count;
	struct ifp_sink next; /* where events go on to */
};

/* A sink that notes step marks and hands every event on to log->next. */
struct ifp_sink ifp_step_log_sink(struct ifp_step_log *log);

/*
 * Which steps have ended with these ranges (ends in REALTIME, ascending): the mark of a step is
 * made by a hook at the end of its range, so it is the last one before the end. Ranges without a
 * mark of their own (of a second optimizer) are left out. steps[0] = first, steps[1] = last step
 * found, both 0 when there is none.
 */
void ifp_step_log_match(const struct ifp_step_log *log, const struct ifp_rank_clocks *clocks,
	const int64_t *end_realtime_ns, uint64_t count, uint64_t steps[2]);

/* REALTIME of the mark of a step; false when it is not among the latest ones. */
bool ifp_step_log_find(const struct ifp_step_log *log, const struct ifp_rank_clocks *clocks,
	uint64_t step, int64_t *realtime_ns);
