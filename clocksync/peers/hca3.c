/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HCA3 (Hunold and Carpen-Amarie 2018): down a binomial tree every node that already has the
 * global clock teaches it to one that has not. At each of 1000 fit points the child's offset to
 * its parent's global clock is measured with 10 ping-pongs (SKaMPI's way); a line through them by
 * least squares is the child's model. Nodes beyond the power of two learn in a last round.
 */
#include "clocksync/peers/peers.h"
#include "clocksync/peers/star.h"

#include <stdlib.h>

#define FIT_POINTS 1000
#define PING_PONGS 10

struct ifp_aligner {
	struct ifp_aligner_wish *wishes;
	uint32_t nodes, wish_count;
	struct ifp_star_line *lines; /* per node: offset to the global clock over its own */
	/* Of the fit point that is being measured. */
	int64_t low_ns, high_ns;
	uint32_t trips;
};

static void hca3_free(struct ifp_aligner *aligner)
{
	free(aligner->wishes);
	free(aligner->lines);
	free(aligner);
}

static void teach(struct ifp_aligner *aligner, uint32_t parent, uint32_t child)
{
	if (child < aligner->nodes)
		aligner->wishes[aligner->wish_count++] = (struct ifp_aligner_wish){
			.client = parent, .server = child, .trips = FIT_POINTS * PING_PONGS};
}

static void plan(struct ifp_aligner *aligner)
{
	uint32_t power = 1;

	while (power <= aligner->nodes / 2)
		power *= 2;
	for (uint32_t step = power / 2; step; step /= 2) {
		for (uint32_t i = 0; i < power; i += 2 * step)
			teach(aligner, i, i + step);
	}
	for (uint32_t i = power; i < aligner->nodes; i++)
		teach(aligner, i - power, i);
}

static struct ifp_aligner *hca3_new(uint32_t nodes)
{
	struct ifp_aligner *aligner = calloc(1, sizeof(*aligner));

	if (!aligner)
		return NULL;
	aligner->nodes = nodes;
	aligner->wishes = calloc(nodes, sizeof(*aligner->wishes));
	aligner->lines = calloc(nodes, sizeof(*aligner->lines));
	if (!aligner->wishes || !aligner->lines) {
		hca3_free(aligner);
		return NULL;
	}
	plan(aligner);
	return aligner;
}

static uint32_t hca3_wishes(struct ifp_aligner *aligner,
	const struct ifp_aligner_occasion *occasion, const struct ifp_aligner_wish **wishes)
{
	*wishes = aligner->wishes;
	return occasion->epoch == 0 ? aligner->wish_count : 0;
}

static int64_t global_ns(const struct ifp_aligner *aligner, uint32_t node, int64_t local_ns)
{
	return node ? local_ns - ifp_star_line_at(aligner->lines + node, local_ns) : local_ns;
}

static bool hca3_sample(
	struct ifp_aligner *aligner, uint32_t wish, const struct ifp_round_trip *trip)
{
	uint32_t parent = aligner->wishes[wish].client, child = aligner->wishes[wish].server;
	int64_t low_ns = trip->t3_ns - global_ns(aligner, parent, trip->t4_ns);
	int64_t high_ns = trip->t2_ns - global_ns(aligner, parent, trip->t1_ns);
	bool first = aligner->trips == 0;

	aligner->low_ns = first || low_ns > aligner->low_ns ? low_ns : aligner->low_ns;
	aligner->high_ns = first || high_ns < aligner->high_ns ? high_ns : aligner->high_ns;
	if (++aligner->trips == PING_PONGS) {
		ifp_star_line_add(aligner->lines + child, trip->t2_ns,
			aligner->low_ns + (aligner->high_ns - aligner->low_ns) / 2);
		aligner->trips = 0;
	}
	return true;
}

static int hca3_settle(struct ifp_aligner *aligner)
{
	(void)aligner;
	return 0;
}

static ifp_global_ns hca3_map(const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local)
{
	return (ifp_global_ns){global_ns(aligner, node, local.ns)};
}

const struct ifp_aligner_ops ifp_peer_hca3 = {
	.name = "HCA3 1000x10",
	.idea = "binomial tree, a line by least squares at each level",
	.when = IFP_ALIGNED_ONCE,
	.new = hca3_new,
	.free = hca3_free,
	.wishes = hca3_wishes,
	.sample = hca3_sample,
	.settle = hca3_settle,
	.map = hca3_map,
};
