/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/groups.h"

#include "collector/analyse/matching.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A collective while they are brought into the order of their groups. */
struct entry {
	uint32_t group; /* place among all groups */
	uint32_t rank;
	const struct ifp_collective *collective;
};

struct meeting_maker {
	const struct ifp_activity *activity;
	struct entry *entries;
	struct ifp_collective *collectives; /* as entries */
	size_t count;
	struct ifp_rank_times *times; /* of one group */
	uint32_t *ranks;
	const struct ifp_collective **parts;
	uint32_t rank_count;
	int (*take)(void *context, const struct ifp_meeting *meeting);
	void *context;
};

/* "2 "0" "[0, 1]"": the size comes first. */
void ifp_group_key(struct ifp_str args, struct ifp_buf *key)
{
	struct ifp_str name = {0}, ranks = {0};
	int64_t size;

	ifp_buf_clear(key);
	if (!ifp_args_find_int(args, "Group size", &size) || size < 1 || size > UINT32_MAX ||
		!ifp_args_find(args, "Process Group Name", &name))
		return;
	ifp_args_find(args, "Process Group Ranks", &ranks);
	ifp_buf_printf(key, "%" PRId64 " ", size);
	ifp_buf_append(key, name.ptr, name.len_bytes);
	ifp_buf_append_u8(key, ' ');
	ifp_buf_append(key, ranks.ptr, ranks.len_bytes);
}

/* Of the ranks in the group with that key; 0 = not known. */
static uint32_t group_size(struct ifp_str key)
{
	uint32_t size = 0;

	for (uint32_t i = 0; i < key.len_bytes && key.ptr[i] != ' '; i++)
		size = 10 * size + (uint32_t)(key.ptr[i] - '0');
	return size;
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->collective > b->collective) - (a->collective < b->collective);
}

struct named_group {
	struct ifp_str key;
	uint32_t id;
};

static int compare_groups(const void *left, const void *right)
{
	const struct named_group *a = left, *b = right;
	uint32_t shorter =
		a->key.len_bytes < b->key.len_bytes ? a->key.len_bytes : b->key.len_bytes;
	int result = memcmp(a->key.ptr, b->key.ptr, shorter);

	if (result)
		return result;
	return (a->key.len_bytes > b->key.len_bytes) - (a->key.len_bytes < b->key.len_bytes);
}

/* By id: the place in an order that does not depend on which rank was read first. */
static int order_groups(const struct ifp_intern *groups, uint32_t *place)
{
	IFP_CLEANUP_FREE struct named_group *named = calloc(groups->count + 1u, sizeof(*named));

	if (!named)
		return ifp_fail(-ENOMEM, "compare %u process groups", groups->count);
	for (uint32_t i = 0; i < groups->count; i++)
		named[i] = (struct named_group){ifp_intern_text(groups, i), i};
	qsort(named, groups->count, sizeof(*named), compare_groups);
	for (uint32_t i = 0; i < groups->count; i++)
		place[named[i].id] = i;
	return 0;
}

static int fill_entries(struct meeting_maker *m, enum ifp_activity_kind kind)
{
	const struct ifp_intern *groups = &m->activity->groups;
	IFP_CLEANUP_FREE uint32_t *place = calloc(groups->count + 1u, sizeof(*place));
	int err = place ? order_groups(groups, place)
			: ifp_fail(-ENOMEM, "compare %u process groups", groups->count);

	if (err)
		return err;
	for (uint32_t r = 0; r < m->activity->rank_count; r++) {
		size_t count;
		const struct ifp_collective *list =
			ifp_activity_list(&m->activity->ranks[r], kind, &count);

		for (size_t i = 0; i < count; i++)
			m->entries[m->count++] = (struct entry){place[list[i].group], r, &list[i]};
	}
	qsort(m->entries, m->count, sizeof(*m->entries), compare_entries);
	for (size_t i = 0; i < m->count; i++)
		m->collectives[i] = *m->entries[i].collective;
	return 0;
}

static int take_step(void *context, const struct ifp_matched_step *step)
{
	struct meeting_maker *m = context;
	int err = 0;

	for (size_t k = 0; k < step->count && !err; k++) {
		for (uint32_t r = 0; r < m->rank_count; r++)
			m->parts[r] = &step->first[r][k];
		err = m->take(m->context, &(struct ifp_meeting){m->rank_count, m->ranks, m->parts});
	}
	return err;
}

/* Of the group that begins at entry first; *end: behind its last one. */
static int meet_group(struct meeting_maker *m, size_t first, size_t *end)
{
	uint32_t id = m->collectives[first].group, size, skipped;
	size_t i = first;

	m->rank_count = 0;
	while (i < m->count && m->entries[i].group == m->entries[first].group) {
		struct ifp_rank_times *rank = &m->times[m->rank_count];

		m->ranks[m->rank_count++] = m->entries[i].rank;
		*rank = (struct ifp_rank_times){.collectives = &m->collectives[i]};
		for (; i < m->count && m->entries[i].group == m->entries[first].group &&
			m->entries[i].rank == m->ranks[m->rank_count - 1];
			i++)
			rank->collective_count++;
	}
	*end = i;
	size = group_size(ifp_intern_text(&m->activity->groups, id));
	if (m->rank_count < 2 || (size && size != m->rank_count))
		return 0;
	return ifp_match_steps(m->times, m->rank_count, take_step, m, &skipped);
}

int ifp_groups_meet(const struct ifp_activity *activity,
	int (*take)(void *context, const struct ifp_meeting *meeting), void *context)
{
	enum ifp_activity_kind kind = ifp_activity_kind(activity);
	size_t total = 1, count, ranks = activity->rank_count + 1u;
	struct meeting_maker m = {.activity = activity, .take = take, .context = context};
	int err = 0;

	for (uint32_t r = 0; r < activity->rank_count; r++) {
		ifp_activity_list(&activity->ranks[r], kind, &count);
		total += count;
	}
	IFP_CLEANUP_FREE struct entry *entries = calloc(total, sizeof(*entries));
	IFP_CLEANUP_FREE struct ifp_collective *collectives = calloc(total, sizeof(*collectives));
	IFP_CLEANUP_FREE struct ifp_rank_times *times = calloc(ranks, sizeof(*times));
	IFP_CLEANUP_FREE uint32_t *places = calloc(ranks, sizeof(*places));
	IFP_CLEANUP_FREE const struct ifp_collective **parts = calloc(ranks, sizeof(*parts));

	if (!entries || !collectives || !times || !places || !parts)
		return ifp_fail(-ENOMEM, "compare %zu collectives", total);
	m.entries = entries;
	m.collectives = collectives;
	m.times = times;
	m.ranks = places;
	m.parts = parts;
	err = fill_entries(&m, kind);
	for (size_t i = 0, end; i < m.count && !err; i = end)
		err = meet_group(&m, i, &end);
	return err;
}
