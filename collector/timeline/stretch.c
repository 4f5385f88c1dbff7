/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/stretch.h"

#include "collector/timeline/rank_view.h"
#include "core/array.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static bool wanted(const struct ifp_ranges *ranks, const struct ifp_run_rank *rank)
{
	return !ranks || ifp_ranges_hold(ranks, rank->rank);
}

/* A printed list of ranges, with its end; empty when there is no memory. */
static const char *print(const struct ifp_ranges *ranges, struct ifp_buf *text)
{
	ifp_ranges_print(ranges, text);
	ifp_buf_append_u8(text, 0);
	return text->failed ? "" : (const char *)text->data;
}

int ifp_stretch_check_ranks(const struct ifp_run *run, const struct ifp_ranges *ranks)
{
	IFP_CLEANUP_RANGES struct ifp_ranges there = {0};
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	int64_t missing;
	int err = 0;

	for (uint32_t i = 0; i < ifp_run_rank_count(run) && !err; i++)
		err = ifp_ranges_add(&there, ifp_run_rank(run, i)->rank);
	if (err || !ranks || !ifp_ranges_lack(&there, ranks, &missing))
		return err;
	if (!there.count)
		return ifp_fail(-ENOENT, "the archive holds no rank");
	return ifp_fail(-ENOENT, "the archive holds no rank %" PRId64 ": it has %s %s", missing,
		there.count == 1 && there.items[0].first == there.items[0].last ? "rank" : "ranks",
		print(&there, &text));
}

/* The numbers of all whole steps that were seen, and what the wanted ones span. */
struct step_search {
	const struct ifp_range *steps;
	int64_t *numbers;
	size_t count, capacity;
	struct ifp_stretch stretch;
};

static int look_at_step(struct step_search *search, const struct ifp_step *step)
{
	int err;

	if (!step->whole)
		return 0;
	err = IFP_ARRAY_RESERVE(search->numbers, search->capacity, search->count, 1, "steps");
	if (err)
		return err;
	search->numbers[search->count++] = step->number;
	if (step->number < search->steps->first || step->number > search->steps->last)
		return 0;
	if (step->start_ns < search->stretch.from_ns)
		search->stretch.from_ns = step->start_ns;
	if (step->end_ns > search->stretch.to_ns)
		search->stretch.to_ns = step->end_ns;
	return 0;
}

static int look_at_rank(struct ifp_run *run, uint32_t i, struct step_search *search)
{
	IFP_CLEANUP_RANK_VIEW struct ifp_rank_view view = {0};
	int err = ifp_rank_view_load(run, i, &view);

	for (uint32_t k = 0; k < view.steps.count && !err; k++)
		err = look_at_step(search, &view.steps.items[k]);
	return err;
}

static int compare_numbers(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int collect_numbers(struct step_search *search, struct ifp_ranges *there)
{
	int err = 0;

	if (search->count)
		qsort(search->numbers, search->count, sizeof(*search->numbers), compare_numbers);
	for (size_t i = 0; i < search->count && !err; i++)
		if (search->numbers[i] >= 0)
			err = ifp_ranges_add(there, search->numbers[i]);
	return err;
}

/* Whether the first and the last of the wanted steps are there. */
static int check_steps(struct step_search *search)
{
	IFP_CLEANUP_RANGES struct ifp_ranges there = {0};
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	int64_t missing = search->steps->first;
	int err = collect_numbers(search, &there);

	if (err)
		return err;
	if (!there.count)
		return ifp_fail(-ENOENT, "no whole step was recorded");
	if (ifp_ranges_hold(&there, missing)) {
		missing = search->steps->last;
		if (ifp_ranges_hold(&there, missing))
			return 0;
	}
	return ifp_fail(-ENOENT, "there is no step %" PRId64 ": whole steps are %s", missing,
		print(&there, &text));
}

int ifp_stretch_of_steps(struct ifp_run *run, const struct ifp_ranges *ranks,
	const struct ifp_range *steps, struct ifp_stretch *out)
{
	struct step_search search = {.steps = steps, .stretch = {INT64_MAX, INT64_MIN}};
	int err = 0;

	for (uint32_t i = 0; i < ifp_run_rank_count(run) && !err; i++)
		if (wanted(ranks, ifp_run_rank(run, i)))
			err = look_at_rank(run, i, &search);
	if (!err)
		err = check_steps(&search);
	free(search.numbers);
	if (!err)
		*out = search.stretch;
	return err;
}
