/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/rounding.h"

/* What a JSON reader makes of "us.nnn": the nearest double, as division of whole numbers gives. */
static double us(int64_t ns)
{
	return (double)ns / 1000.0;
}

static double end_us(const struct ifp_slice *slice)
{
	return us(slice->start_ns) + us(slice->dur_ns);
}

void ifp_rounding_fit(struct ifp_slices *slices)
{
	for (uint32_t i = 0; i < slices->count; i++) {
		struct ifp_slice *slice = &slices->items[i];
		double limit = us(slice->start_ns + slice->dur_ns);

		if (slice->sublane == IFP_SLICE_NONE)
			continue;
		/* A parent stands before its children: its end is settled. */
		if (slice->parent != IFP_SLICE_NONE &&
			end_us(&slices->items[slice->parent]) < limit)
			limit = end_us(&slices->items[slice->parent]);
		while (slice->dur_ns > 0 && end_us(slice) > limit)
			slice->dur_ns--;
	}
}
