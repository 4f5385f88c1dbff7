/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/nodes.h"

#include "collector/store/notes.h"
#include "collector/timeline/crowd_nodes.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* Long is what takes this part of its step, a long gap between siblings that one. */
#define LONG_EVENT_PART 64
#define LONG_GAP_PART 16
/* A gap is told from an event when it is longer than the shortest event shown by this factor. */
#define GAP_FACTOR 4

struct maker {
	const struct ifp_rank_events *events;
	const struct ifp_steps *steps;
	const struct ifp_slices *slices;
	struct ifp_nodes *nodes;
	struct ifp_look_notes notes; /* category and subject, plus 1 */
	int64_t extent_ns;	     /* of all slices */
	uint32_t step; /* how many steps begin at or before the last moment asked for */
};

static void maker_free(struct maker *m)
{
	ifp_look_notes_free(&m->notes);
}

static uint16_t smaller(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

static uint16_t larger(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

/* Moments mostly come in order. */
static void seek_step(struct maker *m, int64_t at_ns)
{
	const struct ifp_step *items = m->steps->items;

	if (m->step && items[m->step - 1].start_ns > at_ns)
		m->step = 0;
	while (m->step < m->steps->count && items[m->step].start_ns <= at_ns)
		m->step++;
}

/* Twice any number, which need not fit: equal numbers have equal keys, that is enough. */
static int64_t key_of(int64_t number, int64_t more)
{
	return (int64_t)(2 * (uint64_t)number + (uint64_t)more);
}

static int64_t key_at(struct maker *m, int64_t at_ns)
{
	const struct ifp_step *items = m->steps->items;

	seek_step(m, at_ns);
	if (!m->step)
		return m->steps->count ? key_of(items[0].number, -1) : 0;
	items += m->step - 1;
	return key_of(items->number, !(items->whole && at_ns < items->end_ns));
}

/* Of the step found last, or of everything where it was none. */
static int64_t step_extent(const struct maker *m)
{
	const struct ifp_step *step = m->step ? &m->steps->items[m->step - 1] : NULL;

	return step && step->whole ? step->end_ns - step->start_ns : m->extent_ns;
}

static int learn_subject(struct maker *m, const struct ifp_event *event, uint32_t *note)
{
	uint32_t category;
	int err = ifp_rank_categories_find(&m->nodes->categories, event->category, &category);
	if (!err && category >= IFP_NODE_STEP)
		err = ifp_fail(-E2BIG, "a rank has more than %u categories", IFP_NODE_STEP - 1);
	if (err)
		return err;
	*note = (category << 8 |
			(uint32_t)ifp_subject_of(event, &m->nodes->categories.items[category])) +
		1;
	return 0;
}

static int find_subject(struct maker *m, const struct ifp_slice *slice, struct ifp_node *node)
{
	uint32_t *note;
	int err = 0;

	if (slice->event == IFP_SLICE_NONE) {
		node->category = IFP_NODE_STEP;
		node->subject = IFP_SUBJECT_STEP;
		return 0;
	}
	note = ifp_look_note_at(&m->notes, slice->look);
	if (!*note)
		err = learn_subject(m, &m->events->events[slice->event].event, note);
	if (err)
		return err;
	node->category = (uint16_t)((*note - 1) >> 8);
	node->subject = (uint8_t)(*note - 1);
	return 0;
}

static int64_t end_of(const struct ifp_slice *slice)
{
	return slice->start_ns + slice->dur_ns;
}

/*
 * Where the runs of folds end: another group of steps, or a gap that would look busy. end_ns: when
 * what is before slice i has ended.
 */
static uint16_t apart_from(struct maker *m, uint32_t prev, uint32_t i, int64_t end_ns)
{
	const struct ifp_node *a = &m->nodes->items[prev], *b = &m->nodes->items[i];
	int64_t gap_ns = m->slices->items[i].start_ns - end_ns;
	uint16_t apart = IFP_LEVEL_NEVER;

	if (a->key != b->key)
		apart = ifp_level_apart(a->key, b->key);
	if (gap_ns <= 0)
		return apart;
	if (gap_ns >= step_extent(m) / LONG_GAP_PART)
		apart = smaller(apart, IFP_LEVEL_LONG);
	return smaller(apart, ifp_level_in_class(smaller(a->level, b->level), gap_ns / GAP_FACTOR));
}

/* last: the last root of each sub-lane so far, and by slice its last child. */
static int take_slice(struct maker *m, uint32_t i, uint32_t *last_root, uint32_t *last_child)
{
	const struct ifp_slice *slice = &m->slices->items[i];
	struct ifp_node *node = &m->nodes->items[i], *parent = NULL;
	uint32_t *last = &last_root[slice->sublane];
	int err = find_subject(m, slice, node);

	if (err)
		return err;
	if (slice->parent != IFP_SLICE_NONE) {
		parent = &m->nodes->items[slice->parent];
		parent->has_children = true;
		node->inside_operator = parent->inside_operator ||
					parent->subject == IFP_SUBJECT_OPERATOR ||
					parent->subject == IFP_SUBJECT_COLLECTIVE;
		last = &last_child[slice->parent];
	}
	node->key = key_at(m, slice->start_ns);
	node->level = ifp_level_of(node->subject, !node->inside_operator, slice->dur_ns);
	if (slice->dur_ns >= step_extent(m) / LONG_EVENT_PART && slice->dur_ns)
		node->level = smaller(node->level, IFP_LEVEL_LONG);
	node->prev = *last;
	node->next = IFP_SLICE_NONE;
	node->apart = IFP_LEVEL_NEVER;
	if (*last != IFP_SLICE_NONE) {
		m->nodes->items[*last].next = i;
		node->apart = apart_from(m, *last, i, end_of(&m->slices->items[*last]));
	}
	*last = i;
	return 0;
}

/* last: the crowded slice of the lane before this one; end_ns: when all of those have ended. */
static int take_crowded(struct maker *m, uint32_t i, uint32_t *last, int64_t *end_ns)
{
	const struct ifp_slice *slice = &m->slices->items[i];
	struct ifp_node *node = &m->nodes->items[i];
	int err = find_subject(m, slice, node);

	if (err)
		return err;
	node->key = key_at(m, slice->start_ns);
	/* Only tells from which level on a gap is seen. */
	node->level = ifp_level_of(node->subject, true, slice->dur_ns);
	node->shown = IFP_LEVEL_NEVER;
	node->prev = *last;
	node->next = IFP_SLICE_NONE;
	node->apart = *last == IFP_SLICE_NONE ? IFP_LEVEL_NEVER : apart_from(m, *last, i, *end_ns);
	if (*last == IFP_SLICE_NONE || end_of(slice) > *end_ns)
		*end_ns = end_of(slice);
	*last = i;
	return 0;
}

static int take_lane(struct maker *m, const struct ifp_lane_row *row, uint32_t *last_child)
{
	uint32_t last_root[IFP_MAX_SUBLANES], last_crowded = IFP_SLICE_NONE;
	int64_t crowded_end_ns = 0;
	int err = 0;

	for (uint32_t k = 0; k < IFP_MAX_SUBLANES; k++)
		last_root[k] = IFP_SLICE_NONE;
	for (uint32_t i = row->first_slice; i < row->first_slice + row->slice_count && !err; i++) {
		if (ifp_slice_is_crowded(&m->slices->items[i]))
			err = take_crowded(m, i, &last_crowded, &crowded_end_ns);
		else
			err = take_slice(m, i, last_root, last_child);
	}
	return err || !row->crowded ? err : ifp_crowd_cover(m->slices, row, m->nodes);
}

/*
 * What is around a slice is shown with it. What spans several groups of steps is shown as soon as
 * the groups are told apart, so that what is inside of it is counted where it belongs.
 */
static void lift_parents(struct maker *m)
{
	struct ifp_node *nodes = m->nodes->items;

	for (uint32_t i = m->slices->count; i-- > 0;) {
		uint32_t parent = m->slices->items[i].parent;

		if (parent == IFP_SLICE_NONE || nodes[i].shown == IFP_LEVEL_NEVER)
			continue;
		nodes[parent].level = smaller(nodes[parent].level, nodes[i].level);
		if (nodes[parent].key != nodes[i].key)
			nodes[parent].level = smaller(nodes[parent].level,
				ifp_level_apart(nodes[parent].key, nodes[i].key));
	}
}

/* From which level on a slice has none to be folded with on one side. */
static uint16_t free_side(const struct ifp_node *nodes, uint32_t neighbour, uint16_t apart)
{
	return neighbour == IFP_SLICE_NONE ? 0 : smaller(nodes[neighbour].level, apart);
}

/* A fold of one event would say less than the event, and take more. */
static void show_the_lonely(struct maker *m)
{
	struct ifp_node *nodes = m->nodes->items;

	for (uint32_t i = 0; i < m->slices->count; i++) {
		struct ifp_node *node = &nodes[i];
		uint32_t parent = m->slices->items[i].parent;
		uint16_t alone = parent == IFP_SLICE_NONE ? 0 : nodes[parent].level;

		if (node->shown == IFP_LEVEL_NEVER)
			continue;
		node->shown = node->level;
		if (node->has_children)
			continue;
		alone = larger(alone, free_side(nodes, node->prev, node->apart));
		if (node->next != IFP_SLICE_NONE)
			alone = larger(
				alone, free_side(nodes, node->next, nodes[node->next].apart));
		node->shown = smaller(node->level, alone);
	}
}

int ifp_nodes_make(const struct ifp_rank_events *events, const struct ifp_steps *steps,
	const struct ifp_slices *slices, const struct ifp_lanes *lanes, int64_t extent_ns,
	struct ifp_nodes *nodes)
{
	IFP_CLEANUP(ifp_nodes_free) struct ifp_nodes making = {0};
	IFP_CLEANUP_FREE uint32_t *last_child = calloc(slices->count + 1u, sizeof(*last_child));
	IFP_CLEANUP(maker_free)
	struct maker m = {.events = events,
		.steps = steps,
		.slices = slices,
		.nodes = &making,
		.extent_ns = extent_ns};
	int err = ifp_look_notes_begin(events->look_count, &m.notes);

	if (err)
		return err;
	making.items = calloc(slices->count + 1u, sizeof(*making.items));
	if (!making.items || !last_child)
		return ifp_fail(-ENOMEM, "out of memory for %u slices", slices->count);
	memset(last_child, 0xff, (slices->count + 1u) * sizeof(*last_child));
	for (uint32_t i = 0; i < lanes->count && !err; i++)
		err = take_lane(&m, &lanes->rows[i], last_child);
	if (err)
		return err;
	lift_parents(&m);
	show_the_lonely(&m);
	*nodes = making;
	making = (struct ifp_nodes){0};
	return 0;
}

void ifp_nodes_free(struct ifp_nodes *nodes)
{
	free(nodes->items);
	ifp_rank_categories_free(&nodes->categories);
	*nodes = (struct ifp_nodes){0};
}

void ifp_nodes_fold_levels(const struct ifp_nodes *nodes, const struct ifp_slices *slices,
	uint32_t i, uint16_t *first, uint16_t *end)
{
	const struct ifp_node *node = &nodes->items[i];
	uint32_t parent = slices->items[i].parent;

	*end = node->shown;
	if (ifp_slice_is_crowded(&slices->items[i])) {
		*first = node->prev == IFP_SLICE_NONE ? 0 : node->apart;
		return;
	}
	*first = free_side(nodes->items, node->prev, node->apart);
	if (parent != IFP_SLICE_NONE)
		*first = larger(*first, nodes->items[parent].level);
}
