/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random jobs in which everything happens that the bound promises to survive: clocks that drift,
 * wander and walk, networks from shared memory to a congested TCP path, spikes, asymmetry, pauses
 * between messages and between pairs, REALTIME that is set. The bound of every rank is compared
 * with the truth at every exchange and in between.
 */
#pragma once

#include "clocksync/sim/sim.h"

#include <stdint.h>

/* What a fault would do, to see it caught: all NULL, 0 or 1 for none. */
struct damage {
	const char *name;
	/* To the stamps of every round trip, with a random number in [0, 1). */
	void (*trip)(struct ifp_round_trip *trip, double random);
	/* To every edge before the clocks are solved. */
	void (*edge)(struct ifp_clock_edge *edge);
	double drift_factor; /* clocks drift by that much more than is assumed */
	bool false_edges;    /* one edge of each exchange is far off */
};

struct tally {
	uint64_t rank_epochs; /* a rank looked at during an exchange */
	uint64_t moments;     /* ... and at other times */
	uint64_t violations;
	uint64_t rejected, false_edges;
	/* Of other nodes' ranks, at exchanges: bound over one-way delay, where an exchange took no
	 * longer than its messages; square of error over sigma. */
	double relative_width_sum, square_sum;
	uint64_t widths, squares;
	int64_t *errors_ns; /* at exchanges; owned */
	uint64_t error_count, error_room;
};

/* Jobs first to last - 1; adds to the tally. */
void random_jobs(uint64_t first, uint64_t last, const struct damage *damage, struct tally *tally);

/* One look: whether the truth at a moment lies within all that the map of a rank promises. */
int64_t random_job_look(const struct ifp_sim *sim, const struct ifp_clock_solution *solution,
	uint32_t rank, ifp_true_ns moment, struct tally *tally);

void tally_free(struct tally *tally);
