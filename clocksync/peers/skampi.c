/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SKaMPI's offset: 100 ping-pongs with every rank, the intersection of the intervals that they
 * give, its middle as a constant.
 */
#include "clocksync/peers/peers.h"
#include "clocksync/peers/star.h"

#include <stdlib.h>

#define PING_PONGS 100

struct interval {
	int64_t low_ns, high_ns;
};

struct ifp_aligner {
	struct ifp_aligner_wish *wishes;
	uint32_t nodes;
	struct interval *intervals; /* per node */
};

static void skampi_free(struct ifp_aligner *aligner)
{
	free(aligner->wishes);
	free(aligner->intervals);
	free(aligner);
}

static struct ifp_aligner *skampi_new(uint32_t nodes)
{
	struct ifp_aligner *aligner = calloc(1, sizeof(*aligner));

	if (!aligner)
		return NULL;
	aligner->nodes = nodes;
	aligner->wishes = ifp_star_wishes(nodes, 1, PING_PONGS);
	aligner->intervals = calloc(nodes, sizeof(*aligner->intervals));
	if (!aligner->wishes || !aligner->intervals) {
		skampi_free(aligner);
		return NULL;
	}
	for (uint32_t i = 1; i < nodes; i++)
		aligner->intervals[i] = (struct interval){INT64_MIN / 2, INT64_MAX / 2};
	return aligner;
}

static uint32_t skampi_wishes(struct ifp_aligner *aligner,
	const struct ifp_aligner_occasion *occasion, const struct ifp_aligner_wish **wishes)
{
	*wishes = aligner->wishes;
	return occasion->epoch == 0 ? aligner->nodes - 1 : 0;
}

static bool skampi_sample(
	struct ifp_aligner *aligner, uint32_t wish, const struct ifp_round_trip *trip)
{
	struct interval *interval = aligner->intervals + wish + 1;
	int64_t low_ns = trip->t3_ns - trip->t4_ns, high_ns = trip->t2_ns - trip->t1_ns;

	if (low_ns <= interval->low_ns && high_ns >= interval->high_ns)
		return false;
	interval->low_ns = low_ns > interval->low_ns ? low_ns : interval->low_ns;
	interval->high_ns = high_ns < interval->high_ns ? high_ns : interval->high_ns;
	return true;
}

static int skampi_settle(struct ifp_aligner *aligner)
{
	(void)aligner;
	return 0;
}

static ifp_global_ns skampi_map(
	const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local)
{
	const struct interval *interval = aligner->intervals + node;

	return (ifp_global_ns){
		local.ns - interval->low_ns - (interval->high_ns - interval->low_ns) / 2};
}

const struct ifp_aligner_ops ifp_peer_skampi = {
	.name = "SKaMPI offset",
	.idea = "star, intersection of 100 ping-pongs, a constant",
	.when = IFP_ALIGNED_ONCE,
	.new = skampi_new,
	.free = skampi_free,
	.wishes = skampi_wishes,
	.sample = skampi_sample,
	.settle = skampi_settle,
	.map = skampi_map,
};
