/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a machine was suspended, by its exchanges with machines that were not. RAW lost that
 * much against them between the last exchange before and the first behind it; clocks drift
 * meanwhile.
 */
#include "clocksync/estimate/edge.h"
#include "clocksync/estimate/suspensions.h"
#include "core/cleanup.h"

#include <errno.h>
#include <stdlib.h>

/* An edge as the suspended clock sees it: its lead over the other one. */
struct view {
	int64_t low_ns, high_ns;
	int64_t own_ns, other_ns; /* when; own_ns of RAW */
	bool there;
};

/* The nearest ones to a gap with one other rank. */
struct sides {
	struct view before, behind;
};

struct search {
	const struct ifp_straight_ranks *straight;
	uint32_t of;			/* a rank of the suspended clock */
	struct sides *sides;		/* per other rank */
	int64_t from_ns, to_ns;		/* the gap, ... */
	int64_t earliest_ns, latest_ns; /* and those before and behind it */
};

static bool has_clock(const struct search *search, uint32_t index)
{
	const struct ifp_clock_rank *ranks = search->straight->ranks;

	return index == search->of ||
	       ifp_clock_identity_same(&ranks[index].identity, &ranks[search->of].identity);
}

/* The other rank of an edge of this clock; UINT32_MAX where it is none, or was suspended itself. */
static uint32_t look_at(const struct search *search, const struct ifp_clock_edge *edge,
	uint32_t client, uint32_t server, struct view *view)
{
	bool as_client = has_clock(search, client);
	uint32_t other = as_client ? server : client;

	if (as_client == has_clock(search, server) || search->straight->gaps[other].count)
		return UINT32_MAX;
	if (as_client)
		*view = (struct view){
			-edge->high_ns, -edge->low_ns, edge->best_t1_ns, edge->best_t2_ns, true};
	else
		*view = (struct view){
			edge->low_ns, edge->high_ns, edge->best_t2_ns, edge->best_t1_ns, true};
	return other;
}

static void keep_nearest(const struct search *search, const struct view *view, struct sides *sides)
{
	struct view *before = &sides->before, *behind = &sides->behind;

	if (view->own_ns <= search->from_ns && view->own_ns >= search->earliest_ns &&
		(!before->there || view->own_ns > before->own_ns))
		*before = *view;
	if (view->own_ns >= search->to_ns && view->own_ns <= search->latest_ns &&
		(!behind->there || view->own_ns < behind->own_ns))
		*behind = *view;
}

static void look_at_all(struct search *search, const struct ifp_straight_numbers *numbers)
{
	const struct ifp_straight_ranks *straight = search->straight;

	for (uint32_t r = 0; r < straight->count; r++) {
		const struct ifp_clock_samples *samples = straight->ranks[r].samples;

		for (uint32_t i = 0; samples && i < samples->edge_count; i++) {
			const struct ifp_clock_edge *edge = &samples->edges[i];
			uint32_t client = ifp_straight_find(numbers, edge->client);
			uint32_t server = ifp_straight_find(numbers, edge->server), other;
			struct view view;

			if (client == UINT32_MAX || server == UINT32_MAX ||
				!ifp_edge_usable(edge) ||
				ifp_clock_gaps_touch_edge(
					&straight->gaps[client], &straight->gaps[server], edge))
				continue;
			other = look_at(search, edge, client, server, &view);
			if (other != UINT32_MAX)
				keep_nearest(search, &view, &search->sides[other]);
		}
	}
}

/* Narrows limits = {low, high} of the length to what one other clock saw. */
static void narrow(const struct sides *sides, int64_t limits[2])
{
	const struct view *before = &sides->before, *behind = &sides->behind;
	int64_t drift_ns, low_ns, high_ns;

	if (!before->there || !behind->there)
		return;
	drift_ns = ifp_drift_ns(behind->other_ns - before->other_ns, IFP_CLOCK_DRIFT_PPM);
	low_ns = before->low_ns - behind->high_ns - drift_ns;
	high_ns = before->high_ns - behind->low_ns + drift_ns;
	limits[0] = low_ns > limits[0] ? low_ns : limits[0];
	limits[1] = high_ns < limits[1] ? high_ns : limits[1];
}

/* BOOTTIME is believed as far as exchanges allow; where it contradicts them, they are. */
static void settle(struct ifp_clock_gap *gap, const int64_t limits[2])
{
	bool agrees = limits[0] <= gap->slept_ns + gap->doubt_ns &&
		      limits[1] >= gap->slept_ns - gap->doubt_ns;

	if (agrees || limits[0] > limits[1] || limits[0] < 0 || limits[1] > IFP_GAP_LONGEST_NS)
		return;
	gap->slept_ns = limits[0] + (limits[1] - limits[0]) / 2;
	gap->doubt_ns = (limits[1] - limits[0] + 1) / 2;
}

int ifp_clock_gaps_measure(const struct ifp_straight_ranks *straight,
	const struct ifp_straight_numbers *numbers, uint32_t of)
{
	struct ifp_clock_gaps *gaps = &straight->gaps[of];

	for (uint32_t g = 0; g < gaps->count; g++) {
		IFP_CLEANUP_FREE struct sides *sides = calloc(straight->count, sizeof(*sides));
		struct ifp_clock_gap *gap = &gaps->items[g];
		struct search search = {.straight = straight,
			.of = of,
			.sides = sides,
			.from_ns = gap->from_ns,
			.to_ns = gap->to_ns,
			.earliest_ns = g ? gap[-1].to_ns : INT64_MIN,
			.latest_ns = g + 1 < gaps->count ? gap[1].from_ns : INT64_MAX};
		int64_t limits[2] = {INT64_MIN, INT64_MAX};

		if (!sides)
			return -ENOMEM;
		look_at_all(&search, numbers);
		for (uint32_t r = 0; r < straight->count; r++)
			narrow(&sides[r], limits);
		if (limits[0] != INT64_MIN)
			settle(gap, limits);
	}
	return 0;
}
