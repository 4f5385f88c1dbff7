/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/picture.h"

#include "collector/timeline/account.h"
#include "collector/timeline/folding.h"
#include "collector/timeline/links.h"
#include "collector/timeline/measure.h"
#include "collector/timeline/pen.h"
#include "collector/timeline/relay.h"
#include "collector/timeline/survey.h"
#include "core/error.h"
#include "trace/chrome/escape.h"

#include <errno.h>
#include <stdlib.h>

struct drawing {
	struct ifp_run *run;
	struct ifp_pen pen;
	struct ifp_scene *scene; /* of the rank that is being drawn */
	struct ifp_scene **kept; /* those that were read to be measured, by rank */
	struct ifp_account account;
	struct ifp_links links;	  /* between ranks */
	int64_t start_ns, end_ns; /* of everything drawn */
};

static bool has_budget(const struct ifp_sink *sink)
{
	return sink->budget.bytes || sink->budget.events;
}

static int draw_lanes(struct drawing *drawing)
{
	struct ifp_scene *scene = drawing->scene;

	ifp_pen_number_lanes(&drawing->pen, scene);
	if (drawing->pen.last_lane > IFP_MEASURE_MAX_LANE)
		return ifp_fail(
			-E2BIG, "there are more than %u lanes to draw", IFP_MEASURE_MAX_LANE);
	for (uint32_t i = 0; i < scene->order_count; i++) {
		const struct ifp_lane_row *row = &scene->view.lanes.rows[scene->order[i]];

		for (uint32_t k = 0; k < row->sublanes; k++)
			ifp_pen_lane(&drawing->pen, row, k);
		if (row->crowded && !drawing->pen.sink->no_folds)
			ifp_pen_lane(&drawing->pen, row, row->sublanes);
	}
	return 0;
}

/* Steps of which only the end is known. */
static void draw_step_ends(struct drawing *drawing)
{
	const struct ifp_steps *steps = &drawing->scene->view.steps;

	for (uint32_t i = 0; i < steps->count; i++)
		if (!steps->items[i].whole)
			ifp_pen_step_end(&drawing->pen, drawing->scene, i);
}

static int draw_moments(struct drawing *drawing, struct ifp_rank_account *account)
{
	const struct ifp_scene *scene = drawing->scene;
	uint16_t level = drawing->account.level;
	int err = 0;

	if (level >= IFP_LEVEL_STEPS)
		draw_step_ends(drawing);
	account->recorded += scene->moment_count;
	for (uint32_t i = 0; i < scene->moment_count && !err; i++) {
		uint32_t event = scene->moments[i];

		if (ifp_element_moment_level(scene, event) <= level) {
			account->shown++;
			ifp_pen_moment(&drawing->pen, scene, event);
		} else {
			drawing->account.kinds |= IFP_KIND_MOMENT;
			err = ifp_account_folded(&drawing->account,
				scene->view.loaded.events[event].event.category, 1);
		}
	}
	return err;
}

static void draw_flows(struct drawing *drawing, struct ifp_rank_account *account)
{
	const struct ifp_scene *scene = drawing->scene;

	for (uint32_t i = 0; i < scene->flows.count; i++) {
		if (ifp_element_flow_level(scene, i) <= drawing->account.level)
			ifp_pen_flow(&drawing->pen, scene, i);
		else
			account->arrows++;
	}
}

/* Viewers show them above the lanes of their rank. */
static int draw_counters(struct drawing *drawing)
{
	const struct ifp_scene *scene = drawing->scene;
	IFP_CLEANUP_COUNTERS struct ifp_counters counters = {0};
	int err;

	if (drawing->account.level < IFP_LEVEL_COUNTERS)
		return 0;
	err = ifp_survey_counters(drawing->run, drawing->pen.rank_order, scene, &counters);
	for (uint32_t i = 0; i < counters.count && !err; i++)
		ifp_pen_counter(&drawing->pen, &counters.items[i],
			scene->view.lanes.rows[scene->steps_row].first_tid);
	return err;
}

static int account_folding(struct drawing *drawing, const struct ifp_folding *folding,
	struct ifp_rank_account *account)
{
	const struct ifp_rank_categories *categories = &drawing->scene->nodes.categories;
	int err = 0;

	account->shown += folding->shown;
	account->recorded += folding->recorded;
	account->crowded += folding->crowded;
	drawing->account.kinds |= folding->kinds;
	for (uint32_t i = 0; i < categories->count && !err; i++)
		err = ifp_account_folded(
			&drawing->account, categories->items[i].text, folding->by_category[i]);
	drawing->start_ns = folding->start_ns;
	drawing->end_ns = folding->end_ns;
	return err;
}

static int draw_slices(struct drawing *drawing, struct ifp_rank_account *account)
{
	IFP_CLEANUP_FREE uint64_t *by_category =
		calloc(drawing->scene->nodes.categories.count + 1u, sizeof(*by_category));
	IFP_CLEANUP(ifp_folding_free)
	struct ifp_folding folding = {
		.scene = drawing->scene,
		.pen = &drawing->pen,
		.level = drawing->account.level,
		.crowds = !drawing->pen.sink->no_folds,
		.by_category = by_category,
		.start_ns = drawing->start_ns,
		.end_ns = drawing->end_ns,
	};
	int err;

	if (!by_category)
		return ifp_fail(-ENOMEM, "out of memory for the categories of a rank");
	err = ifp_folding_draw(&folding);
	return err ? err : account_folding(drawing, &folding, account);
}

static int draw_scene(struct drawing *drawing)
{
	struct ifp_rank_account account = {0};
	int err = draw_lanes(drawing);

	if (!err)
		err = ifp_links_take(&drawing->links, drawing->pen.rank_order, drawing->scene);
	if (!err)
		err = draw_slices(drawing, &account);
	if (!err)
		err = draw_moments(drawing, &account);
	if (!err)
		err = draw_counters(drawing);
	if (err)
		return err;
	draw_flows(drawing, &account);
	err = ifp_account_scene(&drawing->account, drawing->scene);
	if (err)
		return err;
	return ifp_account_rank(&drawing->account, drawing->scene->view.rank, &account);
}

static void drop_scene(void *scene)
{
	ifp_scene_free(scene);
	free(scene);
}

/* By any thread. A rank without a map has none. */
static int read_scene(void *context, uint32_t i, void **out)
{
	const struct drawing *drawing = context;
	struct ifp_scene *scene;
	int err;

	if (!ifp_run_rank(drawing->run, i)->map)
		return 0;
	if (drawing->kept[i]) {
		*out = IFP_TAKE_PTR(drawing->kept[i]);
		return 0;
	}
	scene = calloc(1, sizeof(*scene));
	if (!scene)
		return ifp_fail(-ENOMEM, "draw a timeline: out of memory");
	err = ifp_scene_read(drawing->run, i, drawing->pen.sink->lean, scene);
	if (err)
		free(scene);
	else
		*out = scene;
	return err;
}

static int draw_rank(void *context, uint32_t i, void *result)
{
	struct drawing *drawing = context;
	const struct ifp_run_rank *rank = ifp_run_rank(drawing->run, i);
	int err;

	ifp_pen_rank(&drawing->pen, rank, i);
	if (!result)
		return ifp_account_left_out(&drawing->account, rank, drawing->pen.sink->label,
			rank->event_count, "nothing is known of this rank's clock");
	drawing->scene = result;
	err = ifp_run_report_damage(drawing->run, i);
	if (!err)
		err = draw_scene(drawing);
	drop_scene(result);
	return err;
}

static int draw_ranks(struct drawing *drawing)
{
	return ifp_relay_run(&(struct ifp_relay){
		.count = ifp_run_rank_count(drawing->run),
		.threads = ifp_survey_threads(drawing->run),
		.context = drawing,
		.work = read_scene,
		.take = draw_rank,
		.drop = drop_scene,
	});
}

static void draw_link(void *context, const struct ifp_sink_flow *flow, uint16_t level)
{
	struct drawing *drawing = context;

	if (level <= drawing->account.level)
		drawing->pen.sink->ops->flow(drawing->pen.sink, flow);
	else
		drawing->account.arrows++;
}

/* What lies between the ranks, once they have been drawn. */
static int draw_links(struct drawing *drawing)
{
	IFP_CLEANUP_COUNTERS struct ifp_counters counters = {0};
	struct ifp_sink *sink = drawing->pen.sink;
	int err = ifp_links_each(&drawing->links, &drawing->pen.texts, draw_link, drawing);

	if (err || !sink->ops->whole_run || drawing->account.level < IFP_LEVEL_COUNTERS)
		return err;
	err = ifp_links_skew(&drawing->links, &counters);
	if (err || !counters.count)
		return err;
	sink->ops->whole_run(sink);
	ifp_pen_counter(&drawing->pen, &counters.items[0], drawing->pen.last_lane + 1);
	return 0;
}

static void draw_note(
	struct drawing *drawing, enum ifp_sink_note_kind kind, const struct ifp_buf *text)
{
	struct ifp_sink *sink = drawing->pen.sink;

	sink->ops->note(sink, &(struct ifp_sink_note){
				      .kind = kind,
				      .text = {(const char *)text->data, (uint32_t)text->len_bytes},
				      .start_ns = drawing->start_ns,
				      .end_ns = drawing->end_ns,
			      });
}

static int draw_notes(struct drawing *drawing)
{
	IFP_CLEANUP_BUF struct ifp_buf shown = {0};
	IFP_CLEANUP_BUF struct ifp_buf clocks = {0};
	struct ifp_sink *sink = drawing->pen.sink;
	int err = ifp_account_end(&drawing->account, &sink->shown);

	if (err || !sink->ops->note || drawing->start_ns > drawing->end_ns)
		return err;
	ifp_account_clocks(drawing->run, &clocks);
	ifp_json_escape(&shown, ifp_str(sink->shown.text));
	err = ifp_buf_status(&clocks);
	if (!err)
		err = ifp_buf_status(&shown);
	if (err)
		return err;
	if (clocks.len_bytes)
		draw_note(drawing, IFP_SINK_NOTE_CLOCKS, &clocks);
	if (shown.len_bytes)
		draw_note(drawing, IFP_SINK_NOTE_SHOWN, &shown);
	return 0;
}

static int draw(struct drawing *drawing)
{
	int err = 0;

	drawing->account.level = IFP_LEVEL_FULL;
	if (has_budget(drawing->pen.sink))
		err = ifp_survey(drawing->run, drawing->pen.sink, &drawing->links, drawing->kept,
			&drawing->account.level);
	drawing->pen.brief = drawing->account.level != IFP_LEVEL_FULL;
	if (!err)
		err = draw_ranks(drawing);
	if (!err)
		err = draw_links(drawing);
	if (!err)
		err = draw_notes(drawing);
	return err ? err : ifp_pen_status(&drawing->pen);
}

static void drawing_free(struct drawing *drawing)
{
	for (uint32_t i = 0; drawing->kept && i < ifp_run_rank_count(drawing->run); i++)
		if (drawing->kept[i])
			drop_scene(drawing->kept[i]);
	free(drawing->kept);
	ifp_links_free(&drawing->links);
	ifp_pen_free(&drawing->pen);
	ifp_account_free(&drawing->account);
}

int ifp_picture_draw(struct ifp_run *run, struct ifp_sink *sink)
{
	IFP_CLEANUP(drawing_free)
	struct drawing drawing = {
		.run = run,
		.pen = {.sink = sink},
		.account = {.run = run, .sink = sink},
		.start_ns = INT64_MAX,
		.end_ns = INT64_MIN,
	};
	int err = ifp_links_begin(ifp_run_rank_count(run), &drawing.links);

	drawing.kept = calloc(ifp_run_rank_count(run) + 1u, sizeof(*drawing.kept));
	if (!drawing.kept)
		err = ifp_fail(-ENOMEM, "draw a timeline: out of memory");
	return err ? err : draw(&drawing);
}
