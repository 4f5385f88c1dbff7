/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/cut.h"

#include "collector/timeline/analysis_element.h"
#include "collector/timeline/categories.h"
#include "collector/timeline/sheet.h"
#include "collector/timeline/window.h"
#include "core/array.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* One step on one rank: how many collectives of each library, and kernels launched in NCCL's. */
struct tally {
	int64_t number;
	uint32_t place; /* in time: of those with one number, the first counts */
	int64_t length_ns;
	uint32_t gloo, nccl, launches;
};

struct rank_tally {
	struct tally *steps; /* by number, then by place */
	uint32_t count;
	bool recorded; /* there are operators */
	uint64_t most_bytes;
};

struct survey {
	struct rank_tally *ranks;
	uint32_t count;
	bool nccl;
};

const char *ifp_cut_collective(const struct ifp_timed_event *timed, bool nccl)
{
	const struct ifp_category *category = ifp_category_find(timed->event.category);
	const char *name;
	bool is_nccl = false;

	if (timed->event.kind != IFP_EVENT_SLICE || timed->event.lane.kind != IFP_LANE_THREAD ||
		!category || category->role != IFP_ROLE_OP)
		return NULL;
	name = ifp_collective_name(timed->event.name, &is_nccl);
	return name && is_nccl == nccl ? name : NULL;
}

bool ifp_cut_is_launch(const struct ifp_event *event)
{
	const struct ifp_category *category = ifp_category_find(event->category);

	return category && category->role == IFP_ROLE_LAUNCH &&
	       event->lane.kind == IFP_LANE_THREAD && event->kind == IFP_EVENT_SLICE;
}

static bool launches_kernel(const struct ifp_event *event)
{
	return ifp_cut_is_launch(event) && ifp_str_contains(event->name, "LaunchKernel");
}

static int compare_tally(const void *left, const void *right)
{
	const struct tally *a = left, *b = right;

	if (a->number != b->number)
		return (a->number > b->number) - (a->number < b->number);
	return (a->place > b->place) - (a->place < b->place);
}

static int tally_rank(const struct ifp_rank_view *view, struct rank_tally *tally, bool *nccl)
{
	const struct ifp_steps *steps = &view->steps;
	/* Until when the collective that began last on each lane lasts. */
	IFP_CLEANUP_FREE int64_t *until = calloc(view->lanes.count + 1u, sizeof(*until));

	tally->steps = calloc(steps->count + 1u, sizeof(*tally->steps));
	if (!tally->steps || !until)
		return ifp_fail(-ENOMEM, "out of memory for %u steps", steps->count);
	tally->count = steps->count;
	for (uint32_t i = 0; i < steps->count; i++) {
		tally->steps[i].number = steps->items[i].number;
		tally->steps[i].place = i;
		tally->steps[i].length_ns = steps->items[i].end_ns - steps->items[i].start_ns;
	}
	for (uint64_t i = 0; i < view->loaded.count; i++) {
		const struct ifp_timed_event *timed = &view->loaded.events[i];
		const struct ifp_step *step = ifp_steps_at(steps, timed->start_ns);
		bool by_nccl = ifp_cut_collective(timed, true) != NULL;
		struct tally *in_step;

		*nccl |= by_nccl;
		if (!step)
			continue;
		in_step = &tally->steps[step - steps->items];
		in_step->nccl += by_nccl;
		in_step->gloo += ifp_cut_collective(timed, false) != NULL;
		if (by_nccl)
			until[view->lane_of[i]] = timed->start_ns + timed->dur_ns;
		in_step->launches +=
			timed->start_ns < until[view->lane_of[i]] && launches_kernel(&timed->event);
	}
	qsort(tally->steps, tally->count, sizeof(*tally->steps), compare_tally);
	return 0;
}

static int survey_rank(struct ifp_run *run, uint32_t i, struct survey *survey)
{
	IFP_CLEANUP_RANK_VIEW struct ifp_rank_view view = {0};
	struct ifp_window_extent extent;
	int err;

	if (!ifp_run_rank(run, i)->map)
		return 0;
	err = ifp_rank_view_load(run, i, &view);
	if (err)
		return err;
	extent = ifp_window_extent(&view);
	survey->ranks[i].recorded = extent.end_ns >= extent.start_ns;
	survey->ranks[i].most_bytes = ifp_analysis_most_bytes(&view);
	err = ifp_window_trim(run, &view);
	return err ? err : tally_rank(&view, &survey->ranks[i], &survey->nccl);
}

static void survey_free(struct survey *survey)
{
	for (uint32_t i = 0; survey->ranks && i < survey->count; i++)
		free(survey->ranks[i].steps);
	free(survey->ranks);
}

/* The first one with this number. */
static const struct tally *find_step(const struct rank_tally *rank, int64_t number)
{
	uint32_t low = IFP_ARRAY_LOWER_BOUND(i, rank->count, rank->steps[i].number < number);

	return low < rank->count && rank->steps[low].number == number ? &rank->steps[low] : NULL;
}

enum verdict { COMMON, MISSING, UNEQUAL };

static bool equal(const struct survey *survey, const struct tally *a, const struct tally *b)
{
	if (!survey->nccl)
		return a->gloo == b->gloo;
	return a->nccl == b->nccl && a->launches == b->launches;
}

/* Whether all ranks that have steps at all have this one, with equal collectives. */
static enum verdict judge(const struct survey *survey, const struct tally *step)
{
	enum verdict verdict = COMMON;

	for (uint32_t i = 0; i < survey->count; i++) {
		const struct tally *other;

		if (!survey->ranks[i].count)
			continue;
		other = find_step(&survey->ranks[i], step->number);
		if (!other)
			return MISSING;
		if (!equal(survey, step, other))
			verdict = UNEQUAL;
	}
	return verdict;
}

static const struct rank_tally *first_with_steps(const struct survey *survey)
{
	for (uint32_t i = 0; i < survey->count; i++)
		if (survey->ranks[i].count)
			return &survey->ranks[i];
	return NULL;
}

static int compare_number(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Over the ranks that have the step. */
static int64_t mean_length_ns(const struct survey *survey, int64_t number)
{
	int64_t sum_ns = 0, count = 0;

	for (uint32_t i = 0; i < survey->count; i++) {
		const struct tally *step = find_step(&survey->ranks[i], number);

		sum_ns += step ? step->length_ns : 0;
		count += step != NULL;
	}
	return count ? sum_ns / count : 0;
}

static int choose_steps(struct ifp_run *run, const struct survey *survey, struct ifp_cut *cut)
{
	const struct rank_tally *first = first_with_steps(survey);
	uint64_t missing = 0, unequal = 0;
	int err;

	cut->nccl = survey->nccl;
	cut->by_steps = first != NULL;
	if (!first)
		return 0;
	cut->numbers = calloc(first->count, sizeof(*cut->numbers));
	cut->length_ns = calloc(first->count, sizeof(*cut->length_ns));
	if (!cut->numbers || !cut->length_ns)
		return ifp_fail(-ENOMEM, "out of memory for %u steps", first->count);
	for (uint32_t i = 0; i < first->count; i++) {
		enum verdict verdict = judge(survey, &first->steps[i]);

		if (verdict == COMMON)
			cut->numbers[cut->count++] = first->steps[i].number;
		missing += verdict == MISSING;
		unequal += verdict == UNEQUAL;
	}
	qsort(cut->numbers, cut->count, sizeof(*cut->numbers), compare_number);
	for (uint32_t i = 0; i < cut->count; i++)
		cut->length_ns[i] = mean_length_ns(survey, cut->numbers[i]);
	err = ifp_sheet_left_out(run, IFP_FRAME_NO_RANK, missing,
		"ranks/: steps that were not recorded on all ranks");
	if (!err)
		err = ifp_sheet_left_out(run, IFP_FRAME_NO_RANK, unequal,
			"ranks/: steps in which the ranks made different numbers of collectives");
	return err;
}

static bool has_file(const struct survey *survey, const struct ifp_cut *cut, uint32_t i)
{
	return survey->ranks[i].recorded &&
	       (!cut->by_steps || (cut->count && survey->ranks[i].count));
}

static int choose_ranks(const struct survey *survey, struct ifp_cut *cut)
{
	cut->ranks = calloc(survey->count + 1u, sizeof(*cut->ranks));
	cut->most_bytes = calloc(survey->count + 1u, sizeof(*cut->most_bytes));
	if (!cut->ranks || !cut->most_bytes)
		return ifp_fail(-ENOMEM, "out of memory for %u ranks", survey->count);
	for (uint32_t i = 0; i < survey->count; i++) {
		if (!has_file(survey, cut, i))
			continue;
		cut->most_bytes[cut->rank_count] = survey->ranks[i].most_bytes;
		cut->ranks[cut->rank_count++] = i;
	}
	return 0;
}

static bool any_recorded(const struct survey *survey)
{
	for (uint32_t i = 0; i < survey->count; i++)
		if (survey->ranks[i].recorded)
			return true;
	return false;
}

/* Ranks that get no file although others do. Programs without PyTorch have nothing to analyse. */
static int account_ranks(struct ifp_run *run, const struct survey *survey, bool by_steps)
{
	int err = 0;

	if (!any_recorded(survey))
		return ifp_sheet_left_out(run, IFP_FRAME_NO_RANK, survey->count,
			"ranks/: no files, no operators of PyTorch were recorded on any rank");
	for (uint32_t i = 0; i < survey->count && !err; i++) {
		const struct ifp_run_rank *rank = ifp_run_rank(run, i);

		if (!survey->ranks[i].recorded)
			err = ifp_sheet_left_out(run, rank->rank, rank->event_count,
				"ranks/: no file, no operators were recorded on this rank");
		else if (by_steps && !survey->ranks[i].count)
			err = ifp_sheet_left_out(run, rank->rank, rank->event_count,
				"ranks/: no file, no whole step was recorded on this rank");
	}
	return err;
}

int ifp_cut_find(struct ifp_run *run, struct ifp_cut *cut)
{
	IFP_CLEANUP(survey_free) struct survey survey = {.count = ifp_run_rank_count(run)};
	IFP_CLEANUP_CUT struct ifp_cut found = {0};
	int err = 0;

	survey.ranks = calloc(survey.count + 1u, sizeof(*survey.ranks));
	if (!survey.ranks)
		return ifp_fail(-ENOMEM, "out of memory for %u ranks", survey.count);
	for (uint32_t i = 0; i < survey.count && !err; i++)
		err = survey_rank(run, i, &survey);
	if (!err)
		err = choose_steps(run, &survey, &found);
	if (!err)
		err = choose_ranks(&survey, &found);
	if (!err)
		err = account_ranks(run, &survey, found.by_steps);
	if (err)
		return err;
	*cut = found;
	found = (struct ifp_cut){0};
	return 0;
}

static const int64_t *find_number(const struct ifp_cut *cut, int64_t number)
{
	return cut->count
		       ? bsearch(&number, cut->numbers, cut->count, sizeof(number), compare_number)
		       : NULL;
}

bool ifp_cut_holds(const struct ifp_cut *cut, int64_t number)
{
	return find_number(cut, number) != NULL;
}

uint32_t ifp_cut_place(const struct ifp_cut *cut, int64_t number)
{
	const int64_t *found = find_number(cut, number);

	return found ? (uint32_t)(found - cut->numbers) : UINT32_MAX;
}

void ifp_cut_reduce(struct ifp_cut *cut, uint32_t first, uint32_t count)
{
	cut->reduced |= count < cut->count;
	memmove(cut->numbers, cut->numbers + first, count * sizeof(*cut->numbers));
	memmove(cut->length_ns, cut->length_ns + first, count * sizeof(*cut->length_ns));
	cut->count = count;
}

void ifp_cut_free(struct ifp_cut *cut)
{
	free(cut->numbers);
	free(cut->length_ns);
	free(cut->ranks);
	free(cut->most_bytes);
	*cut = (struct ifp_cut){0};
}
