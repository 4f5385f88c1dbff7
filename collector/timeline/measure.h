/* SPDX-License-Identifier: Apache-2.0 */
/* How large a scene is in a sink's format at each level. */
#pragma once

#include "collector/timeline/elements.h"
#include "collector/timeline/once.h"
#include "collector/timeline/plan.h"

/* Lanes are numbered over the whole picture: none has a higher number. */
#define IFP_MEASURE_MAX_LANE 9999999u

/* What is measured adds itself here. Of one rank, or of what lies between the ranks; one thread. */
struct ifp_measure {
	const struct ifp_sink *sink;
	struct ifp_plan plan;
	struct ifp_once once;
	struct ifp_element_texts texts;
};

/* Numbers the lanes of the scene for this. 0 or -ENOMEM. */
int ifp_measure_scene(struct ifp_measure *measure, struct ifp_scene *scene, uint32_t rank_order);

/* An arrow that is shown from that level on. */
void ifp_measure_flow(
	struct ifp_measure *measure, const struct ifp_sink_flow *flow, uint16_t level);

/* Points of counters that are computed. */
void ifp_measure_counters(struct ifp_measure *measure, const struct ifp_counters *counters);

/* Of a rank by itself, also of one that has no scene. */
void ifp_measure_rank(struct ifp_measure *measure, const struct ifp_run_rank *rank, uint32_t order);

/* Everything is measured: 0, or -ENOMEM. */
int ifp_measure_end(struct ifp_measure *measure);
void ifp_measure_free(struct ifp_measure *measure);
