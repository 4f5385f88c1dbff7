/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the crowded slices of a lane is counted once: a slice inside of another one of its
 * category adds nothing to the time in which that is busy.
 */
#pragma once

#include "collector/timeline/nodes.h"

/* Sets `covered` of the row's crowded nodes, whose categories are known. 0 or -ENOMEM. */
int ifp_crowd_cover(
	const struct ifp_slices *slices, const struct ifp_lane_row *row, struct ifp_nodes *nodes);
