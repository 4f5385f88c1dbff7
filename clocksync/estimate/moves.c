/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/moves.h"

#include "core/array.h"

#include <stdbool.h>
#include <stdlib.h>

#define MILLION 1000000

void ifp_moves_free(struct ifp_moves *moves)
{
	free(moves->lifts);
	*moves = (struct ifp_moves){0};
}

int64_t ifp_lift_gone_ns(const struct ifp_lift *lift, int64_t decay_ppm)
{
	return lift->end_ns + (lift->to_ns * MILLION + decay_ppm - 1) / decay_ppm;
}

int64_t ifp_lift_at(const struct ifp_lift *lift, int64_t decay_ppm, int64_t line_ns)
{
	if (line_ns < lift->end_ns)
		return lift->from_ns +
		       (int64_t)((__int128)(lift->to_ns - lift->from_ns) *
				 (line_ns - lift->start_ns) / (lift->end_ns - lift->start_ns));
	if (line_ns >= ifp_lift_gone_ns(lift, decay_ppm))
		return 0;
	return lift->to_ns - (line_ns - lift->end_ns) * decay_ppm / MILLION;
}

/* The last lift that begins not later, by the line or as it is moved itself; NULL = none does. */
static const struct ifp_lift *lift_before(const struct ifp_moves *moves, int64_t at_ns, bool moved)
{
	uint32_t behind = IFP_ARRAY_LOWER_BOUND(i, moves->count,
		moves->lifts[i].start_ns + (moved ? moves->lifts[i].from_ns : 0) <= at_ns);

	return behind ? &moves->lifts[behind - 1] : NULL;
}

int64_t ifp_moves_at(const struct ifp_moves *moves, int64_t line_ns)
{
	const struct ifp_lift *lift = lift_before(moves, line_ns, false);

	return lift ? ifp_lift_at(lift, moves->decay_ppm, line_ns) : 0;
}

/* Line + move only grows: halving finds the place. */
int64_t ifp_moves_origin(const struct ifp_moves *moves, int64_t moved_ns)
{
	const struct ifp_lift *lift = lift_before(moves, moved_ns, true);
	int64_t low_ns, high_ns = moved_ns;

	if (!lift)
		return moved_ns;
	low_ns = moved_ns - lift->to_ns;
	if (low_ns < lift->start_ns)
		low_ns = lift->start_ns;
	while (low_ns < high_ns) {
		int64_t middle_ns = low_ns + (high_ns - low_ns) / 2;

		if (middle_ns + ifp_lift_at(lift, moves->decay_ppm, middle_ns) < moved_ns)
			low_ns = middle_ns + 1;
		else
			high_ns = middle_ns;
	}
	return low_ns;
}

int64_t ifp_moves_stretch(const struct ifp_moves *moves)
{
	int64_t stretch_ns = 0;

	for (uint32_t i = 0; i < moves->count; i++) {
		const struct ifp_lift *lift = &moves->lifts[i];
		int64_t gone_ns = ifp_lift_gone_ns(lift, moves->decay_ppm);

		if (i + 1 < moves->count && gone_ns > lift[1].start_ns)
			gone_ns = lift[1].start_ns;
		stretch_ns += gone_ns - lift->start_ns;
	}
	return stretch_ns;
}
