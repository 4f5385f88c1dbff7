/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAW stands still while a machine is suspended. Before anything is estimated, what was read of
 * such a clock is moved to one that went on: RAW and the time suspended so far, as CLOCK_BOOTTIME
 * tells it. Everything behind (lines, edges, tracks) knows only that clock.
 *
 * A suspension lies between two readings; where, nobody knows. A stamp of RAW from between them is
 * taken to be of the side that is nearer, and may be off by all of it. How long it took is known to
 * what BOOTTIME could be read to, or, where exchanges on both sides of it contradict that, to what
 * they say (suspension_lengths.c): that much is doubted of everything behind it. Pure.
 */
#pragma once

#include "clocksync/estimate/map.h"
#include "trace/archive/clock_samples.h"

#include <stdbool.h>
#include <stdint.h>

/* One of a clock; both moments are of RAW. */
struct ifp_clock_gap {
	int64_t from_ns, to_ns;
	int64_t slept_ns, doubt_ns;
};

/* By rising time. Those of one clock are the same for all of its ranks. */
struct ifp_clock_gaps {
	struct ifp_clock_gap *items; /* owned */
	uint32_t count;
};

/* The clock that went on, for a reading of RAW. */
int64_t ifp_clock_gaps_straight(const struct ifp_clock_gaps *gaps, int64_t raw_ns);

/* For a stretch of the clock that went on: by how much its length since the run's beginning is
 * uncertain, and the longest suspension that it touches. */
struct ifp_clock_gaps_doubt {
	int64_t doubt_ns, slept_ns;
};
struct ifp_clock_gaps_doubt ifp_clock_gaps_doubt(
	const struct ifp_clock_gaps *gaps, int64_t from_ns, int64_t to_ns);

/* The ranks of a job with their clocks made straight. */
struct ifp_straight_ranks {
	const struct ifp_clock_rank *ranks; /* those that were given, where nobody was suspended */
	struct ifp_clock_gaps *gaps;	    /* owned; per rank; NULL = none */
	struct ifp_clock_rank *own;	    /* owned; NULL = none */
	struct ifp_clock_samples *samples;  /* owned; per rank */
	uint32_t count;
};

/*
 * Left out is what lies between the readings around a suspension, and exchanges that may have been
 * under way then. -ENOMEM only. The given ranks are borrowed; free with ifp_straight_ranks_free().
 */
int ifp_straighten(
	const struct ifp_clock_rank *ranks, uint32_t count, struct ifp_straight_ranks *out);
void ifp_straight_ranks_free(struct ifp_straight_ranks *straight);
void ifp_clock_gaps_free(struct ifp_clock_gaps *gaps, uint32_t count);

/* Private to this module from here on: who is who in edges, by rank. */
struct ifp_straight_numbers {
	struct ifp_straight_number {
		uint32_t rank, index;
	} * items; /* owned; by rank */
	uint32_t count;
};

/* UINT32_MAX = there is no such rank. */
uint32_t ifp_straight_find(const struct ifp_straight_numbers *numbers, uint32_t rank);

/* Whether the exchange may have been under way when one of its two clocks was suspended. */
bool ifp_clock_gaps_touch_edge(const struct ifp_clock_gaps *client,
	const struct ifp_clock_gaps *server, const struct ifp_clock_edge *edge);

/* 13 days; sums of as many as there may be fit 64 bits. */
#define IFP_GAP_LONGEST_NS (INT64_C(1) << 50)

/* Corrects the lengths of the suspensions of a rank's clock. -ENOMEM only. */
int ifp_clock_gaps_measure(const struct ifp_straight_ranks *straight,
	const struct ifp_straight_numbers *numbers, uint32_t of);

bool ifp_clock_identity_same(
	const struct ifp_clock_identity *a, const struct ifp_clock_identity *b);
