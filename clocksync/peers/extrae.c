/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extrae: a barrier at the start, of which all ranks are taken to return at the same moment; a
 * constant offset.
 */
#include "clocksync/peers/peers.h"

#include <stdlib.h>
#include <string.h>

struct ifp_aligner {
	uint32_t nodes;
	int64_t *exits_ns; /* per node */
};

static void extrae_free(struct ifp_aligner *aligner)
{
	free(aligner->exits_ns);
	free(aligner);
}

static struct ifp_aligner *extrae_new(uint32_t nodes)
{
	struct ifp_aligner *aligner = calloc(1, sizeof(*aligner));

	if (!aligner)
		return NULL;
	aligner->nodes = nodes;
	aligner->exits_ns = calloc(nodes, sizeof(*aligner->exits_ns));
	if (!aligner->exits_ns) {
		extrae_free(aligner);
		return NULL;
	}
	return aligner;
}

static uint32_t extrae_wishes(struct ifp_aligner *aligner,
	const struct ifp_aligner_occasion *occasion, const struct ifp_aligner_wish **wishes)
{
	(void)aligner;
	(void)occasion;
	*wishes = NULL;
	return 0;
}

static bool extrae_sample(
	struct ifp_aligner *aligner, uint32_t wish, const struct ifp_round_trip *trip)
{
	(void)aligner;
	(void)wish;
	(void)trip;
	return false;
}

static void extrae_exits(struct ifp_aligner *aligner, const int64_t *exits_ns)
{
	memcpy(aligner->exits_ns, exits_ns, aligner->nodes * sizeof(*exits_ns));
}

static int extrae_settle(struct ifp_aligner *aligner)
{
	(void)aligner;
	return 0;
}

static ifp_global_ns extrae_map(
	const struct ifp_aligner *aligner, uint32_t node, ifp_local_ns local)
{
	return (ifp_global_ns){local.ns - (aligner->exits_ns[node] - aligner->exits_ns[0])};
}

const struct ifp_aligner_ops ifp_peer_extrae = {
	.name = "Extrae exits",
	.idea = "one barrier, its exits as one moment, a constant",
	.when = IFP_ALIGNED_ONCE,
	.new = extrae_new,
	.free = extrae_free,
	.wishes = extrae_wishes,
	.sample = extrae_sample,
	.exits = extrae_exits,
	.settle = extrae_settle,
	.map = extrae_map,
};
