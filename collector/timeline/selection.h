/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a rank goes into its analysis file: the slices of the chosen steps, with the ids by
 * which the plug-in ties operators, launches and kernels together, made unique and consistent.
 */
#pragma once

#include "collector/timeline/cut.h"
#include "collector/timeline/id_map.h"
#include "collector/timeline/rank_view.h"
#include "collector/timeline/slices.h"

#include <stdint.h>

struct ifp_open_collective {
	int64_t end_ns;
	uint64_t external;
};

struct ifp_selection {
	struct ifp_run *run;
	const struct ifp_cut *cut;
	struct ifp_rank_view *view; /* its steps are those of the file */
	struct ifp_slices slices;
	struct ifp_id_map operators;	  /* External id of each operator taken */
	struct ifp_id_map launches;	  /* correlation to the launch's place in slices */
	struct ifp_id_map collectives;	  /* event to External id of each collective taken */
	struct ifp_open_collective *open; /* by lane, while launches are taken */
	uint64_t next_external;		  /* for operators without one, or with one that is taken */

	uint64_t outside;   /* slices outside the steps */
	uint64_t unplaced;  /* slices on lanes that are no thread and no stream */
	uint64_t no_device; /* work of a GPU that the plug-in has no place for */
};

int ifp_selection_make(struct ifp_selection *selection);

/* The correlation as it is written: windows of one run are told apart. */
uint64_t ifp_selection_correlation(
	const struct ifp_selection *selection, const struct ifp_timed_event *timed);

/* Whether an event without length (instant, counter) lies in the steps of the file. */
bool ifp_selection_in_steps(const struct ifp_selection *selection, int64_t at_ns);

void ifp_selection_free(struct ifp_selection *selection);
