/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/activity.h"

#include "collector/analyse/collectives.h"
#include "collector/analyse/groups.h"
#include "collector/store/notes.h"
#include "collector/timeline/steps.h"
#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A kernel and, once it is found, when it was launched. */
struct launch {
	uint64_t correlation;
	int64_t start_ns;
	bool found;
};

/* What an event may be, by its look. */
enum {
	IS_NOTHING = 1,
	IS_STEP = 2,
	IS_HOST = 4,
	IS_DEVICE = 8,
	IS_LAUNCH = 16,
	IS_MPI = 32,
};

struct pick {
	const struct ifp_timed_event *timed;
	uint32_t is;
};

/* The events of one rank while they are looked through. */
struct taker {
	struct ifp_activity *activity;
	struct ifp_rank_activity *rank;
	const struct ifp_timed_event *events;
	struct pick *picks; /* those that may be something */
	size_t count, pick_capacity;
	struct ifp_buf group;	 /* key of the one at hand */
	struct launch *launches; /* by correlation */
	size_t launch_count;
	/* what ends a step: the optimizer's marks; else the program's own steps; else the ranges of
	 * torch.profiler, which a trace that was imported has */
	enum ifp_steps_origin origin;
};

/* What kind of step the event ends, and its number. */
static enum ifp_steps_origin step_of(const struct ifp_event *event, uint64_t *step)
{
	int64_t number;

	*step = event->correlation;
	if (event->source == IFP_SOURCE_STEP && *step)
		return IFP_STEPS_MARKS;
	if (event->kind != IFP_EVENT_SLICE)
		return IFP_STEPS_NONE;
	/* A program without an optimizer may name its own steps (infprof_step_begin). */
	if (event->source == IFP_SOURCE_MARK && *step && ifp_str_is(event->category, "step"))
		return IFP_STEPS_RANGES;
	if (event->source != IFP_SOURCE_KINETO || event->lane.kind != IFP_LANE_THREAD ||
		!ifp_profiler_step(event->name, &number) || number < 1)
		return IFP_STEPS_NONE;
	*step = (uint64_t)number;
	return IFP_STEPS_PROFILER;
}

static bool is_mark(const struct taker *t, const struct ifp_event *event, uint64_t *step)
{
	return t->origin != IFP_STEPS_NONE && step_of(event, step) == t->origin;
}

/* The best kind of steps that the rank has. */
static enum ifp_steps_origin find_origin(const struct taker *t)
{
	enum ifp_steps_origin best = IFP_STEPS_NONE;
	uint64_t step;

	for (size_t i = 0; i < t->count && best != IFP_STEPS_MARKS; i++) {
		enum ifp_steps_origin origin = IFP_STEPS_NONE;

		if (t->picks[i].is & IS_STEP)
			origin = step_of(&t->picks[i].timed->event, &step);
		if (origin != IFP_STEPS_NONE && (best == IFP_STEPS_NONE || origin < best))
			best = origin;
	}
	return best;
}

static bool is_launch(const struct ifp_event *event)
{
	return event->kind == IFP_EVENT_SLICE &&
	       (ifp_str_contains(event->category, "_runtime") ||
		       ifp_str_contains(event->category, "_driver"));
}

static int compare_launches(const void *a, const void *b)
{
	uint64_t x = ((const struct launch *)a)->correlation;
	uint64_t y = ((const struct launch *)b)->correlation;

	return (x > y) - (x < y);
}

static struct launch *find_launch(const struct taker *t, uint64_t correlation)
{
	const struct launch key = {.correlation = correlation};

	return t->launch_count
		       ? bsearch(&key, t->launches, t->launch_count, sizeof(key), compare_launches)
		       : NULL;
}

/* Room for everything that is there; the counts are set back for filling. */
static int make_room(struct taker *t)
{
	struct ifp_rank_activity *rank = t->rank;
	struct ifp_arena *arena = &t->activity->arena;
	size_t marks = 1, host = 1, device = 1, mpi = 1;
	uint64_t step;

	t->origin = find_origin(t);
	for (size_t i = 0; i < t->count; i++) {
		uint32_t is = t->picks[i].is;

		marks += is & IS_STEP && is_mark(t, &t->picks[i].timed->event, &step);
		host += (is & IS_HOST) != 0;
		device += (is & IS_DEVICE) != 0;
		mpi += (is & IS_MPI) != 0;
	}
	rank->marks = ifp_arena_alloc(arena, marks * sizeof(*rank->marks));
	rank->host = ifp_arena_alloc(arena, host * sizeof(*rank->host));
	rank->device = ifp_arena_alloc(arena, device * sizeof(*rank->device));
	rank->mpi = ifp_arena_alloc(arena, mpi * sizeof(*rank->mpi));
	t->launches = ifp_arena_alloc(arena, device * sizeof(*t->launches));
	rank->mark_count = rank->host_count = rank->device_count = rank->mpi_count = 0;
	if (!rank->marks || !rank->host || !rank->device || !rank->mpi || !t->launches)
		return ifp_fail(-ENOMEM, "collect the collectives of rank %u", rank->rank);
	return 0;
}

/* Marks and kernels. A mark that does not count on is not of the series and is left out. */
static void take_marks(struct taker *t)
{
	struct ifp_rank_activity *rank = t->rank;

	for (size_t i = 0; i < t->count; i++) {
		const struct ifp_timed_event *timed = t->picks[i].timed;
		uint32_t is = t->picks[i].is;
		const struct ifp_event *event = &timed->event;
		uint64_t last = rank->mark_count ? rank->marks[rank->mark_count - 1].step : 0, step;

		if (is & IS_STEP && is_mark(t, event, &step) && step > last)
			rank->marks[rank->mark_count++] =
				(struct ifp_step_mark){step, timed->start_ns + timed->dur_ns};
		if (is & IS_DEVICE && event->correlation)
			t->launches[t->launch_count++].correlation = event->correlation;
	}
	for (size_t i = 0; i < t->launch_count; i++)
		t->launches[i].found = false;
	qsort(t->launches, t->launch_count, sizeof(*t->launches), compare_launches);
}

static void find_launches(struct taker *t)
{
	for (size_t i = 0; t->launch_count && i < t->count; i++) {
		const struct ifp_timed_event *timed = t->picks[i].timed;
		struct launch *launch;

		if (!(t->picks[i].is & IS_LAUNCH) || !timed->event.correlation)
			continue;
		launch = find_launch(t, timed->event.correlation);
		if (launch) {
			launch->start_ns = timed->start_ns;
			launch->found = true;
		}
	}
}

/* The step whose end is the first at or after this moment; 0 when none is. */
static uint64_t step_at(const struct ifp_rank_activity *rank, int64_t at_ns)
{
	size_t low = IFP_ARRAY_LOWER_BOUND(i, rank->mark_count, rank->marks[i].end_ns < at_ns);

	return low < rank->mark_count ? rank->marks[low].step : 0;
}

static int find_group(struct taker *t, struct ifp_str args, uint32_t *group)
{
	int err;

	ifp_group_key(args, &t->group);
	err = ifp_buf_status(&t->group);
	return err ? err
		   : ifp_intern(&t->activity->groups,
			     (struct ifp_str){
				     (const char *)t->group.data, (uint32_t)t->group.len_bytes},
			     group);
}

/* Adds it to a list that has room, unless it belongs to no step. */
static int add(struct taker *t, const struct ifp_timed_event *timed, int64_t called_ns,
	struct ifp_str name, struct ifp_collective *list, size_t *count)
{
	struct ifp_collective collective = {.step = step_at(t->rank, called_ns),
		.start_ns = timed->start_ns,
		.dur_ns = timed->dur_ns,
		.event = (uint32_t)(timed - t->events)};
	int err = ifp_intern(&t->activity->names, name, &collective.name);

	if (!err)
		err = find_group(t, timed->event.args, &collective.group);

	if (!collective.step)
		t->rank->without_step++;
	else
		list[(*count)++] = collective;
	return err;
}

static int take_collective(struct taker *t, const struct ifp_timed_event *timed)
{
	struct ifp_rank_activity *rank = t->rank;
	const struct launch *launch;
	struct ifp_str name, group;

	if (ifp_collective_of_host(&timed->event, &name))
		return add(t, timed, timed->start_ns, name, rank->host, &rank->host_count);
	if (ifp_collective_of_mpi(&timed->event, &name))
		return ifp_args_find(timed->event.args, "Process Group Name", &group)
			       ? add(t, timed, timed->start_ns, name, rank->mpi, &rank->mpi_count)
			       : 0;
	if (!ifp_collective_of_device(&timed->event, &name))
		return 0;
	launch = find_launch(t, timed->event.correlation);
	if (!launch || !launch->found)
		return 0;
	return add(t, timed, launch->start_ns, name, rank->device, &rank->device_count);
}

static int compare_collectives(const void *a, const void *b)
{
	const struct ifp_collective *x = a, *y = b;

	if (x->step != y->step)
		return x->step > y->step ? 1 : -1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static uint32_t what_is(const struct ifp_event *event)
{
	struct ifp_event with_number = *event;
	struct ifp_str name;
	uint64_t step;
	uint32_t is = 0;

	/* Whether it has one is not a matter of its look. */
	with_number.correlation = 1;
	if (step_of(&with_number, &step) != IFP_STEPS_NONE)
		is |= IS_STEP;
	if (ifp_collective_of_host(event, &name))
		is |= IS_HOST;
	if (ifp_collective_of_device(event, &name))
		is |= IS_DEVICE;
	if (ifp_collective_of_mpi(event, &name))
		is |= IS_MPI;
	if (is_launch(event))
		is |= IS_LAUNCH;
	return is ? is : IS_NOTHING;
}

/* Of a rank's events, many of which share their looks, those that may be something. */
static int pick(struct taker *t, uint64_t count)
{
	IFP_CLEANUP_NOTES struct ifp_look_notes notes = {0};
	uint32_t last_look = 0;
	int err;

	for (uint64_t i = 0; i < count; i++)
		last_look = t->events[i].look > last_look ? t->events[i].look : last_look;
	err = ifp_look_notes_begin(last_look + 1, &notes);
	for (uint64_t i = 0; i < count && !err; i++) {
		const struct ifp_timed_event *timed = &t->events[i];
		uint32_t *is = ifp_look_note(&notes, timed);

		if (!*is)
			*is = what_is(&timed->event);
		if (*is == IS_NOTHING)
			continue;
		err = IFP_ARRAY_RESERVE(t->picks, t->pick_capacity, t->count, 1, "collectives");
		if (!err)
			t->picks[t->count++] = (struct pick){timed, *is};
	}
	return err;
}

static void taker_free(struct taker *t)
{
	free(t->picks);
	ifp_buf_free(&t->group);
}

int ifp_activity_take(struct ifp_activity *activity, const struct ifp_timed_event *events,
	uint64_t count, struct ifp_rank_activity *rank)
{
	IFP_CLEANUP(taker_free)
	struct taker t = {.activity = activity, .rank = rank, .events = events};
	uint32_t no_group;
	int err = pick(&t, count);

	if (!err)
		err = make_room(&t);
	if (!err)
		err = ifp_intern(&activity->groups, ifp_str(""), &no_group);
	if (err < 0)
		return err;
	take_marks(&t);
	find_launches(&t);
	for (size_t i = 0; !err && i < t.count; i++)
		if (t.picks[i].is & (IS_HOST | IS_DEVICE | IS_MPI))
			err = take_collective(&t, t.picks[i].timed);
	qsort(rank->host, rank->host_count, sizeof(*rank->host), compare_collectives);
	qsort(rank->device, rank->device_count, sizeof(*rank->device), compare_collectives);
	qsort(rank->mpi, rank->mpi_count, sizeof(*rank->mpi), compare_collectives);
	return err;
}

int64_t ifp_activity_bound_at(
	const struct ifp_activity *activity, const struct ifp_rank_activity *rank, int64_t at_ns)
{
	if (rank->bound_ns == INT64_MAX || !rank->map)
		return rank->bound_ns;
	return ifp_clock_map_bound_ns(rank->map, (ifp_global_ns){activity->base_ns + at_ns});
}

enum ifp_activity_kind ifp_activity_kind(const struct ifp_activity *activity)
{
	enum ifp_activity_kind kind = IFP_ACTIVITY_MPI;

	for (uint32_t i = 0; i < activity->rank_count; i++) {
		const struct ifp_rank_activity *rank = &activity->ranks[i];

		if (rank->host_count && !rank->device_count)
			return IFP_ACTIVITY_HOST;
		if (rank->device_count)
			kind = IFP_ACTIVITY_DEVICE;
	}
	return kind;
}

const struct ifp_collective *ifp_activity_list(
	const struct ifp_rank_activity *rank, enum ifp_activity_kind kind, size_t *count)
{
	switch (kind) {
	case IFP_ACTIVITY_DEVICE:
		*count = rank->device_count;
		return rank->device;
	case IFP_ACTIVITY_HOST:
		*count = rank->host_count;
		return rank->host;
	default:
		*count = rank->mpi_count;
		return rank->mpi;
	}
}

void ifp_activity_free(struct ifp_activity *activity)
{
	ifp_arena_free(&activity->arena);
	ifp_intern_free(&activity->names);
	ifp_intern_free(&activity->groups);
	*activity = (struct ifp_activity){0};
}

struct ifp_step_times ifp_activity_step_times(const struct ifp_rank_activity *rank)
{
	struct ifp_step_times times = {.steps = rank->mark_count};
	const struct ifp_step_mark *first, *last;

	if (rank->mark_count < 2)
		return times;
	first = rank->marks;
	last = rank->marks + rank->mark_count - 1;
	times.mean_ns = (last->end_ns - first->end_ns) / (int64_t)(last->step - first->step);
	for (const struct ifp_step_mark *mark = first + 1; mark <= last; mark++) {
		int64_t step_ns = mark->end_ns - mark[-1].end_ns;

		if (mark->step == mark[-1].step + 1 && step_ns > times.max_ns)
			times.max_ns = step_ns;
	}
	return times;
}
