/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pen: how the parts of a scene are told to a sink, whatever of them is drawn.
 */
#pragma once

#include "collector/timeline/elements.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_pen {
	struct ifp_sink *sink;
	uint32_t rank_order; /* of the rank that is drawn */
	uint32_t last_lane;  /* that has been given a number */
	bool brief;	     /* with short texts */
	struct ifp_element_texts texts;
};

/* -ENOMEM when a text did not find memory: what was drawn is wrong then. */
int ifp_pen_status(const struct ifp_pen *pen);
void ifp_pen_free(struct ifp_pen *pen);

/* A rank of the run, by its place. */
void ifp_pen_rank(struct ifp_pen *pen, const struct ifp_run_rank *rank, uint32_t order);

/* Numbers the sub-lanes of all rows: before anything is drawn on them. */
void ifp_pen_number_lanes(struct ifp_pen *pen, struct ifp_scene *scene);

void ifp_pen_lane(struct ifp_pen *pen, const struct ifp_lane_row *row, uint32_t sublane);

/* Slice i, which has a sub-lane. */
void ifp_pen_slice(struct ifp_pen *pen, const struct ifp_scene *scene, uint32_t i);

/* The end of step i, whose start is not known. */
void ifp_pen_step_end(struct ifp_pen *pen, const struct ifp_scene *scene, uint32_t i);

/* An instant or a counter of the rank: event is its place among those loaded. */
void ifp_pen_moment(struct ifp_pen *pen, const struct ifp_scene *scene, uint64_t event);

/* The points of a counter that was computed, of whatever the lane belongs to. */
void ifp_pen_counter(struct ifp_pen *pen, const struct ifp_counter *counter, uint32_t lane);

/* Arrow i of the scene. */
void ifp_pen_flow(struct ifp_pen *pen, const struct ifp_scene *scene, uint32_t i);
