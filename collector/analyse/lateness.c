/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/lateness.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.01
#define DRAWS 19999u
/* Monte Carlo cannot be told a p just below the level: this much below it is enough. */
#define REACHABLE 0.009
#define MIN_LAST_PERCENT 80u
#define MAX_HICCUP 2 /* one step's weight, in median latenesses of the last rank */
#define MIN_GAP_TO_DEVIATION 2.0
#define FEW_RANKS_GAP_TO_DEVIATION 16.0 /* divided by the ranks */

/* Working memory: rows of rank_count values, one per step. */
struct work {
	const struct ifp_arrivals *arrivals;
	uint32_t ranks, steps;
	int64_t *late_ns; /* [step][rank] */
	int64_t *sums_ns; /* [rank] */
	int64_t *values;  /* max(ranks, steps) of them: scratch */
	uint32_t *last;	  /* [step]: rank that came last */
	uint64_t random;  /* state */
};

static int64_t *row(const struct work *w, uint32_t step)
{
	return w->late_ns + (size_t)step * w->ranks;
}

uint32_t ifp_lateness_steps_needed(uint32_t rank_count)
{
	uint32_t steps = 1;

	for (double p = 1; p > REACHABLE; p /= rank_count)
		steps++;
	return steps;
}

static void fill_lateness(struct work *w)
{
	for (uint32_t s = 0; s < w->steps; s++) {
		const int64_t *arrival_ns = w->arrivals->steps[s].arrival_ns;

		for (uint32_t r = 0; r < w->ranks; r++)
			row(w, s)[r] = ifp_arrival_lateness(arrival_ns, w->ranks, r, w->values);
		w->last[s] = ifp_index_of_largest(arrival_ns, w->ranks);
	}
}

static int64_t clamp(int64_t value, int64_t limit)
{
	if (value > limit)
		return limit;
	return value < -limit ? -limit : value;
}

/* Limits every lateness, so that a single step cannot outweigh the others. */
static void limit_hiccups(struct work *w)
{
	int64_t limit_ns;

	for (uint32_t s = 0; s < w->steps; s++)
		w->values[s] = row(w, s)[w->last[s]];
	limit_ns = MAX_HICCUP * ifp_median(w->values, w->steps);
	for (size_t i = 0; i < (size_t)w->steps * w->ranks; i++)
		w->late_ns[i] = clamp(w->late_ns[i], limit_ns);
}

/* xorshift64* (S. Vigna, ACM TOMS 42(4), 2016): good enough here, and the same everywhere. */
static uint32_t random_below(struct work *w, uint32_t limit)
{
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return (uint32_t)(((w->random * UINT64_C(2685821657736338717)) >> 32) * limit >> 32);
}

static void shuffle(struct work *w, int64_t *values)
{
	for (uint32_t i = w->ranks - 1; i > 0; i--) {
		uint32_t j = random_below(w, i + 1);
		int64_t kept = values[i];

		values[i] = values[j];
		values[j] = kept;
	}
}

/* Sums the rows by rank; gives the largest sum. */
static int64_t largest_sum(struct work *w)
{
	memset(w->sums_ns, 0, w->ranks * sizeof(*w->sums_ns));
	for (uint32_t s = 0; s < w->steps; s++) {
		for (uint32_t r = 0; r < w->ranks; r++)
			w->sums_ns[r] += row(w, s)[r];
	}
	return w->sums_ns[ifp_index_of_largest(w->sums_ns, w->ranks)];
}

/*
 * Monte Carlo over the permutations. The observed order is one of them, so p is never 0. Stops as
 * soon as p is certainly above the level: its exact value does not matter then.
 */
static double permutation_p(struct work *w, int64_t observed_ns)
{
	uint32_t reached = 0, draws = 0;

	while (draws < DRAWS && reached + 1 <= LEVEL * (DRAWS + 1)) {
		for (uint32_t s = 0; s < w->steps; s++)
			shuffle(w, row(w, s));
		reached += largest_sum(w) >= observed_ns;
		draws++;
	}
	return (double)(reached + 1) / (draws + 1);
}

/* The arrivals of a step without the candidate: first and last of them. */
static void others(const struct work *w, uint32_t step, uint32_t candidate, int64_t *first_ns,
	int64_t *last_ns)
{
	const int64_t *arrival_ns = w->arrivals->steps[step].arrival_ns;

	*first_ns = INT64_MAX;
	*last_ns = INT64_MIN;
	for (uint32_t r = 0; r < w->ranks; r++) {
		if (r == candidate)
			continue;
		if (arrival_ns[r] < *first_ns)
			*first_ns = arrival_ns[r];
		if (arrival_ns[r] > *last_ns)
			*last_ns = arrival_ns[r];
	}
}

/* In median deviations of the gap. The more steps agree, the less each has to say. */
static double gap_needed(const struct work *w)
{
	double least_steps = ifp_lateness_steps_needed(w->ranks);
	double needed = FEW_RANKS_GAP_TO_DEVIATION / w->ranks * least_steps / w->steps;

	return needed > MIN_GAP_TO_DEVIATION ? needed : MIN_GAP_TO_DEVIATION;
}

static void measure_gap(struct work *w, struct ifp_lateness *out)
{
	int64_t first_ns, last_ns;

	for (uint32_t s = 0; s < w->steps; s++) {
		others(w, s, out->candidate, &first_ns, &last_ns);
		w->values[s] = last_ns - first_ns;
	}
	out->others_ns = ifp_median(w->values, w->steps);
	for (uint32_t s = 0; s < w->steps; s++) {
		others(w, s, out->candidate, &first_ns, &last_ns);
		w->values[s] = w->arrivals->steps[s].arrival_ns[out->candidate] - last_ns;
	}
	out->gap_ns = ifp_median(w->values, w->steps);
	for (uint32_t s = 0; s < w->steps; s++)
		w->values[s] = llabs(w->values[s] - out->gap_ns);
	out->deviation_ns = ifp_median(w->values, w->steps);
}

static bool stands_out(const struct ifp_lateness *out, double gap_to_deviation)
{
	return out->gap_ns > out->others_ns &&
	       (double)out->gap_ns > gap_to_deviation * (double)out->deviation_ns;
}

bool ifp_lateness_regular(uint32_t steps_late, uint32_t steps)
{
	return (uint64_t)steps_late * 100 >= (uint64_t)steps * MIN_LAST_PERCENT;
}

static uint32_t times_last(const struct work *w, uint32_t rank)
{
	uint32_t times = 0;

	for (uint32_t s = 0; s < w->steps; s++)
		times += w->last[s] == rank;
	return times;
}

static void describe_spread(const struct work *w, struct ifp_lateness *out)
{
	out->spread_min_ns = INT64_MAX;
	out->another_each_time = true;
	for (uint32_t s = 0; s < w->steps; s++) {
		int64_t first_ns, last_ns;

		others(w, s, UINT32_MAX, &first_ns, &last_ns);
		if (last_ns - first_ns < out->spread_min_ns)
			out->spread_min_ns = last_ns - first_ns;
		if (last_ns - first_ns > out->spread_max_ns)
			out->spread_max_ns = last_ns - first_ns;
		if (s && w->last[s] == w->last[s - 1])
			out->another_each_time = false;
		if (times_last(w, w->last[s]) > out->most_last)
			out->most_last = times_last(w, w->last[s]);
	}
}

static void describe_candidate(struct work *w, struct ifp_lateness *out)
{
	for (uint32_t s = 0; s < w->steps; s++)
		w->values[s] = row(w, s)[out->candidate];
	out->steps_late = times_last(w, out->candidate);
	out->late_ns = ifp_median(w->values, w->steps);
}

/* The ranks to compare the candidate with, by the sums of their latenesses. */
static void find_peers(struct work *w, struct ifp_lateness *out)
{
	int64_t median_ns;

	for (uint32_t r = 0; r < w->ranks; r++) {
		if (w->sums_ns[r] < w->sums_ns[out->earliest])
			out->earliest = r;
		w->values[r] = w->sums_ns[r];
	}
	median_ns = ifp_median(w->values, w->ranks);
	for (uint32_t r = 0; r < w->ranks; r++)
		if (llabs(w->sums_ns[r] - median_ns) < llabs(w->sums_ns[out->middle] - median_ns))
			out->middle = r;
}

static void test(struct work *w, struct ifp_lateness *out)
{
	bool regular;
	int64_t observed_ns;

	limit_hiccups(w);
	observed_ns = largest_sum(w);
	out->candidate = ifp_index_of_largest(w->sums_ns, w->ranks);
	find_peers(w, out);
	fill_lateness(w); /* without the limits */
	describe_candidate(w, out);
	regular = ifp_lateness_regular(out->steps_late, w->steps);
	out->enough_steps = w->steps >= ifp_lateness_steps_needed(w->ranks);
	if (!out->enough_steps || !regular)
		return;
	measure_gap(w, out);
	out->more_steps_tell = stands_out(out, MIN_GAP_TO_DEVIATION);
	if (!stands_out(out, gap_needed(w)))
		return;
	limit_hiccups(w);
	out->p = permutation_p(w, observed_ns);
	out->late = out->p <= LEVEL;
	out->more_steps_tell = !out->late;
}

int ifp_lateness_test(const struct ifp_arrivals *arrivals, struct ifp_lateness *out)
{
	struct work w = {.arrivals = arrivals,
		.ranks = arrivals->rank_count,
		.steps = arrivals->step_count,
		.random = UINT64_C(0x9e3779b97f4a7c15)};
	size_t longest = w.ranks > w.steps ? w.ranks : w.steps;
	IFP_CLEANUP_FREE int64_t *late_ns = calloc((size_t)w.steps * w.ranks, sizeof(*late_ns));
	IFP_CLEANUP_FREE int64_t *sums_ns = calloc(w.ranks, sizeof(*sums_ns));
	IFP_CLEANUP_FREE int64_t *values = calloc(longest, sizeof(*values));
	IFP_CLEANUP_FREE uint32_t *last = calloc(w.steps, sizeof(*last));
	struct ifp_lateness lateness = {.p = 1};

	if (!late_ns || !sums_ns || !values || !last)
		return ifp_fail(-ENOMEM, "compare the arrivals of %u ranks", w.ranks);
	w.late_ns = late_ns;
	w.sums_ns = sums_ns;
	w.values = values;
	w.last = last;
	fill_lateness(&w);
	describe_spread(&w, &lateness);
	test(&w, &lateness);
	*out = lateness;
	return 0;
}
