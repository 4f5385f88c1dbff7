/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Score-P: the master measures every rank with 10 ping-pongs at the begin and at the end of the
 * program and takes the shortest; in between offsets are interpolated linearly.
 */
#include "clocksync/peers/peers.h"
#include "clocksync/peers/star.h"

#include <stdlib.h>

#define PING_PONGS 10

struct anchor {
	int64_t local_ns, offset_ns, travel_ns;
	bool known;
};

struct ifp_aligner {
	struct ifp_aligner_wish *wishes;
	uint32_t nodes;
	struct anchor (*anchors)[2]; /* per node: begin, end */
	int now;		     /* which of the two is being measured */
};

static void scorep_free(struct ifp_aligner *aligner)
{
	free(aligner->wishes);
	free(aligner->anchors);
	free(aligner);
}

static struct ifp_aligner *scorep_new(uint32_t nodes)
{
	struct ifp_aligner *aligner = calloc(1, sizeof(*aligner));

	if (!aligner)
		return NULL;
	aligner->nodes = nodes;
	aligner->wishes = ifp_star_wishes(nodes, 1, PING_PONGS);
	aligner->anchors = calloc(nodes, sizeof(*aligner->anchors));
	if (!aligner->wishes || !aligner->anchors) {
		scorep_free(aligner);
		return NULL;
	}
	return aligner;
}

static uint32_t scorep_wishes(struct ifp_aligner *aligner,
	const struct ifp_aligner_occasion *occasion, const struct ifp_aligner_wish **wishes)
{
	aligner->now = occasion->epoch > 0;
	*wishes = aligner->wishes;
	return occasion->epoch == 0 || occasion->last ? aligner->nodes - 1 : 0;
}

static bool scorep_sample(
	struct ifp_aligner *aligner, uint32_t wish, const struct ifp_round_trip *trip)
{
	struct anchor *anchor = &aligner->anchors[wish + 1][aligner->now];
	int64_t travel_ns = ifp_star_travel_ns(trip);

	if (anchor->known && travel_ns >= anchor->travel_ns)
		return false;
	*anchor = (struct anchor){trip->t2_ns, ifp_star_middle_ns(trip), travel_ns, true};
	return true;
}

static int scorep_settle(struct ifp_aligner *aligner)
{
	(void)aligner;
	return 0;
}

static ifp_global_ns scorep_map(
	const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local)
{
	const struct anchor *begin = aligner->anchors[node], *end = begin + 1;
	__int128 rise = (__int128)end->offset_ns - begin->offset_ns;
	__int128 run = (__int128)end->local_ns - begin->local_ns;
	int64_t offset_ns = begin->offset_ns;

	if (end->known && run > 0)
		offset_ns += (int64_t)(rise * (local.ns - begin->local_ns) / run);
	return (ifp_global_ns){local.ns - offset_ns};
}

const struct ifp_aligner_ops ifp_peer_scorep = {
	.name = "Score-P",
	.idea = "star, shortest of 10 ping-pongs at begin and end, a line",
	.when = IFP_ALIGNED_AFTERWARDS,
	.new = scorep_new,
	.free = scorep_free,
	.wishes = scorep_wishes,
	.sample = scorep_sample,
	.settle = scorep_settle,
	.map = scorep_map,
};
