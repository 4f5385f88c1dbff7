/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A way to align clocks, as one table of operations, so that ours and those of others can be
 * exchanged for each other and fed the same stamps (clocksync/sim/contest.h does that).
 *
 * A method says before every exchange which ping-pongs it wants and gets their stamps, and then
 * maps readings of the nodes' clocks to the clock of node 0. Methods do no I/O.
 */
#pragma once

#include "clocksync/estimate/edge.h"
#include "core/time.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Ping-pongs of one pair, one after the other. Wishes are fulfilled in their order, side by side
 * where they share no node.
 */
struct ifp_aligner_wish {
	uint32_t client, server;
	uint32_t trips;
	uint32_t patience; /* ends after that many without gain, when 8 are done; 0 = never */
};

/* What every method knows of an exchange before it begins. */
struct ifp_aligner_occasion {
	uint32_t epoch;	   /* 0, 1, ...: the program's start is 0 */
	bool last;	   /* the program's end */
	int64_t since_ns;  /* the first one */
	int64_t period_ns; /* until the next one */
};

struct ifp_aligner;

/* What a method is made for. */
enum ifp_aligned_when {
	IFP_ALIGNED_ALWAYS,	/* while the run is going on, with exchanges in between */
	IFP_ALIGNED_ONCE,	/* while the run is going on, with one exchange at its start */
	IFP_ALIGNED_AFTERWARDS, /* when the run is over */
};

struct ifp_aligner_ops {
	const char *name;
	const char *idea; /* in short */
	enum ifp_aligned_when when;

	/* NULL when memory is short. */
	struct ifp_aligner *(*new)(uint32_t nodes);
	void (*free)(struct ifp_aligner *aligner);

	/* Number of wishes; the array is the method's own until its next call. */
	uint32_t (*wishes)(struct ifp_aligner *aligner, const struct ifp_aligner_occasion *occasion,
		const struct ifp_aligner_wish **wishes);
	/* Whether a round trip of a wish told anything new: what patience waits for. */
	bool (*sample)(
		struct ifp_aligner *aligner, uint32_t wish, const struct ifp_round_trip *trip);
	/* NULL, or: wants a barrier at the first exchange; gets when each node's clock saw it end.
	 */
	void (*exits)(struct ifp_aligner *aligner, const int64_t *exits_ns);
	/* All of an exchange has been sampled; 0 or -ENOMEM. */
	int (*settle)(struct ifp_aligner *aligner);

	/* As well as is known by now. */
	ifp_global_ns (*map)(const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local);
	/* NULL, or: certified bound at that moment. */
	int64_t (*bound_ns)(const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local);
};

/* Ours. Both measure the hypercube of clocksync/exchange/plan.h as the agents do. */
extern const struct ifp_aligner_ops ifp_aligner_online;	 /* servo.h: what was known then */
extern const struct ifp_aligner_ops ifp_aligner_offline; /* map.h: after the last exchange */
