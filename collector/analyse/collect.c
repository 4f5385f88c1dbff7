/* SPDX-License-Identifier: Apache-2.0 */
/* From an archive's run to the activity of its ranks. */
#include "collector/analyse/activity.h"

#include "core/error.h"

#include <errno.h>

static bool aligned_by_collectives(const struct ifp_run *run)
{
	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++) {
		const struct ifp_clock_map *map = ifp_run_rank(run, i)->map;

		if (map && ifp_clock_map_summary(map).method == IFP_CLOCK_COLLECTIVES)
			return true;
	}
	return false;
}

/*
 * What GPUs' times add to the doubt about when a rank came to something, where that is told by
 * kernels, or by clocks that kernels have aligned: of two ranks each adds its own.
 */
static void add_doubts(struct ifp_activity *activity, const struct ifp_run *run)
{
	if (ifp_activity_kind(activity) != IFP_ACTIVITY_DEVICE && !aligned_by_collectives(run))
		return;
	for (uint32_t i = 0; i < activity->rank_count; i++)
		activity->ranks[i].doubt_ns = ifp_run_gpu_doubt(run, i);
}

static int collect_rank(struct ifp_activity *activity, struct ifp_run *run, uint32_t i)
{
	const struct ifp_run_rank *source = ifp_run_rank(run, i);
	struct ifp_rank_activity *rank = &activity->ranks[i];
	struct ifp_rank_events events = {0};
	int err;

	*rank = (struct ifp_rank_activity){.rank = source->rank, .bound_ns = INT64_MAX};
	if (!source->map)
		return 0;
	rank->bound_ns = ifp_clock_map_summary(source->map).bound_ns;
	rank->map = source->map;
	err = ifp_run_load_events(run, i, &events);
	if (err < 0)
		return ifp_fail(err, "read the events of rank %u", source->rank);
	err = ifp_activity_take(activity, events.events, events.count, rank);
	ifp_rank_events_free(&events);
	return err;
}

int ifp_activity_collect(struct ifp_run *run, struct ifp_activity *out)
{
	IFP_CLEANUP_ACTIVITY struct ifp_activity activity = {
		.rank_count = ifp_run_rank_count(run), .base_ns = ifp_run_base(run).ns};
	int err = 0;

	activity.ranks = ifp_arena_alloc(
		&activity.arena, (activity.rank_count + 1) * sizeof(*activity.ranks));
	if (!activity.ranks)
		return ifp_fail(-ENOMEM, "analyse %u ranks", activity.rank_count);
	for (uint32_t i = 0; !err && i < activity.rank_count; i++)
		err = collect_rank(&activity, run, i);
	if (err < 0)
		return err;
	add_doubts(&activity, run);
	*out = activity;
	activity = (struct ifp_activity){0};
	return 0;
}
