/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/pen.h"

#include "core/error.h"

#include <errno.h>

int ifp_pen_status(const struct ifp_pen *pen)
{
	return pen->texts.failed ? ifp_fail(-ENOMEM, "out of memory for the texts of a timeline")
				 : 0;
}

void ifp_pen_free(struct ifp_pen *pen)
{
	ifp_element_texts_free(&pen->texts);
}

void ifp_pen_rank(struct ifp_pen *pen, const struct ifp_run_rank *rank, uint32_t order)
{
	struct ifp_sink_rank element = ifp_element_rank(rank, order, &pen->texts);

	pen->rank_order = order;
	pen->sink->ops->rank(pen->sink, &element);
}

void ifp_pen_number_lanes(struct ifp_pen *pen, struct ifp_scene *scene)
{
	for (uint32_t i = 0; i < scene->order_count; i++) {
		struct ifp_lane_row *row = &scene->view.lanes.rows[scene->order[i]];

		row->first_tid = pen->last_lane + 1;
		pen->last_lane += ifp_lane_row_places(row);
	}
}

void ifp_pen_lane(struct ifp_pen *pen, const struct ifp_lane_row *row, uint32_t sublane)
{
	struct ifp_sink_lane element = ifp_element_lane(row, sublane, pen->brief, &pen->texts);

	pen->sink->ops->lane(pen->sink, &element);
}

void ifp_pen_slice(struct ifp_pen *pen, const struct ifp_scene *scene, uint32_t i)
{
	struct ifp_sink_slice element = ifp_element_slice(scene, i, pen->brief, &pen->texts);

	pen->sink->ops->slice(pen->sink, &element);
}

void ifp_pen_step_end(struct ifp_pen *pen, const struct ifp_scene *scene, uint32_t i)
{
	struct ifp_sink_moment element = ifp_element_step_end(scene, i, &pen->texts);

	pen->sink->ops->moment(pen->sink, &element);
}

void ifp_pen_moment(struct ifp_pen *pen, const struct ifp_scene *scene, uint64_t event)
{
	struct ifp_sink_moment element = ifp_element_moment(scene, event, pen->brief, &pen->texts);

	pen->sink->ops->moment(pen->sink, &element);
}

void ifp_pen_counter(struct ifp_pen *pen, const struct ifp_counter *counter, uint32_t lane)
{
	for (uint32_t i = 0; i < counter->samples.count; i++) {
		struct ifp_sink_moment element = ifp_element_value(counter, i, lane, &pen->texts);

		pen->sink->ops->moment(pen->sink, &element);
	}
}

void ifp_pen_flow(struct ifp_pen *pen, const struct ifp_scene *scene, uint32_t i)
{
	struct ifp_sink_flow element = ifp_element_flow(scene, i, pen->rank_order);

	pen->sink->ops->flow(pen->sink, &element);
}
