/* SPDX-License-Identifier: Apache-2.0 */
/* What the methods have in common in which node 0 measures all others, one after the other. */
#pragma once

#include "clocksync/estimate/aligner.h"

/* The same number of ping-pongs with every node but 0, times over; owned by the caller. */
struct ifp_aligner_wish *ifp_star_wishes(uint32_t nodes, uint32_t times, uint32_t trips);

/* The offset of the server against the client if both ways took equally long. */
int64_t ifp_star_middle_ns(const struct ifp_round_trip *trip);

/* What the messages of a round trip were on their way. */
int64_t ifp_star_travel_ns(const struct ifp_round_trip *trip);

/* offset = icpt + slope * (local - origin), by least squares. */
struct ifp_star_line {
	int64_t origin_ns, base_ns; /* of the first point: the rest is small numbers */
	double n, x, y, xx, xy;
};

void ifp_star_line_add(struct ifp_star_line *line, int64_t local_ns, int64_t offset_ns);
int64_t ifp_star_line_at(const struct ifp_star_line *line, int64_t local_ns);
