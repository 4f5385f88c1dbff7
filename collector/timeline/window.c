/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/window.h"

#include "collector/timeline/categories.h"
#include "core/array.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_operator(const struct ifp_event *event)
{
	const struct ifp_category *category;

	if (event->kind != IFP_EVENT_SLICE || event->source != IFP_SOURCE_KINETO ||
		event->lane.kind != IFP_LANE_THREAD)
		return false;
	category = ifp_category_find(event->category);
	return category && category->role == IFP_ROLE_OP;
}

struct ifp_window_extent ifp_window_extent(const struct ifp_rank_view *view)
{
	struct ifp_window_extent extent = {INT64_MAX, INT64_MIN};

	for (uint64_t i = 0; i < view->loaded.count; i++) {
		const struct ifp_timed_event *timed = &view->loaded.events[i];

		if (!is_operator(&timed->event))
			continue;
		if (timed->start_ns < extent.start_ns)
			extent.start_ns = timed->start_ns;
		if (timed->start_ns + timed->dur_ns > extent.end_ns)
			extent.end_ns = timed->start_ns + timed->dur_ns;
	}
	return extent;
}

struct named {
	int64_t first, last;
};

/* The steps of the i-th window when it is one of this rank and was recorded. */
static bool recorded_window(
	const struct ifp_run *run, uint32_t i, uint32_t rank, struct named *named)
{
	const struct ifp_run_window *window = ifp_run_window(run, i);
	const char *outcome = ifp_document_get_text(window->document, "outcome");

	if (window->rank != rank || !outcome || strcmp(outcome, "recorded") != 0)
		return false;
	named->first = (int64_t)ifp_document_get_count(window->document, "first_step");
	named->last = (int64_t)ifp_document_get_count(window->document, "last_step");
	return named->first > 0;
}

static bool has_windows(const struct ifp_run *run, uint32_t rank)
{
	struct named named;

	for (uint32_t i = 0; i < ifp_run_window_count(run); i++)
		if (recorded_window(run, i, rank, &named))
			return true;
	return false;
}

static bool is_named(const struct ifp_run *run, uint32_t rank, int64_t number)
{
	struct named named;

	for (uint32_t i = 0; i < ifp_run_window_count(run); i++)
		if (recorded_window(run, i, rank, &named) && number >= named.first &&
			number <= named.last)
			return true;
	return false;
}

static bool is_spanned(const struct ifp_step *step, const struct ifp_window_extent *extent)
{
	int64_t start_ns = step->start_ns > extent->start_ns ? step->start_ns : extent->start_ns;
	int64_t end_ns = step->end_ns < extent->end_ns ? step->end_ns : extent->end_ns;
	int64_t length_ns = step->end_ns - step->start_ns;

	return end_ns > start_ns && end_ns - start_ns >= length_ns - length_ns / 10;
}

/* The step whose time holds the moment, also when its start is not known; count = none. */
static uint32_t step_before_mark(const struct ifp_steps *steps, int64_t at_ns)
{
	return IFP_ARRAY_LOWER_BOUND(i, steps->count, steps->items[i].end_ns <= at_ns);
}

/* ends[i]: where step i ends when the ranges around its mark are counted in. */
static void find_ends(const struct ifp_rank_view *view, int64_t *ends)
{
	const struct ifp_steps *steps = &view->steps;

	for (uint32_t i = 0; i < steps->count; i++)
		ends[i] = steps->items[i].end_ns;
	for (uint64_t e = 0; e < view->loaded.count; e++) {
		const struct ifp_timed_event *timed = &view->loaded.events[e];
		int64_t end_ns = timed->start_ns + timed->dur_ns;
		uint32_t i;

		if (!is_operator(&timed->event))
			continue;
		i = step_before_mark(steps, timed->start_ns);
		if (i == steps->count || view->lane_of[e] != steps->items[i].lane ||
			end_ns <= ends[i])
			continue;
		if (i + 1 < steps->count && end_ns >= steps->items[i + 1].end_ns)
			continue; /* not of one step: a range around the whole training */
		ends[i] = end_ns;
	}
}

static void move_ends(struct ifp_steps *steps, const int64_t *ends)
{
	for (uint32_t i = 0; i < steps->count; i++) {
		struct ifp_step *step = &steps->items[i];

		if (step->whole && i &&
			(uint64_t)steps->items[i - 1].number + 1 == (uint64_t)step->number)
			step->start_ns = ends[i - 1];
		step->end_ns = ends[i];
	}
}

int ifp_window_trim(const struct ifp_run *run, struct ifp_rank_view *view)
{
	struct ifp_window_extent extent = ifp_window_extent(view);
	bool named = view->steps.origin == IFP_STEPS_MARKS && has_windows(run, view->rank->rank);
	uint32_t kept = 0;

	if (view->steps.origin == IFP_STEPS_MARKS) {
		IFP_CLEANUP_FREE int64_t *ends = calloc(view->steps.count + 1u, sizeof(*ends));

		if (!ends)
			return ifp_fail(-ENOMEM, "out of memory for %u steps", view->steps.count);
		find_ends(view, ends);
		move_ends(&view->steps, ends);
	}
	for (uint32_t i = 0; i < view->steps.count; i++) {
		const struct ifp_step *step = &view->steps.items[i];

		if (step->whole && (named ? is_named(run, view->rank->rank, step->number)
					  : is_spanned(step, &extent)))
			view->steps.items[kept++] = *step;
	}
	view->steps.count = kept;
	return 0;
}

uint32_t ifp_window_at(const struct ifp_run *run, const struct ifp_rank_view *view, int64_t at_ns)
{
	uint32_t step = step_before_mark(&view->steps, at_ns);
	uint32_t number = 0;
	struct named named;
	int64_t wanted;

	/* Work on the GPU may end after the last step: it is that step's. */
	if (step == view->steps.count || view->steps.items[step].start_ns > at_ns)
		step -= step > 0;
	if (view->steps.origin != IFP_STEPS_MARKS || !view->steps.count)
		return 0;
	wanted = view->steps.items[step].number;
	for (uint32_t i = 0; i < ifp_run_window_count(run); i++) {
		if (!recorded_window(run, i, view->rank->rank, &named))
			continue;
		if (wanted >= named.first && wanted <= named.last)
			return number;
		number++;
	}
	return 0;
}
