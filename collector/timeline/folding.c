/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/folding.h"

#include "core/array.h"

#include <stdlib.h>

static const struct ifp_slice *slice_at(const struct ifp_folding *f, uint32_t i)
{
	return &f->scene->slices.items[i];
}

static const struct ifp_node *node_at(const struct ifp_folding *f, uint32_t i)
{
	return &f->scene->nodes.items[i];
}

static void extend(struct ifp_folding *f, int64_t start_ns, int64_t end_ns)
{
	if (start_ns < f->start_ns)
		f->start_ns = start_ns;
	if (end_ns > f->end_ns)
		f->end_ns = end_ns;
}

/* Leaves what does not go around the next slice. */
static void leave(struct ifp_folding *f, uint32_t parent)
{
	while (f->depth && f->open[f->depth - 1] != parent) {
		const struct ifp_node *node = node_at(f, f->open[--f->depth]);

		if (node->subject != IFP_SUBJECT_STEP)
			ifp_fold_close(&f->fold, node);
	}
}

static struct ifp_str text_of(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

static void end_fold(struct ifp_folding *f)
{
	struct ifp_sink *sink = f->pen->sink;
	const struct ifp_step *step;
	int64_t end_ns;

	if (!f->folding)
		return;
	f->folding = false;
	leave(f, IFP_SLICE_NONE);
	ifp_fold_write(&f->fold);
	for (uint32_t i = 0; i < f->fold.seen_category_count && !f->fold.err; i++) {
		uint32_t category = f->fold.seen_categories[i];

		f->by_category[category] += f->fold.by_category[category].events;
	}
	step = ifp_steps_at(&f->scene->view.steps, f->fold.start_ns);
	end_ns = f->fold.end_ns < f->until_ns ? f->fold.end_ns : f->until_ns;
	extend(f, f->fold.start_ns, f->fold.end_ns);
	sink->ops->slice(sink, &(struct ifp_sink_slice){
				       .kind = IFP_SINK_FOLD,
				       .lane = f->lane,
				       .start_ns = f->fold.start_ns,
				       .dur_ns = end_ns - f->fold.start_ns,
				       .name = text_of(&f->fold.name),
				       .category = ifp_str("fold"),
				       .args = text_of(&f->fold.args),
				       .step = step ? step->number : -1,
			       });
}

static void begin_fold(struct ifp_folding *f)
{
	ifp_fold_begin(&f->fold, &f->scene->nodes.categories);
	f->folding = true;
}

static bool is_shown(const struct ifp_folding *f, uint32_t i)
{
	return node_at(f, i)->shown <= f->level;
}

/* Enters the fold that the slice is in: that around it, the one before it, or a new one. */
static void enter(struct ifp_folding *f, uint32_t i)
{
	uint32_t parent = slice_at(f, i)->parent;
	bool outermost = parent == IFP_SLICE_NONE || is_shown(f, parent);

	leave(f, outermost ? IFP_SLICE_NONE : parent);
	if (!outermost || (f->folding && ifp_node_continues(&f->scene->nodes, i, f->level)))
		return;
	end_fold(f);
	begin_fold(f);
}

/* The number of the slice's name in the fold. */
static int find_name(struct ifp_folding *f, const struct ifp_slice *slice, uint32_t *out)
{
	uint32_t *name = ifp_look_note_at(&f->names, slice->look);
	int err = 0;

	if (!*name) {
		err = ifp_fold_name(
			&f->fold, f->scene->view.loaded.events[slice->event].event.name, name);
		++*name;
	}
	*out = *name - 1;
	return err;
}

static int take_folded(struct ifp_folding *f, uint32_t i)
{
	const struct ifp_slice *slice = slice_at(f, i);
	uint32_t name;
	int err = IFP_ARRAY_RESERVE(f->open, f->open_capacity, f->depth, 1, "open slices");

	if (err)
		return err;
	enter(f, i);
	f->open[f->depth++] = i;
	if (slice->event == IFP_SLICE_NONE) {
		ifp_fold_step(&f->fold, slice, &f->scene->view.steps.items[slice->step]);
		return 0;
	}
	err = find_name(f, slice, &name);
	if (!err)
		ifp_fold_open(&f->fold, node_at(f, i), slice, name);
	return err ? err : f->fold.err;
}

static void note_kind(struct ifp_folding *f, uint32_t i)
{
	const struct ifp_node *node = node_at(f, i);

	f->kinds |= ifp_level_kind_of((enum ifp_subject)node->subject, !node->inside_operator);
}

static int take(struct ifp_folding *f, uint32_t i)
{
	const struct ifp_slice *slice = slice_at(f, i);
	bool event = slice->event != IFP_SLICE_NONE;

	note_kind(f, i);
	f->recorded += event;
	if (!is_shown(f, i))
		return take_folded(f, i);
	end_fold(f);
	f->shown += event;
	extend(f, slice->start_ns, slice->start_ns + slice->dur_ns);
	ifp_pen_slice(f->pen, f->scene, i);
	return 0;
}

static int draw_sublane(struct ifp_folding *f, const struct ifp_lane_row *row, uint32_t sublane)
{
	int err = 0;

	f->lane = row->first_tid + sublane;
	for (uint32_t i = row->first_slice; i < row->first_slice + row->slice_count && !err; i++)
		if (slice_at(f, i)->sublane == sublane)
			err = take(f, i);
	if (!err)
		end_fold(f);
	return err;
}

/* They overlap, folds of them must not: each ends where the next one begins. */
static int take_crowded(struct ifp_folding *f, uint32_t i)
{
	const struct ifp_slice *slice = slice_at(f, i);
	uint32_t name;
	int err;

	if (!f->folding || !ifp_node_continues(&f->scene->nodes, i, f->level)) {
		f->until_ns = slice->start_ns;
		end_fold(f);
		f->until_ns = INT64_MAX;
		begin_fold(f);
	}
	if (slice->event == IFP_SLICE_NONE) {
		ifp_fold_step(&f->fold, slice, &f->scene->view.steps.items[slice->step]);
		return 0;
	}
	f->recorded++;
	f->crowded++;
	err = find_name(f, slice, &name);
	if (!err)
		ifp_fold_crowded(&f->fold, node_at(f, i), slice, name);
	return err ? err : f->fold.err;
}

static int draw_crowd(struct ifp_folding *f, const struct ifp_lane_row *row)
{
	int err = 0;

	f->lane = row->first_tid + row->sublanes;
	for (uint32_t i = row->first_slice; i < row->first_slice + row->slice_count && !err; i++)
		if (ifp_slice_is_crowded(slice_at(f, i)))
			err = take_crowded(f, i);
	if (!err)
		end_fold(f);
	return err;
}

int ifp_folding_draw(struct ifp_folding *f)
{
	const struct ifp_lane_row *rows = f->scene->view.lanes.rows;
	int err = ifp_look_notes_begin(f->scene->view.loaded.look_count, &f->names);

	f->until_ns = INT64_MAX;
	for (uint32_t i = 0; i < f->scene->order_count && !err; i++) {
		const struct ifp_lane_row *row = &rows[f->scene->order[i]];

		for (uint32_t k = 0; k < row->sublanes && !err; k++)
			err = draw_sublane(f, row, k);
		if (row->crowded && f->crowds && !err)
			err = draw_crowd(f, row);
	}
	if (!err)
		err = ifp_buf_status(&f->fold.name);
	return err ? err : ifp_buf_status(&f->fold.args);
}

void ifp_folding_free(struct ifp_folding *f)
{
	ifp_fold_free(&f->fold);
	ifp_look_notes_free(&f->names);
	free(f->open);
	*f = (struct ifp_folding){0};
}
