/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/map.h"

#include "clocksync/estimate/solution.h"

#include <math.h>

const struct ifp_clock_map *ifp_clock_solution_map(
	const struct ifp_clock_solution *solution, uint32_t i)
{
	const struct ifp_clock_map *map = i < solution->rank_count ? solution->maps + i : NULL;

	return map && map->track ? map : NULL;
}

uint32_t ifp_clock_solution_reference(const struct ifp_clock_solution *solution)
{
	return solution->reference;
}

uint32_t ifp_clock_solution_rejected_edges(const struct ifp_clock_solution *solution)
{
	return solution->rejected_edges;
}

int64_t ifp_clock_solution_drift_ppm(const struct ifp_clock_solution *solution)
{
	return solution->drift_ppm;
}

ifp_local_ns ifp_clock_map_local(
	const struct ifp_clock_map *map, enum ifp_clock_domain domain, int64_t stamp)
{
	if (domain == IFP_CLOCK_RAW && map->gaps && map->gaps->count)
		return (ifp_local_ns){ifp_clock_gaps_straight(map->gaps, stamp)};
	return (ifp_local_ns){ifp_lines_raw(&map->lines, domain, stamp)};
}

ifp_global_ns ifp_clock_map_global(
	const struct ifp_clock_map *map, enum ifp_clock_domain domain, int64_t stamp)
{
	int64_t local_ns = ifp_moment_limited(ifp_clock_map_local(map, domain, stamp).ns);

	return (ifp_global_ns){local_ns - ifp_track_offset(map->track, local_ns)};
}

struct ifp_clock_gaps_doubt ifp_clock_map_doubt(
	const struct ifp_clock_map *map, int64_t from_ns, int64_t to_ns)
{
	struct ifp_clock_gaps_doubt doubt = {0};
	int64_t slack_ns;

	if (!map->gaps || (!map->gaps->count && !map->reference_gaps->count))
		return doubt;
	/* where its clock stood then is itself known to the bound */
	slack_ns = ifp_track_bound_max(map->track, from_ns, to_ns);
	doubt = ifp_clock_gaps_doubt(map->gaps,
		ifp_moment_limited(
			(__int128)from_ns + ifp_track_at(map->track, from_ns).offset_ns - slack_ns),
		ifp_moment_limited(
			(__int128)to_ns + ifp_track_at(map->track, to_ns).offset_ns + slack_ns));
	if (map->track->count)
		doubt.doubt_ns +=
			ifp_clock_gaps_doubt(map->reference_gaps, from_ns, to_ns).doubt_ns;
	return doubt;
}

/* A bound of the track, and what suspensions add to it. */
static int64_t with_doubt(
	const struct ifp_clock_map *map, int64_t bound_ns, int64_t from_ns, int64_t to_ns)
{
	struct ifp_clock_gaps_doubt doubt = ifp_clock_map_doubt(map, from_ns, to_ns);
	__int128 sum = (__int128)bound_ns + doubt.doubt_ns + doubt.slept_ns;

	return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

ifp_global_ns ifp_clock_map_line(
	const struct ifp_clock_map *map, enum ifp_clock_domain domain, int64_t stamp)
{
	int64_t local_ns = ifp_moment_limited(ifp_clock_map_local(map, domain, stamp).ns);

	return (ifp_global_ns){local_ns - ifp_track_line(map->track, local_ns)};
}

const struct ifp_moves *ifp_clock_map_moves(const struct ifp_clock_map *map)
{
	return map->track->moves.count ? &map->track->moves : NULL;
}

int64_t ifp_clock_map_bound_ns(const struct ifp_clock_map *map, ifp_global_ns at)
{
	if (map->summary.method == IFP_CLOCK_UNALIGNED)
		return INT64_MAX;
	return with_doubt(map, ifp_track_bound(map->track, ifp_moment_limited(at.ns)),
		ifp_moment_limited(at.ns), ifp_moment_limited(at.ns));
}

int64_t ifp_clock_map_bound_max_ns(
	const struct ifp_clock_map *map, ifp_global_ns from, ifp_global_ns to)
{
	if (map->summary.method == IFP_CLOCK_UNALIGNED)
		return INT64_MAX;
	return with_doubt(map,
		ifp_track_bound_max(
			map->track, ifp_moment_limited(from.ns), ifp_moment_limited(to.ns)),
		ifp_moment_limited(from.ns), ifp_moment_limited(to.ns));
}

static bool unaligned(const struct ifp_clock_map *map)
{
	return map->summary.method == IFP_CLOCK_UNALIGNED;
}

uint32_t ifp_clock_map_epoch_count(const struct ifp_clock_map *map)
{
	if (unaligned(map))
		return 0;
	return map->exchanges ? map->exchange_count : map->track->count;
}

struct ifp_clock_epoch ifp_clock_map_epoch(const struct ifp_clock_map *map, uint32_t i)
{
	uint32_t point = map->exchanges ? map->exchanges[i] : i;

	return ifp_clock_map_at(map, (ifp_global_ns){map->track->points[point].global_ns});
}

struct ifp_clock_epoch ifp_clock_map_at(const struct ifp_clock_map *map, ifp_global_ns at)
{
	struct ifp_track_state state = ifp_track_at(map->track, ifp_moment_limited(at.ns));
	int64_t raw_ns = ifp_moment_limited(at.ns) + state.offset_ns;
	struct ifp_clock_gaps_doubt doubt =
		ifp_clock_map_doubt(map, ifp_moment_limited(at.ns), ifp_moment_limited(at.ns));

	state.low_ns -= doubt.doubt_ns + doubt.slept_ns;
	state.high_ns += doubt.doubt_ns + doubt.slept_ns;
	if (map->summary.method == IFP_CLOCK_COLLECTIVES) {
		/* RAW is the trace's own clock, straightened: its offset and rate stand there */
		int64_t own_ns = ifp_lines_realtime(&map->lines, raw_ns) - raw_ns;

		state.offset_ns += own_ns;
		state.low_ns += own_ns;
		state.high_ns += own_ns;
		/* what is left is one straight line, and its points lie close: slopes from one
		 * whole ns to the next would be noise */
		state.rate = ifp_track_rate(map->track) + ifp_lines_rate(&map->lines, raw_ns);
	}
	if (unaligned(map)) {
		state.sigma_ns = INFINITY;
		state.low_ns = INT64_MIN;
		state.high_ns = INT64_MAX;
	}
	return (struct ifp_clock_epoch){
		.at = at,
		.offset_ns = state.offset_ns,
		.rate_ppm = state.rate * 1e6,
		.sigma_ns = state.sigma_ns,
		.low_ns = state.low_ns,
		.high_ns = state.high_ns,
	};
}

struct ifp_clock_summary ifp_clock_map_summary(const struct ifp_clock_map *map)
{
	return map->summary;
}

struct ifp_clock_repairs ifp_clock_map_repairs(const struct ifp_clock_map *map)
{
	return map->repairs;
}

bool ifp_clock_map_same_clock(const struct ifp_clock_map *a, const struct ifp_clock_map *b)
{
	return a->track == b->track;
}
