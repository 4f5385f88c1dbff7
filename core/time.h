/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time has a type. A reading of a clock of one machine (ifp_local_ns) and a moment of the whole
 * job (ifp_global_ns) are different C types, so that mixing them does not compile; only a clock
 * map (clocksync/estimate/map.h) turns one into the other. Both are int64 nanoseconds: never a
 * double, whose step at today's epoch is 238 ns.
 */
#pragma once

#include <stdint.h>

#define IFP_NS_PER_US INT64_C(1000)
#define IFP_NS_PER_MS INT64_C(1000000)
#define IFP_NS_PER_S INT64_C(1000000000)

/*
 * The clock that a stamp was read from. Stored in archives: values are part of the format.
 * RAW and REALTIME count nanoseconds; TSC counts ticks of the processor's time-stamp counter.
 */
enum ifp_clock_domain {
	IFP_CLOCK_RAW = 0,	/* CLOCK_MONOTONIC_RAW */
	IFP_CLOCK_REALTIME = 1, /* CLOCK_REALTIME: what CUPTI and Kineto give */
	IFP_CLOCK_TSC = 2,	/* the TSC, where it is invariant and the kernel itself uses it */
	IFP_CLOCK_DOMAIN_MAX = 3,
};

/* CLOCK_MONOTONIC_RAW of one machine (of one time namespace): the local clock of a rank. */
typedef struct {
	int64_t ns;
} ifp_local_ns;

/* Time of the whole job: CLOCK_MONOTONIC_RAW of the reference rank. */
typedef struct {
	int64_t ns;
} ifp_global_ns;
