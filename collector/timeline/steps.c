/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/steps.h"

#include "collector/store/notes.h"
#include "core/array.h"

#include <errno.h>
#include <stdlib.h>

#define PROFILER_STEP "ProfilerStep#"

/* Digits that a step's number may have: far from the end of int64_t. */
#define MAX_DIGITS 18

bool ifp_profiler_step(struct ifp_str name, int64_t *number)
{
	const uint32_t prefix = sizeof(PROFILER_STEP) - 1;
	int64_t value = 0;

	if (!ifp_str_starts_with(name, PROFILER_STEP) || name.len_bytes == prefix ||
		name.len_bytes > prefix + MAX_DIGITS)
		return false;
	for (uint32_t i = prefix; i < name.len_bytes; i++) {
		if (name.ptr[i] < '0' || name.ptr[i] > '9')
			return false;
		value = value * 10 + (name.ptr[i] - '0');
	}
	*number = value;
	return true;
}

static enum ifp_steps_origin origin_of(const struct ifp_timed_event *timed, int64_t *number)
{
	const struct ifp_event *event = &timed->event;

	*number = (int64_t)event->correlation;
	if (event->source == IFP_SOURCE_STEP && event->kind == IFP_EVENT_INSTANT)
		return IFP_STEPS_MARKS;
	if (event->kind != IFP_EVENT_SLICE)
		return IFP_STEPS_NONE;
	if (event->source == IFP_SOURCE_MARK && ifp_str_is(event->category, "step"))
		return IFP_STEPS_RANGES;
	if (event->lane.kind == IFP_LANE_THREAD && event->source == IFP_SOURCE_KINETO &&
		ifp_profiler_step(event->name, number))
		return IFP_STEPS_PROFILER;
	return IFP_STEPS_NONE;
}

/* The origin of the steps that an event is one of, plus 1: known by its look. */
static uint32_t note_of(const struct ifp_look_notes *notes, const struct ifp_timed_event *timed)
{
	uint32_t *note = ifp_look_note(notes, timed);
	int64_t number;

	if (!*note)
		*note = origin_of(timed, &number) + 1u;
	return *note;
}

static enum ifp_steps_origin best_origin(
	const struct ifp_rank_events *events, const struct ifp_look_notes *notes)
{
	enum ifp_steps_origin best = IFP_STEPS_NONE;

	for (uint64_t i = 0; i < events->count; i++) {
		uint32_t origin = note_of(notes, &events->events[i]) - 1;

		if (origin != IFP_STEPS_NONE && (best == IFP_STEPS_NONE || origin < best))
			best = (enum ifp_steps_origin)origin;
	}
	return best;
}

static int add(struct ifp_steps *steps, const struct ifp_step *step)
{
	int err = IFP_ARRAY_RESERVE(steps->items, steps->capacity, steps->count, 1, "steps");

	if (!err)
		steps->items[steps->count++] = *step;
	return err;
}

/* From a mark and the one before it. */
static struct ifp_step between_marks(const struct ifp_steps *steps, int64_t number, int64_t at_ns)
{
	const struct ifp_step *last = steps->count ? &steps->items[steps->count - 1] : NULL;
	bool follows = last && (uint64_t)last->number + 1 == (uint64_t)number;
	bool whole = follows && last->end_ns < at_ns;

	return (struct ifp_step){
		.number = number,
		.start_ns = whole ? last->end_ns : at_ns,
		.end_ns = at_ns,
		.whole = whole,
	};
}

int ifp_steps_collect(
	const struct ifp_rank_events *events, const uint32_t *lane_of, struct ifp_steps *steps)
{
	IFP_CLEANUP_NOTES struct ifp_look_notes notes = {0};
	int err = ifp_look_notes_begin(events->look_count, &notes);

	if (err)
		return err;
	steps->origin = best_origin(events, &notes);
	for (uint64_t i = 0; steps->origin != IFP_STEPS_NONE && i < events->count; i++) {
		const struct ifp_timed_event *timed = &events->events[i];
		struct ifp_step step = {.whole = timed->dur_ns > 0};
		int64_t number;

		if (note_of(&notes, timed) != steps->origin + 1u)
			continue;
		origin_of(timed, &number);
		step.number = number;
		step.start_ns = timed->start_ns;
		step.end_ns = timed->start_ns + timed->dur_ns;
		if (steps->origin == IFP_STEPS_MARKS)
			step = between_marks(steps, number, timed->start_ns);
		step.lane = lane_of[i];
		err = add(steps, &step);
		if (err)
			return err;
	}
	return 0;
}

const struct ifp_step *ifp_steps_at(const struct ifp_steps *steps, int64_t at_ns)
{
	uint32_t low = IFP_ARRAY_LOWER_BOUND(i, steps->count, steps->items[i].start_ns <= at_ns);

	if (!low || !steps->items[low - 1].whole || steps->items[low - 1].end_ns <= at_ns)
		return NULL;
	return &steps->items[low - 1];
}

void ifp_steps_free(struct ifp_steps *steps)
{
	free(steps->items);
	*steps = (struct ifp_steps){0};
}
