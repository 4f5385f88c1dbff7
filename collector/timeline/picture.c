/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/picture.h"

#include "collector/timeline/pen.h"
#include "core/buf.h"
#include "core/cleanup.h"

struct drawing {
	struct ifp_run *run;
	struct ifp_pen pen;
	struct ifp_scene scene; /* of the rank that is being drawn */
};

static void draw_lanes(struct drawing *drawing)
{
	struct ifp_scene *scene = &drawing->scene;

	ifp_pen_number_lanes(&drawing->pen, scene);
	for (uint32_t i = 0; i < scene->order_count; i++) {
		const struct ifp_lane_row *row = &scene->view.lanes.rows[scene->order[i]];

		for (uint32_t k = 0; k < row->sublanes; k++)
			ifp_pen_lane(&drawing->pen, row, k);
	}
}

static void draw_slices(struct drawing *drawing)
{
	const struct ifp_scene *scene = &drawing->scene;

	for (uint32_t i = 0; i < scene->order_count; i++) {
		const struct ifp_lane_row *row = &scene->view.lanes.rows[scene->order[i]];
		const struct ifp_slice *slices = scene->slices.items + row->first_slice;

		for (uint32_t k = 0; k < row->sublanes; k++)
			for (uint32_t j = 0; j < row->slice_count; j++)
				if (slices[j].sublane == k)
					ifp_pen_slice(&drawing->pen, scene, &slices[j]);
	}
}

static void draw_moments(struct drawing *drawing)
{
	const struct ifp_scene *scene = &drawing->scene;
	const struct ifp_steps *steps = &scene->view.steps;

	for (uint32_t i = 0; i < steps->count; i++)
		if (!steps->items[i].whole)
			ifp_pen_step_end(&drawing->pen, scene, &steps->items[i]);
	for (uint32_t i = 0; i < scene->moment_count; i++)
		ifp_pen_moment(&drawing->pen, scene, scene->moments[i]);
}

static int left_out(struct drawing *drawing, const char *label, uint64_t count, const char *why)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	int err;

	if (!count)
		return 0;
	ifp_buf_printf(&text, "%s: %s", label, why);
	ifp_buf_append_u8(&text, 0);
	err = ifp_buf_status(&text);
	if (err)
		return err;
	return ifp_run_ledger_add(
		drawing->run, &(struct ifp_ledger_row){
				      .rank = ifp_run_rank(drawing->run, drawing->pen.rank_order)->rank,
				      .what = "timeline-left-out",
				      .count = (int64_t)count,
				      .why = (const char *)text.data,
			      });
}

static int account(struct drawing *drawing)
{
	const struct ifp_scene *scene = &drawing->scene;
	const struct ifp_sink *sink = drawing->pen.sink;
	int err = left_out(
		drawing, sink->label, scene->crowded, "more than 64 slices overlap on one lane");

	if (!err)
		err = left_out(drawing, sink->label_of_all, scene->view.misplaced,
			scene->view.rank->imported
				? "the time cannot be of this job"
				: "the time is more than a year away from the run's");
	if (!err)
		err = left_out(drawing, sink->label, scene->flows.halves,
			"halves of arrows whose other half was not recorded");
	if (!err)
		err = left_out(drawing, sink->label, scene->unpictured,
			"halves of slices whose other half was not recorded, and events of kinds "
			"that have no picture");
	return err;
}

static int draw_rank(struct drawing *drawing, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(drawing->run, i);
	int err;

	ifp_pen_rank(&drawing->pen, rank, i);
	if (!rank->map)
		return left_out(drawing, drawing->pen.sink->label, rank->event_count,
			"nothing is known of this rank's clock");
	err = ifp_scene_load(drawing->run, i, &drawing->scene);
	if (err)
		return err;
	draw_lanes(drawing);
	draw_slices(drawing);
	draw_moments(drawing);
	for (uint32_t k = 0; k < drawing->scene.flows.count; k++)
		ifp_pen_flow(&drawing->pen, &drawing->scene, k);
	err = account(drawing);
	ifp_scene_free(&drawing->scene);
	/* A name that did not find memory would be cut. */
	return err ? err : ifp_buf_status(&drawing->pen.text);
}

int ifp_picture_draw(struct ifp_run *run, struct ifp_sink *sink)
{
	struct drawing drawing = {.run = run, .pen = {.sink = sink}};
	int err = 0;

	for (uint32_t i = 0; i < ifp_run_rank_count(run) && !err; i++)
		err = draw_rank(&drawing, i);
	ifp_pen_free(&drawing.pen);
	return err;
}
