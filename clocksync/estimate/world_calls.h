/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running MPI program tells of its ranks' clocks without an exchange. Nobody leaves a
 * barrier, or any operation of all with all, before everybody has come: enter_j <= exit_i in true
 * time. For a clock and the reference that is an interval of their offset at that moment, as sure
 * as one that was measured by pings, and several of them a second cost nothing.
 *
 * The calls are those on the world communicator, which all ranks make in one order: number n of one
 * rank is number n of the other. A hash of which functions the first n calls were stands beside the
 * number; where it differs, the two ranks did not count the same, and the call is not used.
 *
 * The certificate rests on that: it would be wrong for a job whose ranks call the same collectives
 * from C and from Fortran (which is not seen) in different shares, but in the same order of
 * functions.
 */
#pragma once

#include "clocksync/estimate/solution.h"
#include "trace/archive/clock_samples.h"

#include <stdint.h>

/*
 * In the archive such a call is a collective of this group, of a rank whose clocks were read: kind
 * is the hash, step the number, stamps are RAW.
 */
#define IFP_WORLD_CALLS_GROUP UINT64_C(0x4d50495f574f524c)

/* One call, as the ranks of one node saw it: when the last of them came, when the first left (RAW).
 */
struct ifp_world_call {
	int64_t number;
	uint64_t order; /* the hash */
	int64_t enter_ns, exit_ns;
};

struct ifp_world_calls {
	struct ifp_world_call *items; /* owned; by number, each once */
	size_t count;
	uint64_t strange; /* calls that the ranks of the node counted otherwise: none of items */
};

/* Those of a node. -ENOMEM only. Free with ifp_world_calls_free(). */
int ifp_world_calls_list(const struct ifp_clock_solution *solution,
	const struct ifp_clock_rank *ranks, uint32_t node, struct ifp_world_calls *out);
void ifp_world_calls_free(struct ifp_world_calls *calls);

/*
 * Adds points to the tracks of the nodes whose clocks were exchanged with the reference's, where
 * calls say more than the exchanges around them. A node whose calls contradict its exchanges keeps
 * its track as it was. What was left out is counted in the node. -ENOMEM only.
 */
int ifp_world_calls_narrow(struct ifp_clock_solution *solution, const struct ifp_clock_rank *ranks);
