/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When clocks are compared while the programs run. An exchange is worth its cost when the clocks do
 * other than expected: the interval doubles while every pair's offset lies where its own past says,
 * and halves when one does not. Pure: stamps and times in, decisions out.
 */
#pragma once

#include "trace/archive/clock_samples.h"

#include <stdbool.h>
#include <stdint.h>

#define IFP_CLOCK_SCHEDULE_FIRST_NS IFP_NS_PER_S
#define IFP_CLOCK_SCHEDULE_SHORTEST_NS (100 * IFP_NS_PER_MS)
/* What one comparison of a large job may cost: edges a second, on average. */
#define IFP_CLOCK_SCHEDULE_EDGES_PER_S 512
/*
 * The shortest interval doubles each time that so many edges (34 MB of archive) have been
 * stored: what a run stores grows with the logarithm of its length.
 */
#define IFP_CLOCK_SCHEDULE_EDGES (UINT64_C(1) << 18)

#define IFP_CLOCK_PAST_POINTS 8u

/* What the last exchanges of one pair said: offset of the server over the client's time. */
struct ifp_clock_past {
	int64_t at_ns[IFP_CLOCK_PAST_POINTS];
	int64_t offset_ns[IFP_CLOCK_PAST_POINTS];
	uint32_t count;
};

/*
 * Takes an exchange. Returns how far its offset was from the straight line through the past (least
 * squares), as a share of what the width of its own interval and that of a prediction as good
 * explain, and a microsecond; negative when there is no past to judge by. Above 1, all but the last
 * exchange is forgotten: the clocks have changed their ways.
 */
double ifp_clock_past_add(struct ifp_clock_past *past, const struct ifp_clock_edge *edge);

struct ifp_clock_schedule {
	int64_t longest_ns; /* the user's; 0 = never */
	int64_t shortest_ns;
	int64_t interval_ns;
	int64_t due_ns; /* of the caller's clock; INT64_MAX = not before something happens */
	uint64_t edges; /* stored so far */
};

/* Nothing is due before the first exchange has been made. */
void ifp_clock_schedule_init(struct ifp_clock_schedule *schedule, int64_t longest_ns);

/*
 * An exchange was made, from began_ns to now_ns, of so many edges; surprise is the largest of what
 * ifp_clock_past_add() returned (negative: no pair could be judged).
 */
void ifp_clock_schedule_made(struct ifp_clock_schedule *schedule, double surprise, uint32_t edges,
	int64_t began_ns, int64_t now_ns);

/* Something is recorded now whose ranks will be compared: no longer than at first. */
void ifp_clock_schedule_hurry(struct ifp_clock_schedule *schedule, int64_t now_ns);

static inline bool ifp_clock_schedule_due(const struct ifp_clock_schedule *schedule, int64_t now_ns)
{
	return now_ns >= schedule->due_ns;
}
