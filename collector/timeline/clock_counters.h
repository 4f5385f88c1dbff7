/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sure a clock is, as tracks of the first rank that reads it, in us to the nanosecond:
 *
 *	"clock bound"	the largest certified bound of each interval
 *	"clock sigma"	the estimated standard deviation at its start or end, the larger one
 *
 * Intervals are equal parts of the stretch from start_ns to end_ns. Clocks that were not measured
 * have no tracks.
 */
#pragma once

#include "collector/store/run.h"
#include "collector/timeline/counters.h"

#include <stdint.h>

/* Adds the tracks of rank i, by its place, with max_points intervals at most. Any thread. */
int ifp_counters_add_clock(const struct ifp_run *run, uint32_t i, int64_t start_ns, int64_t end_ns,
	uint32_t max_points, struct ifp_counters *counters);
