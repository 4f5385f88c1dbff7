/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/links.h"

#include "collector/analyse/groups.h"
#include "collector/analyse/verdict.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

/* Behind all ids of arrows within ranks (elements.c), and below 2^53. */
#define FIRST_ID (UINT64_C(1) << 52)

int ifp_links_begin(uint32_t rank_count, struct ifp_links *links)
{
	struct ifp_activity *activity = &links->activity;

	*links = (struct ifp_links){.lock = PTHREAD_MUTEX_INITIALIZER};
	activity->rank_count = rank_count;
	activity->ranks =
		ifp_arena_alloc(&activity->arena, (rank_count + 1) * sizeof(*activity->ranks));
	links->ranks = calloc(rank_count + 1u, sizeof(*links->ranks));
	if (!activity->ranks || !links->ranks)
		return ifp_fail(-ENOMEM, "compare %u ranks", rank_count);
	for (uint32_t i = 0; i < rank_count; i++)
		activity->ranks[i] = (struct ifp_rank_activity){.bound_ns = INT64_MAX};
	return 0;
}

static int compare_ends(const void *left, const void *right)
{
	const struct ifp_link_end *a = left, *b = right;

	return (a->event > b->event) - (a->event < b->event);
}

static void add_ends(
	struct ifp_link_rank *rank, const struct ifp_collective *collectives, size_t count)
{
	for (size_t i = 0; i < count; i++)
		rank->ends[rank->count++] = (struct ifp_link_end){
			.event = collectives[i].event, .shown = IFP_LEVEL_NEVER};
}

static int take_collectives(struct ifp_links *links, uint32_t i, const struct ifp_scene *scene)
{
	const struct ifp_rank_events *loaded = &scene->view.loaded;
	struct ifp_rank_activity *activity = &links->activity.ranks[i];
	struct ifp_link_rank *rank = &links->ranks[i];
	int err;

	activity->rank = scene->view.rank->rank;
	activity->bound_ns = ifp_clock_map_summary(scene->view.rank->map).bound_ns;
	err = ifp_activity_take(&links->activity, loaded->events, loaded->count, activity);
	if (err)
		return err;
	rank->ends = ifp_arena_alloc(&links->activity.arena,
		(activity->host_count + activity->device_count + activity->mpi_count + 1) *
			sizeof(*rank->ends));
	if (!rank->ends)
		return ifp_fail(-ENOMEM, "compare the collectives of rank %u", activity->rank);
	add_ends(rank, activity->host, activity->host_count);
	add_ends(rank, activity->device, activity->device_count);
	add_ends(rank, activity->mpi, activity->mpi_count);
	qsort(rank->ends, rank->count, sizeof(*rank->ends), compare_ends);
	rank->taken = true;
	return 0;
}

static struct ifp_link_end *find_end(const struct ifp_link_rank *rank, uint32_t event)
{
	const struct ifp_link_end key = {.event = event};

	return rank->count ? bsearch(&key, rank->ends, rank->count, sizeof(key), compare_ends)
			   : NULL;
}

static void place_ends(struct ifp_link_rank *rank, const struct ifp_scene *scene)
{
	for (uint32_t i = 0; i < scene->slices.count; i++) {
		const struct ifp_node *node = &scene->nodes.items[i];
		const struct ifp_slice *slice = &scene->slices.items[i];
		struct ifp_link_end *end;

		if (node->shown == IFP_LEVEL_NEVER || node->subject != IFP_SUBJECT_COLLECTIVE)
			continue;
		end = find_end(rank, slice->event);
		if (!end)
			continue;
		end->shown = node->shown;
		end->lane = scene->view.lanes.rows[slice->lane].first_tid + slice->sublane;
	}
}

int ifp_links_take(struct ifp_links *links, uint32_t i, const struct ifp_scene *scene)
{
	int err = 0;

	pthread_mutex_lock(&links->lock);
	if (!links->ranks[i].taken)
		err = take_collectives(links, i, scene);
	if (!err)
		place_ends(&links->ranks[i], scene);
	pthread_mutex_unlock(&links->lock);
	return err;
}

/* Who came first and last to a collective. */
struct arrival {
	uint32_t first, last; /* places in the meeting */
	int64_t first_ns, last_ns;
	bool aligned;	 /* all of its ranks */
	bool last_known; /* whatever the clocks are off by */
};

static struct arrival arrival_at(const struct ifp_links *links, const struct ifp_meeting *meeting)
{
	struct arrival found = {.aligned = true};
	int64_t before_ns = INT64_MIN, bound_ns = 0;

	for (uint32_t r = 0; r < meeting->count; r++) {
		int64_t start_ns = meeting->parts[r]->start_ns;

		if (start_ns < meeting->parts[found.first]->start_ns)
			found.first = r;
		if (start_ns > meeting->parts[found.last]->start_ns)
			found.last = r;
	}
	for (uint32_t r = 0; r < meeting->count; r++) {
		int64_t of_rank_ns = ifp_activity_uncertainty(
			&links->activity.ranks[meeting->ranks[r]]);

		found.aligned = found.aligned && of_rank_ns != INT64_MAX;
		if (r == found.last)
			continue;
		if (meeting->parts[r]->start_ns > before_ns)
			before_ns = meeting->parts[r]->start_ns;
		if (of_rank_ns > bound_ns)
			bound_ns = of_rank_ns;
	}
	found.first_ns = meeting->parts[found.first]->start_ns;
	found.last_ns = meeting->parts[found.last]->start_ns;
	found.last_known =
		found.aligned &&
		found.last_ns - before_ns >
			bound_ns + 2 * IFP_KINETO_BIAS_NS +
				ifp_activity_uncertainty(
					&links->activity.ranks[meeting->ranks[found.last]]);
	return found;
}

/* The arrows while they are told. */
struct telling {
	const struct ifp_links *links;
	struct ifp_element_texts *texts;
	void (*take)(void *context, const struct ifp_sink_flow *flow, uint16_t level);
	void *context;
	uint64_t told;
};

static const struct ifp_link_end *end_of(
	const struct telling *t, const struct ifp_meeting *meeting, uint32_t r)
{
	return find_end(&t->links->ranks[meeting->ranks[r]], meeting->parts[r]->event);
}

static void tell(struct telling *t, const struct ifp_meeting *meeting, uint32_t from, uint32_t to,
	int64_t to_ns)
{
	const struct ifp_link_end *a = end_of(t, meeting, from), *b = end_of(t, meeting, to);
	uint16_t level = IFP_LEVEL_ARROWS;
	struct ifp_sink_flow flow = {
		.id = FIRST_ID + t->told++,
		.category = ifp_str("collective"),
		.name = {(const char *)t->texts->name.data, (uint32_t)t->texts->name.len_bytes},
		.from = {.rank_order = meeting->ranks[from],
			.lane = a->lane,
			.start_ns = meeting->parts[from]->start_ns},
		.to = {.rank_order = meeting->ranks[to], .lane = b->lane, .start_ns = to_ns},
	};

	if (a->shown > level)
		level = a->shown;
	if (b->shown > level)
		level = b->shown;
	t->take(t->context, &flow, level);
}

/* waited: for that rank; otherwise the slices are just parts of one. */
static void name_arrow(
	struct telling *t, const struct ifp_meeting *meeting, bool waited, uint32_t last)
{
	const struct ifp_activity *activity = &t->links->activity;
	struct ifp_str name = ifp_intern_text(&activity->names, meeting->parts[0]->name);
	struct ifp_buf *out = &t->texts->name;

	ifp_buf_clear(out);
	ifp_buf_append(out, name.ptr, name.len_bytes);
	if (waited)
		ifp_buf_printf(
			out, ", waited for rank %u", activity->ranks[meeting->ranks[last]].rank);
	else
		ifp_buf_append_text(out, ", the same one");
	t->texts->failed |= out->failed;
}

static int tell_meeting(void *context, const struct ifp_meeting *meeting)
{
	struct telling *t = context;
	struct arrival at = arrival_at(t->links, meeting);

	for (uint32_t r = 0; r < meeting->count; r++) {
		const struct ifp_collective *part = meeting->parts[r];
		bool waited = at.last_known && part->start_ns + part->dur_ns >= at.last_ns;

		if (r == (at.last_known ? at.last : at.first))
			continue;
		name_arrow(t, meeting, waited, at.last);
		/* Viewers want no arrows back in time. */
		if (waited)
			tell(t, meeting, at.last, r, at.last_ns);
		else if (at.last_known)
			tell(t, meeting, r, at.last, at.last_ns);
		else
			tell(t, meeting, at.first, r, part->start_ns);
	}
	return 0;
}

int ifp_links_each(const struct ifp_links *links, struct ifp_element_texts *texts,
	void (*take)(void *context, const struct ifp_sink_flow *flow, uint16_t level),
	void *context)
{
	struct telling telling = {links, texts, take, context, 0};

	return ifp_groups_meet(&links->activity, tell_meeting, &telling);
}

struct measuring_skew {
	const struct ifp_links *links;
	struct ifp_samples samples;
};

static int add_skew(void *context, const struct ifp_meeting *meeting)
{
	struct measuring_skew *m = context;
	struct arrival at = arrival_at(m->links, meeting);

	return at.aligned ? ifp_samples_add(&m->samples, at.last_ns, at.last_ns - at.first_ns) : 0;
}

int ifp_links_skew(const struct ifp_links *links, struct ifp_counters *out)
{
	struct measuring_skew m = {.links = links};
	struct ifp_counter counter = {.name = "skew of collectives", .unit = "us", .decimals = 3};
	int err = ifp_groups_meet(&links->activity, add_skew, &m);

	ifp_samples_sort(&m.samples);
	if (!err)
		err = ifp_samples_most(
			&m.samples, false, IFP_COUNTERS_MOST_POINTS, &counter.samples);
	ifp_samples_free(&m.samples);
	if (!err && counter.samples.count)
		err = ifp_counters_add(out, &counter);
	if (err || !counter.samples.count)
		ifp_samples_free(&counter.samples);
	return err;
}

void ifp_links_free(struct ifp_links *links)
{
	ifp_activity_free(&links->activity);
	free(links->ranks);
	*links = (struct ifp_links){0};
}
