/* SPDX-License-Identifier: Apache-2.0 */
/* The first of a picture's two passes over a run: up to which level it fits the sink's budget. */
#pragma once

#include "collector/timeline/counters.h"
#include "collector/timeline/links.h"
#include "collector/timeline/scene.h"
#include "collector/timeline/sink.h"

#include <stdint.h>

/*
 * links: gets the collectives of all ranks. kept: an entry for each rank, NULL at first; gets the
 * scenes of the first ranks, which are there to be drawn without being read again. They are the
 * caller's, also on failure. -E2BIG with what to do when even the least does not fit.
 */
int ifp_survey(struct ifp_run *run, const struct ifp_sink *sink, struct ifp_links *links,
	struct ifp_scene **kept, uint16_t *level);

/* How many threads may each have a rank of the run in memory. */
uint32_t ifp_survey_threads(const struct ifp_run *run);

/* The counters that are drawn of rank i of the run, by its place. */
int ifp_survey_counters(const struct ifp_run *run, uint32_t i, const struct ifp_scene *scene,
	struct ifp_counters *counters);
