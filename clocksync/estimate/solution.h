/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind the opaque types of map.h. Private to clocksync/estimate. */
#pragma once

#include "clocksync/estimate/map.h"
#include "clocksync/estimate/suspensions.h"
#include "clocksync/estimate/track.h"
#include "clocksync/estimate/tuples.h"

/* Moments beyond 73 years are not asked about: sums of them fit 64 bits. */
#define IFP_MOMENT_LIMIT_NS (INT64_C(1) << 61)

static inline int64_t ifp_moment_limited(__int128 ns)
{
	return ns > IFP_MOMENT_LIMIT_NS	   ? IFP_MOMENT_LIMIT_NS
	       : ns < -IFP_MOMENT_LIMIT_NS ? -IFP_MOMENT_LIMIT_NS
					   : (int64_t)ns;
}

struct ifp_clock_map {
	struct ifp_lines lines;
	const struct ifp_track *track; /* of the rank's node */
	const uint32_t *exchanges;     /* ... as below */
	uint32_t exchange_count;
	/* Of the rank's clock, and of the reference's; NULL = nobody was suspended. */
	const struct ifp_clock_gaps *gaps, *reference_gaps;
	struct ifp_clock_summary summary;
	struct ifp_clock_repairs repairs;
};

struct ifp_clock_stretch {
	int64_t from_ns, to_ns; /* job time by the line */
};

/* A clock that one rank or several read. */
struct ifp_clock_node {
	const struct ifp_clock_identity *identity;
	uint32_t first_rank; /* index of the first rank that has tuples; UINT32_MAX = none */
	struct ifp_track track;
	enum ifp_clock_method method;
	bool over_mpi;
	uint32_t epochs;
	/* IFP_CLOCK_COLLECTIVES: from when to when the clock was not set. */
	struct ifp_clock_stretch *quiet; /* owned */
	uint32_t quiet_count;
	struct ifp_clock_calls calls; /* left out */
	uint32_t *exchanges; /* owned; which points of the track are exchanges, NULL = all */
	uint32_t exchange_count;
};

struct ifp_clock_solution {
	struct ifp_clock_map *maps; /* one per rank */
	uint32_t *node_of_rank;
	uint32_t rank_count;
	struct ifp_clock_gaps *gaps;  /* owned; per rank; NULL = nobody was suspended */
	struct ifp_clock_node *nodes; /* node 0 is the reference */
	uint32_t node_count;
	uint32_t reference; /* index of the reference rank */
	uint32_t rejected_edges;
	int64_t drift_ppm;
};

/* What suspensions leave uncertain of a rank in a stretch of job time, beside its track's bound. */
struct ifp_clock_gaps_doubt ifp_clock_map_doubt(
	const struct ifp_clock_map *map, int64_t from_ns, int64_t to_ns);
