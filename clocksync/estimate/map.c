/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/map.h"

#include "clocksync/estimate/solution.h"

/* Moments beyond 70 years are not asked about; sums below cannot overflow. */
#define MOMENT_LIMIT_NS (INT64_C(1) << 61)

static int64_t limited(int64_t ns)
{
	return ns > MOMENT_LIMIT_NS    ? MOMENT_LIMIT_NS
	       : ns < -MOMENT_LIMIT_NS ? -MOMENT_LIMIT_NS
				       : ns;
}

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
	return (ifp_local_ns){ifp_lines_raw(&map->lines, domain, stamp)};
}

ifp_global_ns ifp_clock_map_global(
	const struct ifp_clock_map *map, enum ifp_clock_domain domain, int64_t stamp)
{
	int64_t local_ns = limited(ifp_lines_raw(&map->lines, domain, stamp));

	return (ifp_global_ns){local_ns - ifp_track_offset(map->track, local_ns)};
}

int64_t ifp_clock_map_bound_ns(const struct ifp_clock_map *map, ifp_global_ns at)
{
	if (map->summary.method == IFP_CLOCK_UNALIGNED)
		return INT64_MAX;
	return ifp_track_bound(map->track, limited(at.ns));
}

struct ifp_clock_summary ifp_clock_map_summary(const struct ifp_clock_map *map)
{
	return map->summary;
}
