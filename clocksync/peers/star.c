/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/peers/star.h"

#include <math.h>
#include <stdlib.h>

struct ifp_aligner_wish *ifp_star_wishes(uint32_t nodes, uint32_t times, uint32_t trips)
{
	struct ifp_aligner_wish *wishes = calloc((size_t)nodes * times, sizeof(*wishes));

	for (uint32_t k = 0; wishes && k < times; k++) {
		for (uint32_t i = 1; i < nodes; i++)
			wishes[(size_t)k * (nodes - 1) + i - 1] =
				(struct ifp_aligner_wish){.server = i, .trips = trips};
	}
	return wishes;
}

int64_t ifp_star_middle_ns(const struct ifp_round_trip *trip)
{
	int64_t there_ns = trip->t2_ns - trip->t1_ns, back_ns = trip->t3_ns - trip->t4_ns;

	return back_ns + (there_ns - back_ns) / 2;
}

int64_t ifp_star_travel_ns(const struct ifp_round_trip *trip)
{
	return (trip->t4_ns - trip->t1_ns) - (trip->t3_ns - trip->t2_ns);
}

void ifp_star_line_add(struct ifp_star_line *line, int64_t local_ns, int64_t offset_ns)
{
	double x, y;

	if (line->n == 0) {
		line->origin_ns = local_ns;
		line->base_ns = offset_ns;
	}
	x = (double)(local_ns - line->origin_ns);
	y = (double)(offset_ns - line->base_ns);
	line->n += 1;
	line->x += x;
	line->y += y;
	line->xx += x * x;
	line->xy += x * y;
}

int64_t ifp_star_line_at(const struct ifp_star_line *line, int64_t local_ns)
{
	double spread = line->n * line->xx - line->x * line->x;
	double slope = spread > 0 ? (line->n * line->xy - line->x * line->y) / spread : 0;
	double icpt = line->n > 0 ? (line->y - slope * line->x) / line->n : 0;

	return line->base_ns + llround(icpt + slope * (double)(local_ns - line->origin_ns));
}
