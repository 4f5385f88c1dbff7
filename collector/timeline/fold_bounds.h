/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the texts of folds can become, before it is known which there will be: a fold among the
 * children of a slice holds at most everything inside of that slice, one among the roots of a lane
 * at most the whole lane, one of crowded slices at most all of the lane.
 */
#pragma once

#include "collector/timeline/fold.h"
#include "collector/timeline/scene.h"

#include <stdint.h>

/* What is inside of a slice. */
struct ifp_fold_inside {
	uint64_t categories; /* a bit for each of the first 63; the last one for all others */
	uint32_t events;
	uint32_t name_bytes;
};

struct ifp_fold_limits {
	const struct ifp_scene *scene;
	struct ifp_fold_inside *inside; /* by slice, then by lane, then by lane of the crowded */
	size_t count;			/* of these */
};

int ifp_fold_limits_find(const struct ifp_scene *scene, struct ifp_fold_limits *limits);

/* Where in inside is all that may be in one fold with slice i: such folds have the same bounds. */
size_t ifp_fold_limits_around(const struct ifp_fold_limits *limits, uint32_t i);

/* Of a fold that begins with slice i. */
struct ifp_fold_bounds ifp_fold_limits_of(const struct ifp_fold_limits *limits, uint32_t i);

void ifp_fold_limits_free(struct ifp_fold_limits *limits);

#define IFP_CLEANUP_FOLD_LIMITS IFP_CLEANUP(ifp_fold_limits_free)
