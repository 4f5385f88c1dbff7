/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/causality.h"

#include "clocksync/estimate/converter.h"
#include "clocksync/estimate/leeway.h"
#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

/* Ends and beginnings are placed with a rounding of their own each: an end is moved behind both. */
#define BEHIND_NS (2 * IFP_CONVERTER_ROUNDING_NS)

/* A lift keeps so far from the beginning and the end that it lies between, where there is room. */
#define APART_NS 4

/* A part's beginning or end, in order of the clock's time. */
struct event {
	int64_t at_ns;
	uint32_t operation;
	bool exit, awaited;
};

struct clock {
	struct event *events; /* borrowed from sweep.events */
	size_t next, count;
	struct ifp_leeway leeway;
	size_t lift_capacity;
	int64_t entered_ns; /* the last beginning that was looked at */
	uint32_t blocked;   /* the operation that its next event waits for, or NONE */
};

struct operation {
	uint32_t pending; /* beginnings that have not been looked at */
	int64_t last_ns;  /* of those that have, as it is moved */
};

struct sweep {
	const struct ifp_causality_operations *operations;
	struct ifp_causality_clock *seen; /* by clock, as clocks */
	struct clock *clocks;
	uint32_t clock_count;
	struct event *events;
	struct operation *states;
	uint32_t *ready; /* stack of clocks that may go on */
	uint32_t ready_count;
};

void ifp_causality_operations_free(struct ifp_causality_operations *operations)
{
	free(operations->items);
	free(operations->parts);
	*operations = (struct ifp_causality_operations){0};
}

/* At equal times beginnings first: they do not move then. */
static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->exit != y->exit)
		return x->exit ? 1 : -1;
	return (x->operation > y->operation) - (x->operation < y->operation);
}

static void sort_events(struct clock *clock)
{
	for (size_t i = 1; i < clock->count; i++) {
		if (compare_events(&clock->events[i - 1], &clock->events[i]) > 0) {
			qsort(clock->events, clock->count, sizeof(*clock->events), compare_events);
			return;
		}
	}
}

static void list_events(struct sweep *s)
{
	const struct ifp_causality_operations *ops = s->operations;
	size_t first = 0;

	for (size_t i = 0; i < ops->part_count; i++)
		s->clocks[ops->parts[i].clock].count += 1u + ops->parts[i].waits;
	for (uint32_t c = 0; c < s->clock_count; c++) {
		s->clocks[c].events = s->events + first;
		first += s->clocks[c].count;
		s->clocks[c].count = 0;
	}
	for (uint32_t k = 0; k < ops->count; k++) {
		const struct ifp_causality_operation *op = &ops->items[k];

		for (size_t i = op->first; i < op->first + op->count; i++) {
			const struct ifp_causality_part *part = &ops->parts[i];
			struct clock *clock = &s->clocks[part->clock];

			clock->events[clock->count++] =
				(struct event){part->enter_ns, k, false, part->awaited};
			if (part->waits)
				clock->events[clock->count++] =
					(struct event){part->exit_ns, k, true, false};
			s->states[k].pending += part->awaited;
		}
		s->states[k].last_ns = INT64_MIN;
	}
	for (uint32_t c = 0; c < s->clock_count; c++)
		sort_events(&s->clocks[c]);
}

/* The move that earlier ends have left, at a moment that no lift begins behind. */
static int64_t moved(const struct ifp_moves *moves, int64_t at_ns)
{
	return moves->count ? ifp_lift_at(&moves->lifts[moves->count - 1], moves->decay_ppm, at_ns)
			    : 0;
}

/*
 * From where to where a lift can be that ends at an end. It is at least as steep as it gives way
 * again: then it is in the region everywhere when it is in it there.
 */
static bool find_place(const struct clock *clock, const struct ifp_moves *moves, int64_t missing_ns,
	int64_t exit_ns, struct ifp_lift *lift)
{
	int64_t longest_ns = missing_ns * 500000 / clock->leeway.decay_ppm, apart_ns;
	int64_t start_ns = clock->entered_ns;

	if (moves->count && moves->lifts[moves->count - 1].end_ns > start_ns)
		start_ns = moves->lifts[moves->count - 1].end_ns;
	if (start_ns < exit_ns - longest_ns)
		start_ns = exit_ns - longest_ns;
	start_ns = ifp_leeway_since(&clock->leeway, start_ns, exit_ns);
	apart_ns = (exit_ns - start_ns) / 4;
	apart_ns = apart_ns > APART_NS ? APART_NS : apart_ns;
	lift->start_ns = start_ns + apart_ns;
	lift->end_ns = exit_ns - apart_ns;
	return lift->end_ns > lift->start_ns;
}

/* 1 = moved; 0 = there is no room for as much as is missing; -ENOMEM. */
static int move(struct clock *clock, struct ifp_moves *moves, int64_t exit_ns, int64_t missing_ns)
{
	int64_t now_ns = moved(moves, exit_ns), most_ns;
	struct ifp_lift lift;
	int err;

	if (missing_ns > IFP_MOVE_MOST_NS - now_ns - BEHIND_NS ||
		!find_place(clock, moves, missing_ns, exit_ns, &lift))
		return 0;
	lift.from_ns = moved(moves, lift.start_ns);
	lift.to_ns = now_ns + missing_ns + BEHIND_NS;
	most_ns = ifp_leeway_at(&clock->leeway, lift.end_ns);
	if (lift.to_ns > most_ns || lift.to_ns <= lift.from_ns)
		return 0;
	err = IFP_ARRAY_RESERVE(
		moves->lifts, clock->lift_capacity, moves->count, 1, "moves of a clock");
	if (err)
		return err;
	moves->decay_ppm = clock->leeway.decay_ppm;
	moves->lifts[moves->count++] = lift;
	return 1;
}

static int look_at_exit(struct sweep *s, uint32_t c, const struct event *exit)
{
	struct ifp_causality_clock *seen = &s->seen[c];
	struct ifp_clock_repairs *repairs = &seen->repairs;
	const struct operation *operation = &s->states[exit->operation];
	int64_t missing_ns;
	int err;

	repairs->exits++;
	if (operation->last_ns == INT64_MIN)
		return 0;
	missing_ns = operation->last_ns - exit->at_ns - moved(&seen->moves, exit->at_ns);
	if (missing_ns <= 0)
		return 0;
	err = move(&s->clocks[c], &seen->moves, exit->at_ns, missing_ns);
	if (err < 0)
		return err;
	if (err) {
		int64_t now_ns = moved(&seen->moves, exit->at_ns);

		repairs->repaired++;
		repairs->largest_ns = now_ns > repairs->largest_ns ? now_ns : repairs->largest_ns;
		return 0;
	}
	if (missing_ns <= IFP_CONVERTER_ROUNDING_NS)
		return 0;
	repairs->left++;
	if (missing_ns > repairs->largest_left_ns)
		repairs->largest_left_ns = missing_ns;
	return 0;
}

static void wake(struct sweep *s, uint32_t k)
{
	const struct ifp_causality_operation *op = &s->operations->items[k];

	for (size_t i = op->first; i < op->first + op->count; i++) {
		uint32_t c = s->operations->parts[i].clock;

		if (s->clocks[c].blocked != k)
			continue;
		s->clocks[c].blocked = NONE;
		s->ready[s->ready_count++] = c;
	}
}

static void look_at_enter(struct sweep *s, uint32_t c, const struct event *enter)
{
	struct operation *operation = &s->states[enter->operation];
	int64_t at_ns = enter->at_ns + moved(&s->seen[c].moves, enter->at_ns);

	s->clocks[c].entered_ns = enter->at_ns;
	if (!enter->awaited)
		return;
	if (at_ns > operation->last_ns)
		operation->last_ns = at_ns;
	if (--operation->pending == 0)
		wake(s, enter->operation);
}

/* As far as what it waits for has been looked at; whether it waits or not for its next event. */
static int advance(struct sweep *s, uint32_t c, bool waiting)
{
	struct clock *clock = &s->clocks[c];

	for (; clock->next < clock->count; clock->next++) {
		const struct event *event = &clock->events[clock->next];
		int err = 0;

		if (event->exit && waiting && s->states[event->operation].pending) {
			clock->blocked = event->operation;
			return 0;
		}
		waiting = true;
		if (event->exit)
			err = look_at_exit(s, c, event);
		else
			look_at_enter(s, c, event);
		if (err)
			return err;
	}
	return 0;
}

/* Operations that wait for each other in a circle cannot be what they seem: one end goes unwaited.
 */
static uint32_t first_blocked(const struct sweep *s)
{
	uint32_t first = NONE;
	int64_t at_ns = INT64_MAX;

	for (uint32_t c = 0; c < s->clock_count; c++) {
		const struct clock *clock = &s->clocks[c];

		if (clock->next < clock->count && clock->events[clock->next].at_ns < at_ns) {
			first = c;
			at_ns = clock->events[clock->next].at_ns;
		}
	}
	return first;
}

static int sweep(struct sweep *s)
{
	int err = 0;
	uint32_t c;

	for (c = 0; c < s->clock_count && !err; c++)
		err = advance(s, c, true);
	do {
		while (s->ready_count && !err)
			err = advance(s, s->ready[--s->ready_count], true);
		c = err ? NONE : first_blocked(s);
		if (c != NONE) {
			s->clocks[c].blocked = NONE;
			err = advance(s, c, false);
		}
	} while (c != NONE && !err);
	return err;
}

static int prepare(struct sweep *s)
{
	const struct ifp_causality_operations *ops = s->operations;

	s->clocks = calloc(s->clock_count + 1u, sizeof(*s->clocks));
	s->ready = calloc(s->clock_count + 1u, sizeof(*s->ready));
	s->events = calloc(2 * ops->part_count + 1, sizeof(*s->events));
	s->states = calloc(ops->count + 1u, sizeof(*s->states));
	if (!s->clocks || !s->ready || !s->events || !s->states)
		return -ENOMEM;
	for (uint32_t c = 0; c < s->clock_count; c++) {
		s->clocks[c].entered_ns = INT64_MIN / 2;
		s->clocks[c].blocked = NONE;
		if (ifp_leeway_make(s->seen[c].track, &s->clocks[c].leeway))
			return -ENOMEM;
	}
	list_events(s);
	return 0;
}

static void release(struct sweep *s)
{
	for (uint32_t c = 0; s->clocks && c < s->clock_count; c++)
		ifp_leeway_free(&s->clocks[c].leeway);
	free(s->clocks);
	free(s->ready);
	free(s->events);
	free(s->states);
}

int ifp_causality_repair(const struct ifp_causality_operations *operations,
	struct ifp_causality_clock *clocks, uint32_t clock_count)
{
	IFP_CLEANUP(release)
	struct sweep s = {.operations = operations, .seen = clocks, .clock_count = clock_count};
	int err;

	if (!operations->count)
		return 0;
	err = prepare(&s);
	if (!err)
		err = sweep(&s);
	if (err)
		return ifp_fail(
			err, "look for ends before beginnings in %u operations", operations->count);
	for (uint32_t c = 0; c < clock_count; c++)
		clocks[c].repairs.stretch_ns = ifp_moves_stretch(&clocks[c].moves);
	return 0;
}
