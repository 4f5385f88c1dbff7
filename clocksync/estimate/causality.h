/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nobody leaves an operation before those whom it waits for have come. Where clocks are placed so
 * that it looks otherwise, the clock of who left too early is moved later from there on, by as much
 * as is missing, inside of its certified region only. The move grows between its last beginning of
 * an operation before and that end, where the rank has waited, so that no beginning moves; and
 * gives way behind, slowly. What that does to later operations is looked at in their turn.
 *
 * Pure: tracks and matched operations in, moves out. Of an end that the region leaves no room for,
 * nothing is moved; it is counted. Private to clocksync/estimate.
 */
#pragma once

#include "clocksync/estimate/map.h"
#include "clocksync/estimate/moves.h"
#include "clocksync/estimate/track.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A clock that one rank or several read. */
struct ifp_causality_clock {
	const struct ifp_track *track;	  /* without points: it is not moved */
	struct ifp_moves moves;		  /* out, owned */
	struct ifp_clock_repairs repairs; /* out */
};

/* Of the ranks that read one clock: the last that is awaited to come, the first that waits to go.
 */
struct ifp_causality_part {
	uint32_t clock;
	bool awaited, waits;
	int64_t enter_ns, exit_ns; /* job time by the clock's line; exit_ns >= enter_ns */
};

/* parts[first] to parts[first + count - 1], each of another clock. */
struct ifp_causality_operation {
	size_t first;
	uint32_t count;
};

struct ifp_causality_operations {
	struct ifp_causality_operation *items; /* owned, like parts */
	uint32_t count;
	struct ifp_causality_part *parts;
	size_t part_count;
};

void ifp_causality_operations_free(struct ifp_causality_operations *operations);

/*
 * Fills in the clocks' moves and repairs, which are empty. -ENOMEM only; some clocks may have moves
 * then.
 */
int ifp_causality_repair(const struct ifp_causality_operations *operations,
	struct ifp_causality_clock *clocks, uint32_t clock_count);
