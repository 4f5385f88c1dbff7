/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank, arranged for the picture: its slices on lanes where any two nest or lie apart, its
 * moments and arrows, the lanes in the order in which they are drawn.
 */
#pragma once

#include "collector/timeline/flows.h"
#include "collector/timeline/nodes.h"
#include "collector/timeline/rank_view.h"
#include "collector/timeline/slices.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_scene {
	struct ifp_rank_view view;
	struct ifp_slices slices;
	struct ifp_nodes nodes; /* of the slices */
	struct ifp_flows flows;
	int64_t start_ns, end_ns; /* of all slices; 0 when there are none */
	uint32_t steps_row;	  /* the lane of the step slices */
	uint32_t *order;	  /* rows in the order in which they are drawn */
	uint32_t order_count;
	uint32_t *moments; /* events without length, by lane in that order, then by time */
	uint32_t moment_count;
	uint64_t unpictured; /* events of kinds that have no picture */
};

/* Rank i of the run, by its place; it has a map. */
int ifp_scene_load(struct ifp_run *run, uint32_t i, struct ifp_scene *scene);
/*
 * The same as ifp_run_read_events() is to ifp_run_load_events(). lean: without the args of slices
 * and arrows, but for those of collectives and of the program's own.
 */
int ifp_scene_read(struct ifp_run *run, uint32_t i, bool lean, struct ifp_scene *scene);
void ifp_scene_free(struct ifp_scene *scene);

#define IFP_CLEANUP_SCENE IFP_CLEANUP(ifp_scene_free)
