/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/ranks_plan.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ifp_ranks_cost_new(uint32_t ranks, uint32_t steps, struct ifp_ranks_cost *out)
{
	size_t rows = (size_t)ranks * IFP_ARGS_DETAILS;
	uint64_t *bytes = calloc(rows + 1, (steps + (size_t)1) * sizeof(*bytes));

	if (!bytes)
		return ifp_fail(-ENOMEM, "out of memory for %u steps of %u ranks", steps, ranks);
	*out = (struct ifp_ranks_cost){ranks, steps, bytes};
	return 0;
}

uint64_t *ifp_ranks_cost_at(const struct ifp_ranks_cost *cost, uint32_t rank,
	enum ifp_args_detail detail, uint32_t step)
{
	size_t row = (size_t)rank * IFP_ARGS_DETAILS + detail;

	return &cost->bytes[row * (cost->steps + (size_t)1) + step];
}

void ifp_ranks_cost_free(struct ifp_ranks_cost *cost)
{
	free(cost->bytes);
	*cost = (struct ifp_ranks_cost){0};
}

static uint64_t total(const struct ifp_ranks_cost *cost, const struct ifp_ranks_plan *plan)
{
	uint64_t bytes = 0;

	for (uint32_t r = 0; r < plan->ranks; r++) {
		const uint64_t *of_step = ifp_ranks_cost_at(cost, r, plan->detail, 0);

		bytes += of_step[cost->steps];
		for (uint32_t s = 0; s < plan->steps; s++)
			bytes += of_step[plan->first_step + s];
	}
	return bytes;
}

static bool fits(
	const struct ifp_ranks_cost *cost, uint64_t budget_bytes, struct ifp_ranks_plan *plan)
{
	plan->bytes = total(cost, plan);
	return plan->bytes <= budget_bytes;
}

static bool fits_with_less_detail(
	const struct ifp_ranks_cost *cost, uint64_t budget_bytes, struct ifp_ranks_plan *plan)
{
	for (int detail = IFP_ARGS_NO_STACKS; detail < IFP_ARGS_DETAILS; detail++) {
		plan->detail = (enum ifp_args_detail)detail;
		if (fits(cost, budget_bytes, plan))
			return true;
	}
	return false;
}

/* 1 when it fits, 0 when it does not with one step either. */
static int fit_steps(const struct ifp_ranks_cost *cost, const struct ifp_ranks_steps *steps,
	uint64_t budget_bytes, struct ifp_ranks_plan *plan)
{
	for (uint32_t count = steps->count; count-- > 1;) {
		int err = ifp_ranks_representative(steps, count, &plan->first_step);

		if (err)
			return err;
		plan->steps = count;
		if (fits(cost, budget_bytes, plan))
			return 1;
	}
	return 0;
}

int ifp_ranks_plan_make(const struct ifp_ranks_cost *cost, const struct ifp_ranks_steps *steps,
	uint64_t budget_bytes, struct ifp_ranks_plan *out)
{
	struct ifp_ranks_plan plan = {.ranks = cost->ranks, .steps = cost->steps};
	bool fit = fits(cost, budget_bytes, &plan);

	plan.whole_bytes = plan.bytes;
	if (!fit)
		fit = fits_with_less_detail(cost, budget_bytes, &plan);
	if (!fit) {
		int fitted = fit_steps(cost, steps, budget_bytes, &plan);

		if (fitted < 0)
			return fitted;
		fit = fitted;
	}
	while (!fit && plan.ranks) {
		plan.least_bytes = plan.bytes;
		plan.ranks--;
		fit = fits(cost, budget_bytes, &plan);
	}
	*out = plan;
	return 0;
}

static int compare_length(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int median_length(const struct ifp_ranks_steps *steps, int64_t *median_ns)
{
	size_t bytes = steps->count * sizeof(int64_t);
	IFP_CLEANUP_FREE int64_t *sorted = malloc(bytes);

	if (!sorted)
		return ifp_fail(-ENOMEM, "out of memory for %u steps", steps->count);
	memcpy(sorted, steps->length_ns, bytes);
	qsort(sorted, steps->count, sizeof(*sorted), compare_length);
	*median_ns = sorted[steps->count / 2];
	return 0;
}

/* How well some steps on end stand for all: less is better, the first member first. */
struct fitness {
	int64_t gaps, deviation_ns, off_middle;
};

static bool is_better(const struct fitness *a, const struct fitness *b)
{
	if (a->gaps != b->gaps)
		return a->gaps < b->gaps;
	if (a->deviation_ns != b->deviation_ns)
		return a->deviation_ns < b->deviation_ns;
	return a->off_middle < b->off_middle;
}

static int64_t deviation_ns(const struct ifp_ranks_steps *steps, uint32_t i, int64_t median_ns)
{
	return llabs(steps->length_ns[i] - median_ns);
}

static int64_t gap_behind(const struct ifp_ranks_steps *steps, uint32_t i)
{
	return steps->numbers[i + 1] != steps->numbers[i] + 1;
}

int ifp_ranks_representative(const struct ifp_ranks_steps *steps, uint32_t count, uint32_t *first)
{
	struct fitness best = {.gaps = INT64_MAX}, now = {0};
	int64_t median_ns = 0;
	int err = median_length(steps, &median_ns);

	if (err)
		return err;
	for (uint32_t i = 0; i < steps->count; i++) {
		now.deviation_ns += deviation_ns(steps, i, median_ns);
		now.gaps += i ? gap_behind(steps, i - 1) : 0;
		if (i + 1 < count)
			continue;
		if (i >= count) { /* a window of count steps moves on */
			now.deviation_ns -= deviation_ns(steps, i - count, median_ns);
			now.gaps -= gap_behind(steps, i - count);
		}
		now.off_middle =
			llabs(2 * (int64_t)(i + 1) - (int64_t)count - (int64_t)steps->count);
		if (is_better(&now, &best)) {
			best = now;
			*first = i + 1 - count;
		}
	}
	return 0;
}

static uint32_t find_candidate(const uint32_t *candidates, uint32_t count, uint32_t rank)
{
	const uint32_t *found = NULL;

	for (uint32_t i = 0; i < count && !found; i++)
		if (candidates[i] == rank)
			found = &candidates[i];
	return found ? (uint32_t)(found - candidates) : UINT32_MAX;
}

/* distance[i]: to the nearest candidate that is taken; 0 = taken itself. */
static void take(uint32_t *distance, uint32_t count, uint32_t taken)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t apart = i > taken ? i - taken : taken - i;

		if (apart < distance[i])
			distance[i] = apart;
	}
}

static uint32_t farthest(const uint32_t *distance, uint32_t count)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < count; i++)
		if (distance[i] > distance[found])
			found = i;
	return found;
}

int ifp_ranks_prefer(const uint32_t *candidates, uint32_t count, const uint32_t *first,
	uint32_t first_count, uint32_t wanted, uint32_t *order)
{
	IFP_CLEANUP_FREE uint32_t *distance = malloc((count + (size_t)1) * sizeof(*distance));
	uint32_t filled = 0;

	if (!distance)
		return ifp_fail(-ENOMEM, "out of memory for %u ranks", count);
	memset(distance, 0xff, count * sizeof(*distance));
	for (uint32_t i = 0; i < first_count && filled < wanted; i++) {
		uint32_t place = find_candidate(candidates, count, first[i]);

		if (place == UINT32_MAX || !distance[place])
			continue;
		take(distance, count, place);
		order[filled++] = candidates[place];
	}
	while (filled < wanted) {
		uint32_t place = farthest(distance, count);

		take(distance, count, place);
		order[filled++] = candidates[place];
	}
	return 0;
}
