/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of a scene are to a sink: as they are measured, and as they are drawn. Texts lie
 * in the scene or in texts, until the next element is made.
 */
#pragma once

#include "collector/timeline/counters.h"
#include "collector/timeline/scene.h"
#include "collector/timeline/sink.h"
#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_element_texts {
	struct ifp_buf name, args, whole;
	bool failed; /* some text did not find memory, and was cut */
};

struct ifp_sink_rank ifp_element_rank(
	const struct ifp_run_rank *rank, uint32_t order, struct ifp_element_texts *texts);

/* Its number is that of the row and the sub-lane. brief: with a short title. */
struct ifp_sink_lane ifp_element_lane(const struct ifp_lane_row *row, uint32_t sublane, bool brief,
	struct ifp_element_texts *texts);

/* A slice that has a sub-lane. brief: with short texts. */
struct ifp_sink_slice ifp_element_slice(
	const struct ifp_scene *scene, uint32_t i, bool brief, struct ifp_element_texts *texts);

/* The same of an event, without what takes time to make: args, and the step that it is in. */
struct ifp_sink_slice ifp_element_outline(const struct ifp_scene *scene, uint32_t i);

/* The end of step i, of which only that is known. */
struct ifp_sink_moment ifp_element_step_end(
	const struct ifp_scene *scene, uint32_t i, struct ifp_element_texts *texts);

/* An instant or a counter: event is its place among those loaded. */
struct ifp_sink_moment ifp_element_moment(
	const struct ifp_scene *scene, uint64_t event, bool brief, struct ifp_element_texts *texts);
uint16_t ifp_element_moment_level(const struct ifp_scene *scene, uint64_t event);

/* Point i of a counter that was computed. */
struct ifp_sink_moment ifp_element_value(const struct ifp_counter *counter, uint32_t i,
	uint32_t lane, struct ifp_element_texts *texts);

/* scene->flows.items[i]. */
struct ifp_sink_flow ifp_element_flow(
	const struct ifp_scene *scene, uint32_t i, uint32_t rank_order);
uint16_t ifp_element_flow_level(const struct ifp_scene *scene, uint32_t i);

void ifp_element_texts_free(struct ifp_element_texts *texts);
