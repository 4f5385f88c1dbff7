/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/rank_view.h"

#include "collector/store/notes.h"
#include "collector/timeline/halves.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* No run is that long, and no clock that wrong. */
#define FARTHEST_NS (366 * INT64_C(86400) * IFP_NS_PER_S)

bool ifp_rank_view_is_frame(const struct ifp_event *event)
{
	return event->source == IFP_SOURCE_KINETO &&
	       (ifp_str_is(event->name, "Record Window End") ||
		       ifp_str_starts_with(event->name, "Iteration Start"));
}

/* A thread may be named by what it did and by what it is called: the last name stays. */
static void take_name(struct ifp_lane_row *row, const struct ifp_event *event)
{
	struct ifp_str value;

	if (event->kind == IFP_EVENT_META && ifp_str_is(event->name, "thread_name") &&
		ifp_args_find(event->args, "name", &value) && value.len_bytes > 2 &&
		value.ptr[0] == '"')
		row->title = (struct ifp_str){value.ptr + 1, value.len_bytes - 2};
}

static bool is_within(const struct ifp_run_rank *rank, const struct ifp_event *event)
{
	int64_t end_ns;

	return event->start >= rank->first_ns && event->start <= rank->last_ns &&
	       !__builtin_add_overflow(event->start, event->dur, &end_ns) &&
	       end_ns <= rank->last_ns;
}

/* Names of lanes need no time. The stamps of an imported rank have been looked through before. */
static bool is_placed(const struct ifp_run_rank *rank, const struct ifp_timed_event *timed)
{
	if (timed->event.kind == IFP_EVENT_META)
		return true;
	if (rank->imported && !is_within(rank, &timed->event))
		return false;
	return (timed->start_ns > -FARTHEST_NS && timed->start_ns < FARTHEST_NS &&
		timed->dur_ns < FARTHEST_NS);
}

static void drop_misplaced(struct ifp_rank_view *view)
{
	struct ifp_rank_events *loaded = &view->loaded;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < loaded->count; i++) {
		if (!is_placed(view->rank, &loaded->events[i]))
			continue;
		if (kept != i)
			loaded->events[kept] = loaded->events[i];
		kept++;
	}
	view->misplaced = loaded->count - kept;
	loaded->count = kept;
}

static int find_lanes(struct ifp_rank_view *view)
{
	IFP_CLEANUP_NOTES struct ifp_look_notes rows = {0}; /* row plus 1 */
	int err = ifp_look_notes_begin(view->loaded.look_count, &rows);

	view->lane_of = calloc(view->loaded.count + 1, sizeof(*view->lane_of));
	if (!err && !view->lane_of)
		err = ifp_fail(-ENOMEM, "out of memory for the lanes of a rank");
	for (uint64_t i = 0; i < view->loaded.count && !err; i++) {
		const struct ifp_timed_event *timed = &view->loaded.events[i];
		uint32_t *row = ifp_look_note(&rows, timed);

		if (!*row) {
			err = ifp_lanes_find(&view->lanes, &timed->event.lane, row);
			++*row;
		}
		if (err)
			break;
		view->lane_of[i] = *row - 1;
		take_name(&view->lanes.rows[*row - 1], &timed->event);
	}
	return err;
}

int ifp_rank_view_read(struct ifp_run *run, uint32_t i,
	bool (*wants_args)(const struct ifp_event *look), struct ifp_rank_view *view)
{
	IFP_CLEANUP_RANK_VIEW struct ifp_rank_view loading = {.rank = ifp_run_rank(run, i)};
	int err = ifp_run_read_events(run, i, wants_args, &loading.loaded);

	drop_misplaced(&loading);
	if (!err)
		err = ifp_halves_join(&loading.loaded, &loading.texts);
	if (!err)
		err = find_lanes(&loading);
	if (!err)
		err = ifp_steps_collect(&loading.loaded, loading.lane_of, &loading.steps);
	if (err)
		return ifp_fail(err, "load rank %u", loading.rank->rank);
	if (loading.steps.count)
		loading.lanes.rows[loading.steps.items[0].lane].main_thread = true;
	*view = loading;
	loading = (struct ifp_rank_view){0};
	return 0;
}

int ifp_rank_view_load(struct ifp_run *run, uint32_t i, struct ifp_rank_view *view)
{
	int err = ifp_rank_view_read(run, i, NULL, view);

	return err ? err : ifp_run_report_damage(run, i);
}

void ifp_rank_view_free(struct ifp_rank_view *view)
{
	ifp_rank_events_free(&view->loaded);
	free(view->lane_of);
	ifp_lanes_free(&view->lanes);
	ifp_steps_free(&view->steps);
	ifp_arena_free(&view->texts);
	*view = (struct ifp_rank_view){0};
}
