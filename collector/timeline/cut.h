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
	bool by_steps;	    /* false: no rank has steps, everything recorded is drawn */
	int64_t *numbers;   /* of the steps, rising */
	int64_t *length_ns; /* of each, mean over the ranks */
	uint32_t count;
	bool reduced; /* ifp_cut_reduce() took steps away */
	bool nccl;    /* which library's collectives are told to the plug-in: it takes one alone */
	uint32_t *ranks;      /* places in the run of those that can have a file, rising */
	uint64_t *most_bytes; /* of each, what its file has at most */
	uint32_t rank_count;
};

/* Loads one rank after the other. What is left out goes to the run's ledger. */
int ifp_cut_find(struct ifp_run *run, struct ifp_cut *cut);

bool ifp_cut_holds(const struct ifp_cut *cut, int64_t number);

/* Which of the cut's steps this is; UINT32_MAX = none. */
uint32_t ifp_cut_place(const struct ifp_cut *cut, int64_t number);

/* Keeps count steps from the one at place first on. */
void ifp_cut_reduce(struct ifp_cut *cut, uint32_t first, uint32_t count);

/*
 * The plug-in's name of an event that it is to take as a collective; NULL when it is none, or one
 * of the other library. It belongs to the step in which it starts.
 */
const char *ifp_cut_collective(const struct ifp_timed_event *timed, bool nccl);

/* A slice in which work is given to a GPU. */
bool ifp_cut_is_launch(const struct ifp_event *event);

void ifp_cut_free(struct ifp_cut *cut);

#define IFP_CLEANUP_CUT IFP_CLEANUP(ifp_cut_free)
