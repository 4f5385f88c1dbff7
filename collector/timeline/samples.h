/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value over time as a few points, each of which holds until the next one. What has more changes
 * than points may be told is told by intervals: all of one length, 1, 2 or 5 times a power of ten
 * of ns, which begin at multiples of it, so that those of all ranks lie alike. The shortest is
 * taken with which the points suffice. Points that change nothing are left out.
 */
#pragma once

#include "core/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ifp_sample {
	int64_t at_ns, value;
};

/* {0} is empty. */
struct ifp_samples {
	struct ifp_sample *items;
	uint32_t count;
	size_t capacity;
};

int ifp_samples_add(struct ifp_samples *samples, int64_t at_ns, int64_t value);

/* By time. */
void ifp_samples_sort(struct ifp_samples *samples);

/* Changes by value at these moments, in any order, become the sums from there on. */
void ifp_samples_sum(struct ifp_samples *changes);

/*
 * At most max_points (>= 4) of samples in order of time: with more, the largest of each interval.
 * holds: a value is there until the next one, also in the intervals that follow; otherwise it is
 * there at its moment only, and the largest one of an interval stands until the next that has any.
 */
int ifp_samples_most(const struct ifp_samples *samples, bool holds, uint32_t max_points,
	struct ifp_samples *out);

/* From start to end something runs; in order, none touches the next. */
struct ifp_busy_span {
	int64_t start_ns, end_ns;
};

/* In thousandths of a percent, rounded: what part of each interval something runs. */
int ifp_samples_busy(const struct ifp_busy_span *spans, uint32_t count, uint32_t max_points,
	struct ifp_samples *out);

void ifp_samples_free(struct ifp_samples *samples);

#define IFP_CLEANUP_SAMPLES IFP_CLEANUP(ifp_samples_free)
