/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/matching.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Working memory of one matching. */
struct matcher {
	const struct ifp_rank_times *ranks;
	uint32_t rank_count;
	size_t *position; /* by rank: of the first collective not looked at */
	size_t *count;	  /* by rank: of its collectives of the step at hand */
	const struct ifp_collective **first;
};

/* Lowest step that any rank still has a collective of; false when there is none. */
static bool next_step(const struct matcher *m, uint64_t *step)
{
	bool any = false;

	for (uint32_t r = 0; r < m->rank_count; r++) {
		const struct ifp_rank_times *rank = &m->ranks[r];

		if (m->position[r] == rank->collective_count)
			continue;
		if (!any || rank->collectives[m->position[r]].step < *step)
			*step = rank->collectives[m->position[r]].step;
		any = true;
	}
	return any;
}

/* Moves a rank behind its collectives of the step; it may have none. */
static void take_rank(struct matcher *m, uint32_t r, uint64_t step)
{
	const struct ifp_rank_times *rank = &m->ranks[r];
	size_t first = m->position[r];

	while (m->position[r] < rank->collective_count &&
		rank->collectives[m->position[r]].step == step)
		m->position[r]++;
	m->first[r] = rank->collectives + first;
	m->count[r] = m->position[r] - first;
}

static bool are_same(const struct matcher *m)
{
	for (uint32_t r = 0; r < m->rank_count; r++) {
		if (!m->count[r] || m->count[r] != m->count[0])
			return false;
		for (size_t k = 0; k < m->count[0]; k++) {
			if (m->first[r][k].name != m->first[0][k].name)
				return false;
		}
	}
	return true;
}

int ifp_match_steps(const struct ifp_rank_times *ranks, uint32_t rank_count,
	int (*take)(void *context, const struct ifp_matched_step *step), void *context,
	uint32_t *skipped)
{
	IFP_CLEANUP_FREE size_t *position = calloc(rank_count, sizeof(*position));
	IFP_CLEANUP_FREE size_t *count = calloc(rank_count, sizeof(*count));
	IFP_CLEANUP_FREE const struct ifp_collective **first = calloc(rank_count, sizeof(*first));
	struct matcher m = {ranks, rank_count, position, count, first};
	uint64_t step = 0;
	int err = 0;

	if (!position || !count || !first)
		return ifp_fail(-ENOMEM, "compare the collectives of %u ranks", rank_count);
	*skipped = 0;
	while (!err && next_step(&m, &step)) {
		for (uint32_t r = 0; r < rank_count; r++)
			take_rank(&m, r, step);
		if (are_same(&m))
			err = take(context, &(struct ifp_matched_step){step, count[0], first});
		else
			(*skipped)++;
	}
	return err;
}
