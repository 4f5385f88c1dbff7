/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/hypercube.h"

#include "clocksync/exchange/plan.h"
#include "core/cleanup.h"

#include <errno.h>
#include <stdlib.h>

int ifp_hypercube_new(uint32_t nodes, struct ifp_hypercube *out)
{
	uint32_t count = ifp_clock_plan(nodes, NULL);
	IFP_CLEANUP_FREE struct ifp_clock_pair *pairs = calloc(count + 1, sizeof(*pairs));
	struct ifp_hypercube cube = {.node_count = nodes, .edge_count = count};

	cube.wishes = calloc(count + 1, sizeof(*cube.wishes));
	cube.edges = calloc(count + 1, sizeof(*cube.edges));
	if (!pairs || !cube.wishes || !cube.edges) {
		ifp_hypercube_free(&cube);
		return -ENOMEM;
	}
	ifp_clock_plan(nodes, pairs);
	for (uint32_t e = 0; e < count; e++)
		cube.wishes[e] = (struct ifp_aligner_wish){pairs[e].client, pairs[e].server,
			IFP_HYPERCUBE_TRIPS, IFP_HYPERCUBE_PATIENCE};
	*out = cube;
	return 0;
}

void ifp_hypercube_free(struct ifp_hypercube *cube)
{
	free(cube->wishes);
	free(cube->edges);
	*cube = (struct ifp_hypercube){0};
}

void ifp_hypercube_start(struct ifp_hypercube *cube, uint32_t epoch)
{
	for (uint32_t e = 0; e < cube->edge_count; e++) {
		cube->edges[e] = (struct ifp_clock_edge){
			.epoch = epoch,
			.client = cube->wishes[e].client,
			.server = cube->wishes[e].server,
		};
		ifp_edge_start(cube->edges + e);
	}
}
