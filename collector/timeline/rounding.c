/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/rounding.h"

#include "core/array.h"

#include <stdlib.h>

struct ifp_rounding_open {
	int64_t end_ns; /* as recorded */
	double end_us;	/* as drawn */
};

/* What a JSON reader makes of "us.nnn": the nearest double, as division of whole numbers gives. */
static double us(int64_t ns)
{
	return (double)ns / 1000.0;
}

/* The longest duration, up to dur_ns, with which it ends at limit_us or before. */
static int64_t fitting(int64_t start_ns, int64_t dur_ns, double limit_us)
{
	while (dur_ns > 0 && us(start_ns) + us(dur_ns) > limit_us)
		dur_ns--;
	return dur_ns;
}

void ifp_rounding_fit(struct ifp_slices *slices)
{
	for (uint32_t i = 0; i < slices->count; i++) {
		struct ifp_slice *slice = &slices->items[i];
		double limit_us = us(slice->start_ns + slice->dur_ns);

		if (ifp_slice_is_crowded(slice))
			continue;
		/* A parent stands before its children: its end is settled. */
		if (slice->parent != IFP_SLICE_NONE) {
			const struct ifp_slice *parent = &slices->items[slice->parent];
			double parent_us = us(parent->start_ns) + us(parent->dur_ns);

			if (parent_us < limit_us)
				limit_us = parent_us;
		}
		slice->dur_ns = fitting(slice->start_ns, slice->dur_ns, limit_us);
	}
}

int64_t ifp_rounding_next(
	struct ifp_rounding *rounding, uint32_t lane, int64_t start_ns, int64_t dur_ns)
{
	int64_t end_ns = start_ns + dur_ns;
	double limit_us = us(end_ns);

	if (!rounding->err)
		rounding->err = IFP_ARRAY_RESERVE(
			rounding->open, rounding->capacity, rounding->depth, 1, "open slices");
	if (rounding->err)
		return dur_ns;
	if (lane != rounding->lane)
		rounding->depth = 0;
	rounding->lane = lane;
	while (rounding->depth && rounding->open[rounding->depth - 1].end_ns <= start_ns)
		rounding->depth--;
	if (rounding->depth && rounding->open[rounding->depth - 1].end_us < limit_us)
		limit_us = rounding->open[rounding->depth - 1].end_us;
	dur_ns = fitting(start_ns, dur_ns, limit_us);
	rounding->open[rounding->depth++] =
		(struct ifp_rounding_open){end_ns, us(start_ns) + us(dur_ns)};
	return dur_ns;
}

void ifp_rounding_free(struct ifp_rounding *rounding)
{
	free(rounding->open);
	*rounding = (struct ifp_rounding){0};
}
