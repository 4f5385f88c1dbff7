/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that was recorded without infprof: every rank's trace has collectives with the stamps of a
 * clock of its own, which drifts, wanders and may be set. Ranks come to each operation at random,
 * nobody leaves before the last one has come, and they leave as raggedly as told. Deterministic.
 */
#pragma once

#include "clocksync/sim/sim.h"

#define IFP_SIM_KINDS 4u

struct ifp_sim_program {
	uint32_t steps, per_step;
	int64_t step_ns;		    /* from one step to the next */
	int64_t arrival_ns;		    /* ranks come within so much, later ones seldom */
	int64_t transfer_ns[IFP_SIM_KINDS]; /* what an operation takes when nobody waits */
	double bias_share;    /* of it: how far a rank ends systematically behind the first */
	double noise_share;   /* of it: mean of an exponential on top */
	double outlier_share; /* of all ends, which come up to ten transfers later */
	/* Ranks per group; every other operation is of such a group, the rest of all ranks. 0: all
	 * are of all ranks. */
	uint32_t group_ranks;
	/* Of all operations: every other one a broadcast, the rest reduces, from and to any rank.
	 * Only those wait that must. */
	double directed_share;
	uint32_t ragged; /* traces begin and end up to so many operations later and earlier */
	/* A fault: one in four operations does not wait for the last rank (a broadcast, say). */
	bool some_do_not_wait;
};

/* What the clock of a trace shows: RAW, and the step of REALTIME. */
int64_t ifp_sim_trace_stamp(const struct ifp_sim_clock *clock, ifp_true_ns at);

/*
 * Gives every rank (one a node) its collectives, and two tuples: the first moment and the last.
 * ends: NULL, or room for steps * per_step moments, when each operation's last rank had come.
 * -ENOMEM.
 */
int ifp_sim_collectives(
	struct ifp_sim *sim, const struct ifp_sim_program *program, ifp_true_ns *ends);
