/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cut: which steps the analysis files hold. The plug-in's Distributed view compares ranks
 * collective by collective, in order of time, and gives up when their numbers differ. So all files
 * are cut at the same steps, and steps in which the ranks' numbers differ are left out.
 */
#pragma once

#include "collector/timeline/rank_view.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_cut {
	bool by_steps;	  /* false: no rank has steps, everything recorded is drawn */
	int64_t *numbers; /* of the steps, rising */
	uint32_t count;
	bool nccl; /* which library's collectives are told to the plug-in: it takes one alone */
};

/* Loads one rank after the other. What is left out goes to the run's ledger. */
int ifp_cut_find(struct ifp_run *run, struct ifp_cut *cut);

bool ifp_cut_holds(const struct ifp_cut *cut, int64_t number);

/*
 * The plug-in's name of an event that it is to take as a collective; NULL when it is none, or one
 * of the other library. It belongs to the step in which it starts.
 */
const char *ifp_cut_collective(const struct ifp_timed_event *timed, bool nccl);

/* A slice in which work is given to a GPU. */
bool ifp_cut_is_launch(const struct ifp_event *event);

void ifp_cut_free(struct ifp_cut *cut);

#define IFP_CLEANUP_CUT IFP_CLEANUP(ifp_cut_free)
