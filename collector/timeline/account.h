/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a run a picture does not show, told in the ledger, in a note inside the picture, and to
 * the caller.
 */
#pragma once

#include "collector/timeline/scene.h"
#include "collector/timeline/sink.h"
#include "core/intern.h"

#include <stdint.h>

struct ifp_account {
	struct ifp_run *run;
	const struct ifp_sink *sink;
	uint16_t level;
	uint32_t kinds;		  /* IFP_KIND_ of what was recorded */
	uint64_t shown, recorded; /* slices, instants and counters */
	uint64_t crowded;	  /* in folds whatever the budget */
	uint64_t arrows;	  /* not shown */
	struct ifp_intern categories;
	uint64_t *folded; /* by those: slices in folds, and moments that are not shown */
	size_t folded_capacity;
	struct ifp_account_rank *ranks; /* with something in folds */
	size_t rank_count, rank_capacity;
};

/* Of one rank. */
struct ifp_rank_account {
	uint64_t shown, recorded, crowded, arrows;
};

/* "timeline-left-out": count of them, when there are any. */
int ifp_account_left_out(const struct ifp_account *account, const struct ifp_run_rank *rank,
	const char *label, uint64_t count, const char *why);

/* What could not be drawn of a scene, whatever the budget. */
int ifp_account_scene(const struct ifp_account *account, const struct ifp_scene *scene);

int ifp_account_folded(struct ifp_account *account, struct ifp_str category, uint64_t count);
int ifp_account_rank(struct ifp_account *account, const struct ifp_run_rank *rank,
	const struct ifp_rank_account *of_rank);

/* After the last rank: the rows of the whole run, and what is shown. */
int ifp_account_end(struct ifp_account *account, struct ifp_shown *shown);

/* Appends the alarm when ranks are not aligned; nothing when all are. */
void ifp_account_clocks(const struct ifp_run *run, struct ifp_buf *out);

/* The budget does not hold the least that there is to draw. */
int ifp_account_too_little(const struct ifp_budget *budget, struct ifp_size least, uint32_t ranks);

void ifp_account_free(struct ifp_account *account);
