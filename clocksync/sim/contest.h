/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods of aligning clocks (clocksync/estimate/aligner.h) in a simulated job. What a message
 * takes depends on who sends it to whom, in which exchange and as which one, and on nothing else:
 * two methods that ask for the same ping-pongs get the same stamps, whatever else they ask for.
 */
#pragma once

#include "clocksync/estimate/aligner.h"
#include "clocksync/sim/sim.h"

/* A method with all that it has been told. */
struct ifp_contestant {
	const struct ifp_aligner_ops *ops;
	struct ifp_aligner *aligner; /* owned */
	uint64_t messages;	     /* of all exchanges so far */
	/* What a fault in a stamping routine would do, for tests: changes the stamps, or NULL. */
	void (*spoil)(struct ifp_round_trip *trip);
};

/* -ENOMEM. */
int ifp_contestant_new(
	const struct ifp_aligner_ops *ops, uint32_t nodes, struct ifp_contestant *out);
void ifp_contestant_free(struct ifp_contestant *contestant);

/*
 * One exchange that begins at a moment. Each pair starts as soon as both are free. *end: when the
 * last one was done. -ENOMEM.
 */
int ifp_contest_exchange(const struct ifp_sim *sim, struct ifp_contestant *contestant,
	const struct ifp_aligner_occasion *occasion, ifp_true_ns at, ifp_true_ns *end);

/* How far a node's clock is put from where it belongs, at a moment. */
int64_t ifp_contest_error_ns(const struct ifp_sim *sim, const struct ifp_contestant *contestant,
	uint32_t node, ifp_true_ns moment);
