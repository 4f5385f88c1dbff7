/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto's relay: every 30 s two round trips between the host and each client; the mean of what
 * all of them say, over the whole trace, is the constant offset.
 */
#include "clocksync/peers/peers.h"
#include "clocksync/peers/star.h"

#include <stdlib.h>

#define ROUND_TRIPS 2
#define PERIOD_NS (30 * IFP_NS_PER_S)

struct mean {
	int64_t base_ns; /* the first */
	int64_t sum_ns;	 /* of what the others differ by */
	int64_t count;
};

struct ifp_aligner {
	struct ifp_aligner_wish *wishes;
	uint32_t nodes;
	struct mean *means; /* per node */
	int64_t next_ns;    /* round, since the first */
};

static void perfetto_free(struct ifp_aligner *aligner)
{
	free(aligner->wishes);
	free(aligner->means);
	free(aligner);
}

static struct ifp_aligner *perfetto_new(uint32_t nodes)
{
	struct ifp_aligner *aligner = calloc(1, sizeof(*aligner));

	if (!aligner)
		return NULL;
	aligner->nodes = nodes;
	aligner->wishes = ifp_star_wishes(nodes, 1, ROUND_TRIPS);
	aligner->means = calloc(nodes, sizeof(*aligner->means));
	if (!aligner->wishes || !aligner->means) {
		perfetto_free(aligner);
		return NULL;
	}
	return aligner;
}

static uint32_t perfetto_wishes(struct ifp_aligner *aligner,
	const struct ifp_aligner_occasion *occasion, const struct ifp_aligner_wish **wishes)
{
	*wishes = aligner->wishes;
	if (occasion->since_ns < aligner->next_ns)
		return 0;
	aligner->next_ns += PERIOD_NS;
	return aligner->nodes - 1;
}

static bool perfetto_sample(
	struct ifp_aligner *aligner, uint32_t wish, const struct ifp_round_trip *trip)
{
	struct mean *mean = aligner->means + wish + 1;
	int64_t offset_ns = ifp_star_middle_ns(trip);

	if (!mean->count)
		mean->base_ns = offset_ns;
	mean->sum_ns += offset_ns - mean->base_ns;
	mean->count++;
	return true;
}

static int perfetto_settle(struct ifp_aligner *aligner)
{
	(void)aligner;
	return 0;
}

static ifp_global_ns perfetto_map(
	const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local)
{
	const struct mean *mean = aligner->means + node;
	int64_t offset_ns = mean->count ? mean->base_ns + mean->sum_ns / mean->count : 0;

	return (ifp_global_ns){local.ns - offset_ns};
}

const struct ifp_aligner_ops ifp_peer_perfetto = {
	.name = "Perfetto relay",
	.idea = "star, two round trips every 30 s, their mean as a constant",
	.when = IFP_ALIGNED_AFTERWARDS,
	.new = perfetto_new,
	.free = perfetto_free,
	.wishes = perfetto_wishes,
	.sample = perfetto_sample,
	.settle = perfetto_settle,
	.map = perfetto_map,
};
