/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the stamps of round trips to the interval that certainly holds the offset of two clocks
 * (Cristian 1989, Marzullo 1984). The client stamps t1 before it sends, the server t2 on arrival
 * and t3 before it answers, the client t4 on arrival. A message cannot arrive before it was sent:
 *
 *     t3 - t4  <=  server's clock - client's clock  <=  t2 - t1
 *
 * whatever the delays and their asymmetry were. Round trips at other moments bound the offset of
 * those moments; they are carried to the moment of the shortest round trip with the drift
 * assumption, so that the interval is certified for that moment.
 */
#pragma once

#include "clocksync/estimate/map.h"
#include "trace/archive/clock_samples.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_round_trip {
	int64_t t1_ns, t2_ns, t3_ns, t4_ns;
};

/* Nanoseconds by which two clocks can move apart in span_ns (either sign), rounded up. */
int64_t ifp_drift_ns(int64_t span_ns, int64_t drift_ppm);

/* An edge without a round trip: the interval is everything. */
void ifp_edge_start(struct ifp_clock_edge *edge);

/*
 * Takes one round trip. True when it is the shortest so far. One whose stamps contradict each
 * other (a clock ran backwards, the server held it longer than it lasted) is left out.
 */
bool ifp_edge_add(struct ifp_clock_edge *edge, const struct ifp_round_trip *trip);

/*
 * Whether an edge can be used: it has round trips, its interval does not cross, and all numbers
 * are those of clocks (edges also come from archives: nothing is taken on trust).
 */
bool ifp_edge_usable(const struct ifp_clock_edge *edge);
