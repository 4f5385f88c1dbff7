/* SPDX-License-Identifier: Apache-2.0 */
/* The slices of a scene up to a level, and folds of all others, into a sink. */
#pragma once

#include "collector/store/notes.h"
#include "collector/timeline/fold.h"
#include "collector/timeline/pen.h"

#include <stdint.h>

struct ifp_folding {
	const struct ifp_scene *scene;
	struct ifp_pen *pen;
	uint16_t level;
	bool crowds;	       /* crowded slices are folded, on a lane of their own */
	uint64_t shown;	       /* events that are slices of their own */
	uint64_t recorded;     /* all that have a lane */
	uint64_t crowded;      /* of them, those in folds because they are crowded */
	uint32_t kinds;	       /* IFP_KIND_ of all of them */
	uint64_t *by_category; /* events in folds, by the scene's categories; zeroed by the owner */
	int64_t start_ns, end_ns; /* of what was drawn: widened */

	struct ifp_fold fold;
	struct ifp_look_notes names; /* numbers of names in the fold, plus 1 */
	bool folding;		     /* a fold has begun on the lane */
	uint32_t lane;
	int64_t until_ns; /* the fold ends here at the latest */
	uint32_t *open;	  /* folded slices around the next one */
	uint32_t depth;
	size_t open_capacity;
};

/* Lane by lane in the order in which they are drawn. 0 or -ENOMEM. */
int ifp_folding_draw(struct ifp_folding *folding);
void ifp_folding_free(struct ifp_folding *folding);
