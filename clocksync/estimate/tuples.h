/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the clocks of one machine: REALTIME and the TSC to RAW, piecewise linear through the
 * tuples that the rank has read. Pure functions; a set of lines is read-only once it is made.
 *
 * A tuple whose reading took much longer than usual (the thread was descheduled inside) is left
 * out. Where REALTIME has been set between two tuples, the line is broken there instead of bent:
 * each piece keeps its own slope. REALTIME may repeat itself across a backward step; a stamp that
 * fits both pieces is taken by the earlier one.
 */
#pragma once

#include "core/time.h"
#include "trace/archive/clock_samples.h"

#include <stdint.h>

struct ifp_line_knot {
	int64_t stamp; /* ns of REALTIME or ticks of the TSC */
	int64_t raw_ns;
};

/* Knots by rising raw_ns; within a piece stamps rise as well. Piece i begins at pieces[i]. */
struct ifp_line {
	struct ifp_line_knot *knots;
	uint32_t count; /* 0: this clock was never read */
	uint32_t *pieces;
	uint32_t piece_count;
};

struct ifp_lines {
	struct ifp_line realtime;
	struct ifp_line tsc;
	int64_t first_raw_ns, last_raw_ns; /* of all tuples */
};

/* -ENODATA without a cause when there is no usable tuple, -ENOMEM. Free with ifp_lines_free(). */
int ifp_lines_make(const struct ifp_clock_samples *samples, struct ifp_lines *out);
void ifp_lines_free(struct ifp_lines *lines);

/* A stamp of the given clock on RAW. A clock that was never read is taken as RAW itself. */
int64_t ifp_lines_raw(const struct ifp_lines *lines, enum ifp_clock_domain domain, int64_t stamp);

/* By how much REALTIME ran faster than RAW around a moment of it, ns per ns: over a second where
 * knots lie closer, as they are whole ns. */
double ifp_lines_rate(const struct ifp_lines *lines, int64_t raw_ns);

/* RAW to REALTIME: the way back, for ranks that are placed by REALTIME. */
int64_t ifp_lines_realtime(const struct ifp_lines *lines, int64_t raw_ns);
