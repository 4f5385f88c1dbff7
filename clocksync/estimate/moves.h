/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By how much a clock's times are moved later than its track's line puts them: nothing, but for
 * lifts, in which the move grows, and the time behind each, in which it gives way again. Moves are
 * looked up by job time as the line has it; line + move never runs backwards.
 */
#pragma once

#include <stdint.h>

/* From one moment to another the move grows evenly; then it shrinks, until it is 0 or lifted again.
 */
struct ifp_lift {
	int64_t start_ns, end_ns; /* by the line; end_ns > start_ns */
	int64_t from_ns, to_ns;	  /* 0 <= from_ns < to_ns <= IFP_MOVE_MOST_NS */
};

/* 18 minutes; products with it fit. */
#define IFP_MOVE_MOST_NS (INT64_C(1) << 40)

/* {0}: nothing is moved. */
struct ifp_moves {
	struct ifp_lift *lifts; /* by time, apart from each other; owned */
	uint32_t count;
	int64_t decay_ppm; /* by which moves shrink; 1 to 999999 */
};

void ifp_moves_free(struct ifp_moves *moves);

/* The move at a moment of the line. */
int64_t ifp_moves_at(const struct ifp_moves *moves, int64_t line_ns);

/* What a lift leaves, at a moment of the line that is not before its start. */
int64_t ifp_lift_at(const struct ifp_lift *lift, int64_t decay_ppm, int64_t line_ns);

/* The moment of the line from which no more is left of a lift. */
int64_t ifp_lift_gone_ns(const struct ifp_lift *lift, int64_t decay_ppm);

/* The moment of the line that is moved to moved_ns; where the move jumps over that, the first
 * behind. */
int64_t ifp_moves_origin(const struct ifp_moves *moves, int64_t moved_ns);

/* How much of the line is moved. */
int64_t ifp_moves_stretch(const struct ifp_moves *moves);
