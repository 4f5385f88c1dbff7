/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the machine was suspended. CLOCK_MONOTONIC (and RAW, which stamps are of) stands still
 * meanwhile, CLOCK_BOOTTIME does not; else the two advance alike, also where NTP slews them, and in
 * a time namespace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A suspension shorter than this is none. */
#define IFP_SUSPENSION_LEAST_NS 1000000

/* {0} at first. */
struct ifp_suspension {
	int64_t low_ns, high_ns; /* what BOOTTIME is ahead of MONOTONIC by, between them */
	uint64_t count;
	int64_t last_low_ns, last_high_ns; /* how long the last one took, between them */
	bool started;
};

/*
 * BOOTTIME, read between two readings of MONOTONIC: a wait in between hides nothing, adds nothing.
 * True when the machine has been suspended since the look before.
 */
bool ifp_suspension_take(struct ifp_suspension *suspension, int64_t before_ns, int64_t boottime_ns,
	int64_t after_ns);

/* Reads the clocks, several times, and takes the tightest reading. */
bool ifp_suspension_look(struct ifp_suspension *suspension);
