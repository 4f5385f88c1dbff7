/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/verdict.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_MARKED_STEPS 100u /* compared: more do not tell more */
#define COST_PERCENT 1

#define WORST_NS (INT64_MAX / 8) /* of a bound: sums of them are no overflow */

/* The ranks that are compared. */
struct comparison {
	const struct ifp_activity *activity;
	struct ifp_rank_times *times;
	const struct ifp_rank_activity **ranks;
	uint32_t count;
	int64_t *bound_ns; /* of their clocks, where they are compared */
};

static int unknown(struct ifp_verdict *verdict, enum ifp_verdict_reason reason)
{
	verdict->kind = IFP_VERDICT_UNKNOWN;
	verdict->reason = reason;
	return 0;
}

/* Takes the ranks with collectives, of the kind that tells best. */
static void choose_ranks(struct comparison *c)
{
	enum ifp_activity_kind kind = ifp_activity_kind(c->activity);

	for (uint32_t i = 0; i < c->activity->rank_count; i++) {
		const struct ifp_rank_activity *rank = &c->activity->ranks[i];
		struct ifp_rank_times *times = &c->times[c->count];

		*times = (struct ifp_rank_times){
			.marks = rank->marks, .mark_count = rank->mark_count};
		times->collectives = ifp_activity_list(rank, kind, &times->collective_count);
		if (times->collective_count || rank->host_count || rank->device_count)
			c->ranks[c->count++] = rank;
	}
}

static bool any_without_step(const struct ifp_activity *activity)
{
	for (uint32_t i = 0; i < activity->rank_count; i++) {
		if (activity->ranks[i].without_step)
			return true;
	}
	return false;
}

static bool all_aligned(const struct comparison *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		if (c->ranks[i]->bound_ns == INT64_MAX)
			return false;
	}
	return true;
}

/* The largest bound of each rank's clock at its arrivals. */
static void bound_arrivals(const struct comparison *c, const struct ifp_arrivals *arrivals)
{
	for (uint32_t r = 0; r < c->count; r++) {
		c->bound_ns[r] = 0;
		for (uint32_t s = 0; s < arrivals->step_count; s++) {
			int64_t bound_ns = ifp_activity_bound_at(
				c->activity, c->ranks[r], arrivals->steps[s].arrival_ns[r]);

			bound_ns = bound_ns > WORST_NS ? WORST_NS : bound_ns;
			if (bound_ns > c->bound_ns[r])
				c->bound_ns[r] = bound_ns;
		}
	}
}

/* What clocks and sources can make of nothing between one rank and the others. */
static struct ifp_verdict_bound bound_of(const struct comparison *c, uint32_t candidate)
{
	struct ifp_verdict_bound bound = {.stamps_ns = 2 * IFP_KINETO_BIAS_NS};
	uint32_t worst = candidate ? 0 : 1;

	for (uint32_t i = 0; i < c->count; i++) {
		if (i != candidate && c->bound_ns[i] + c->ranks[i]->doubt_ns >
					      c->bound_ns[worst] + c->ranks[worst]->doubt_ns)
			worst = i;
	}
	bound.clocks_ns = c->bound_ns[candidate] + c->bound_ns[worst];
	bound.gpus_ns = c->ranks[candidate]->doubt_ns + c->ranks[worst]->doubt_ns;
	return bound;
}

static int64_t sum(struct ifp_verdict_bound bound)
{
	return bound.clocks_ns + bound.gpus_ns + bound.stamps_ns;
}

/* Whether a late rank may be named; the reason why not otherwise. */
static bool may_name(const struct comparison *c, const struct ifp_lateness *lateness,
	int64_t bound_ns, enum ifp_verdict_reason *reason)
{
	struct ifp_step_times step = ifp_activity_step_times(c->ranks[lateness->candidate]);

	if (lateness->late_ns <= bound_ns)
		*reason = IFP_REASON_BOUND;
	else if (lateness->late_ns < step.mean_ns / 100 * COST_PERCENT)
		*reason = IFP_REASON_SMALL;
	else
		return true;
	return false;
}

static void copy_lateness(const struct comparison *c, const struct ifp_arrivals *arrivals,
	const struct ifp_lateness *lateness, struct ifp_verdict *verdict)
{
	verdict->steps = arrivals->step_count;
	verdict->steps_skipped = arrivals->steps_skipped;
	verdict->rank = c->ranks[lateness->candidate]->rank;
	verdict->earliest = c->ranks[lateness->earliest]->rank;
	verdict->middle = c->ranks[lateness->middle]->rank;
	verdict->late_ns = lateness->late_ns;
	verdict->steps_late = lateness->steps_late;
	verdict->p = lateness->p;
	verdict->bound = bound_of(c, lateness->candidate);
	verdict->bound_ns = sum(verdict->bound);
	verdict->aligned_ns = c->bound_ns[ifp_index_of_largest(c->bound_ns, c->count)];
	verdict->spread_min_ns = lateness->spread_min_ns;
	verdict->spread_max_ns = lateness->spread_max_ns;
	verdict->gap_ns = lateness->gap_ns;
	verdict->others_ns = lateness->others_ns;
	verdict->deviation_ns = lateness->deviation_ns;
	verdict->more_steps_tell = lateness->more_steps_tell;
	verdict->most_last = lateness->most_last;
	verdict->another_each_time = lateness->another_each_time;
}

/* The name that most steps have at their worst collective. */
static void copy_place(const struct ifp_activity *activity, const struct ifp_arrivals *arrivals,
	struct ifp_verdict *verdict)
{
	uint32_t best = 0, best_count = 0;

	for (uint32_t s = 0; s < arrivals->step_count; s++) {
		uint32_t same = 0;

		for (uint32_t t = 0; t < arrivals->step_count; t++)
			same += arrivals->steps[t].name == arrivals->steps[s].name;
		if (same > best_count) {
			best = s;
			best_count = same;
		}
	}
	snprintf(verdict->at, sizeof(verdict->at), IFP_STR_FORMAT,
		IFP_STR_ARGS(ifp_intern_text(&activity->names, arrivals->steps[best].name)));
}

static const struct ifp_arrival_step *find_step(const struct ifp_arrivals *arrivals, uint64_t step)
{
	for (uint32_t s = 0; s < arrivals->step_count; s++) {
		if (arrivals->steps[s].step == step)
			return &arrivals->steps[s];
	}
	return NULL;
}

/*
 * Whether the candidate was late already at the end of the step before: by at least half of what
 * it was late by at the collective, in the median of the steps.
 */
static int find_where_lost(const struct comparison *c, const struct ifp_arrivals *arrivals,
	uint32_t candidate, struct ifp_verdict *verdict)
{
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals marks = {0};
	IFP_CLEANUP_FREE int64_t *late_ns = calloc(arrivals->step_count, sizeof(*late_ns));
	IFP_CLEANUP_FREE int64_t *scratch_ns = calloc(c->count, sizeof(*scratch_ns));
	size_t n = 0;
	int err = ifp_arrivals_at_marks(c->times, c->count, 0, &marks);

	if (err < 0)
		return err;
	if (!late_ns || !scratch_ns)
		return ifp_fail(-ENOMEM, "compare step marks");
	for (uint32_t s = 0; s < arrivals->step_count; s++) {
		const struct ifp_arrival_step *before =
			find_step(&marks, arrivals->steps[s].step - 1);

		if (before)
			late_ns[n++] = ifp_arrival_lateness(
				before->arrival_ns, c->count, candidate, scratch_ns);
	}
	verdict->late_before_step = n && ifp_median(late_ns, n) >= verdict->late_ns / 2;
	return 0;
}

/* By the arrivals at collectives. */
static int judge_collectives(const struct comparison *c, const struct ifp_arrivals *arrivals,
	struct ifp_verdict *verdict)
{
	struct ifp_lateness lateness;
	int err = ifp_lateness_test(arrivals, &lateness);

	if (err < 0)
		return err;
	bound_arrivals(c, arrivals);
	copy_lateness(c, arrivals, &lateness, verdict);
	copy_place(c->activity, arrivals, verdict);
	verdict->steps_needed = ifp_lateness_steps_needed(c->count);
	if (!lateness.enough_steps)
		return unknown(verdict, IFP_REASON_FEW_STEPS);
	verdict->kind = IFP_VERDICT_NOBODY;
	verdict->reason = IFP_REASON_NOISE;
	if (!lateness.late)
		return 0;
	if (may_name(c, &lateness, verdict->bound_ns, &verdict->reason)) {
		verdict->kind = IFP_VERDICT_LATE;
		return find_where_lost(c, arrivals, lateness.candidate, verdict);
	}
	if (verdict->reason == IFP_REASON_BOUND)
		verdict->kind = IFP_VERDICT_UNKNOWN;
	return 0;
}

/* By the ends of the steps: adds a name or leaves the verdict as it is. */
static int judge_marks(const struct comparison *c, struct ifp_verdict *verdict)
{
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals marks = {0};
	enum ifp_verdict_reason reason;
	struct ifp_lateness lateness;
	int err = ifp_arrivals_at_marks(c->times, c->count, MAX_MARKED_STEPS, &marks);

	if (err < 0 || !marks.step_count)
		return err;
	err = ifp_lateness_test(&marks, &lateness);
	if (err < 0 || !lateness.late)
		return err;
	bound_arrivals(c, &marks);
	if (!may_name(c, &lateness, sum(bound_of(c, lateness.candidate)), &reason))
		return 0;
	copy_lateness(c, &marks, &lateness, verdict);
	verdict->kind = IFP_VERDICT_LATE;
	verdict->from_marks = true;
	verdict->at[0] = '\0';
	return 0;
}

static int judge(const struct comparison *c, struct ifp_verdict *verdict)
{
	IFP_CLEANUP_ARRIVALS struct ifp_arrivals arrivals = {0};
	int err;

	verdict->ranks = c->count;
	if (c->count < 2)
		return unknown(verdict, any_without_step(c->activity) ? IFP_REASON_NO_STEPS
								      : IFP_REASON_NO_COLLECTIVES);
	if (!all_aligned(c))
		return unknown(verdict, IFP_REASON_CLOCKS);
	err = ifp_arrivals_at_collectives(c->times, c->count, &arrivals);
	if (err < 0)
		return err;
	verdict->steps_skipped = arrivals.steps_skipped;
	if (!arrivals.step_count)
		return unknown(verdict, IFP_REASON_OTHER_COLLECTIVES);
	err = judge_collectives(c, &arrivals, verdict);
	if (err < 0 || verdict->kind == IFP_VERDICT_LATE)
		return err;
	return judge_marks(c, verdict);
}

int ifp_verdict_reach(const struct ifp_activity *activity, struct ifp_verdict *out)
{
	IFP_CLEANUP_FREE struct ifp_rank_times *times =
		calloc(activity->rank_count + 1, sizeof(*times));
	IFP_CLEANUP_FREE const struct ifp_rank_activity **ranks =
		calloc(activity->rank_count + 1, sizeof(*ranks));
	IFP_CLEANUP_FREE int64_t *bound_ns = calloc(activity->rank_count + 1, sizeof(*bound_ns));
	struct comparison c = {
		.activity = activity, .times = times, .ranks = ranks, .bound_ns = bound_ns};
	struct ifp_verdict verdict = {.p = 1};
	int err;

	if (!times || !ranks || !bound_ns)
		return ifp_fail(-ENOMEM, "compare %u ranks", activity->rank_count);
	if (activity->rank_count < 2) {
		verdict.ranks = activity->rank_count;
		unknown(&verdict, IFP_REASON_ONE_RANK);
	} else {
		choose_ranks(&c);
		err = judge(&c, &verdict);
		if (err < 0)
			return err;
	}
	*out = verdict;
	return 0;
}
