/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/survey.h"

#include "collector/timeline/account.h"
#include "collector/timeline/clock_counters.h"
#include "collector/timeline/measure.h"
#include "collector/timeline/relay.h"
#include "core/error.h"
#include "core/process.h"

#include <errno.h>
#include <stdlib.h>

/* Bytes of the notes: struct ifp_shown's text, with every character escaped, and the alarm on
 * clocks, with the row that it is in. */
#define NOTE_BYTES (6 * sizeof(((struct ifp_shown *)NULL)->text) + 700)

/* Scenes that are measured are kept for drawing up to so many events of all ranks. */
#define KEPT_EVENTS 400000u

/* Events that threads may have in memory together, at some 600 bytes each. */
#define MEMORY_EVENTS 2000000u

struct measuring {
	struct ifp_run *run;
	const struct ifp_sink *sink;
	struct ifp_links *links;
	struct ifp_measure *all; /* the ranks, and what lies between them */
	struct ifp_scene **kept; /* by rank; NULL = read again */
	uint64_t kept_events;
};

/* Of one rank. */
struct measured {
	struct ifp_measure measure;
	struct ifp_scene scene;
};

int ifp_survey_counters(const struct ifp_run *run, uint32_t i, const struct ifp_scene *scene,
	struct ifp_counters *counters)
{
	uint32_t max_points = ifp_counters_most_points(ifp_run_rank_count(run));
	int err = ifp_counters_compute(&scene->view.loaded, max_points, counters);

	if (!err)
		err = ifp_counters_add_clock(
			run, i, scene->start_ns, scene->end_ns, max_points, counters);
	return err;
}

static void drop_measured(void *result)
{
	struct measured *measured = result;

	ifp_measure_free(&measured->measure);
	ifp_scene_free(&measured->scene);
	free(measured);
}

static void cleanup_measured(struct measured **measured)
{
	if (*measured)
		drop_measured(*measured);
}

static int measure_scene(const struct measuring *measuring, uint32_t i, struct measured *measured)
{
	IFP_CLEANUP_COUNTERS struct ifp_counters counters = {0};
	int err = ifp_scene_read(measuring->run, i, measuring->sink->lean, &measured->scene);

	if (!err)
		err = ifp_survey_counters(measuring->run, i, &measured->scene, &counters);
	if (!err)
		err = ifp_links_take(measuring->links, i, &measured->scene);
	if (err)
		return err;
	ifp_measure_counters(&measured->measure, &counters);
	return ifp_measure_scene(&measured->measure, &measured->scene, i);
}

/* The size of one rank, by any thread. */
static int measure_rank(void *context, uint32_t i, void **out)
{
	const struct measuring *measuring = context;
	const struct ifp_run_rank *rank = ifp_run_rank(measuring->run, i);
	IFP_CLEANUP(cleanup_measured) struct measured *measured = calloc(1, sizeof(*measured));
	int err = 0;

	if (!measured)
		return ifp_fail(-ENOMEM, "plan a timeline: out of memory");
	measured->measure.sink = measuring->sink;
	ifp_measure_rank(&measured->measure, rank, i);
	if (rank->map)
		err = measure_scene(measuring, i, measured);
	if (!err)
		err = ifp_measure_end(&measured->measure);
	if (!err)
		*out = IFP_TAKE_PTR(measured);
	return err;
}

static struct ifp_scene *keep_scene(struct measuring *measuring, struct ifp_scene *scene)
{
	struct ifp_scene *kept;

	if (!scene->view.rank || measuring->kept_events + scene->view.loaded.count > KEPT_EVENTS)
		return NULL;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return NULL;
	measuring->kept_events += scene->view.loaded.count;
	*kept = *scene;
	*scene = (struct ifp_scene){0};
	return kept;
}

static int add_measured(void *context, uint32_t i, void *result)
{
	struct measuring *measuring = context;
	struct measured *measured = result;

	ifp_plan_merge(&measuring->all->plan, &measured->measure.plan);
	measuring->kept[i] = keep_scene(measuring, &measured->scene);
	drop_measured(measured);
	return 0;
}

uint32_t ifp_survey_threads(const struct ifp_run *run)
{
	uint32_t cores = ifp_process_cores();
	uint64_t most = 1;

	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++)
		if (ifp_run_rank(run, i)->event_count > most)
			most = ifp_run_rank(run, i)->event_count;
	if (cores > MEMORY_EVENTS / most)
		cores = (uint32_t)(MEMORY_EVENTS / most);
	return cores ? cores : 1;
}

static void measure_link(void *context, const struct ifp_sink_flow *flow, uint16_t level)
{
	const struct measuring *measuring = context;
	struct ifp_sink_flow most = *flow;

	most.from.lane = most.to.lane = IFP_MEASURE_MAX_LANE;
	ifp_measure_flow(measuring->all, &most, level);
}

/* What lies between the ranks, once they have been measured. */
static int measure_links(struct measuring *measuring)
{
	IFP_CLEANUP_COUNTERS struct ifp_counters counters = {0};
	struct ifp_measure *all = measuring->all;
	int err = ifp_links_each(measuring->links, &all->texts, measure_link, measuring);

	if (!err && measuring->sink->ops->whole_run)
		err = ifp_links_skew(measuring->links, &counters);
	if (err)
		return err;
	ifp_measure_counters(all, &counters);
	return ifp_measure_end(all);
}

static void drop_measure(struct ifp_measure **measure)
{
	if (*measure)
		ifp_measure_free(*measure);
	free(*measure);
}

int ifp_survey(struct ifp_run *run, const struct ifp_sink *sink, struct ifp_links *links,
	struct ifp_scene **kept, uint16_t *level)
{
	IFP_CLEANUP(drop_measure) struct ifp_measure *all = calloc(1, sizeof(*all));
	struct measuring measuring = {run, sink, links, all, kept, 0};
	const struct ifp_relay relay = {
		.count = ifp_run_rank_count(run),
		.threads = ifp_survey_threads(run),
		.context = &measuring,
		.work = measure_rank,
		.take = add_measured,
		.drop = drop_measured,
	};
	struct ifp_size size;
	int err;

	if (!all)
		return ifp_fail(-ENOMEM, "plan a timeline: out of memory");
	all->sink = sink;
	if (sink->ops->frame_bytes)
		all->plan.always.bytes = (int64_t)sink->ops->frame_bytes(sink, NOTE_BYTES);
	err = ifp_relay_run(&relay);
	if (!err)
		err = measure_links(&measuring);
	if (err)
		return err;
	err = ifp_plan_choose(&all->plan, &sink->budget, level, &size);
	return err ? ifp_account_too_little(&sink->budget, size, relay.count) : 0;
}
