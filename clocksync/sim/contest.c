/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/sim/contest.h"

#include "core/cleanup.h"

#include <errno.h>
#include <stdlib.h>

/* Fewest round trips before patience ends an exchange. */
#define MIN_ROUND_TRIPS 8

int ifp_contestant_new(
	const struct ifp_aligner_ops *ops, uint32_t nodes, struct ifp_contestant *out)
{
	struct ifp_contestant contestant = {.ops = ops, .aligner = ops->new (nodes)};

	if (!contestant.aligner)
		return -ENOMEM;
	*out = contestant;
	return 0;
}

void ifp_contestant_free(struct ifp_contestant *contestant)
{
	if (contestant->aligner)
		contestant->ops->free(contestant->aligner);
	*contestant = (struct ifp_contestant){0};
}

/* One wish, from when both are free. Returns when it was done. */
static ifp_true_ns fulfil(const struct ifp_sim *sim, struct ifp_contestant *contestant,
	const struct ifp_aligner_occasion *occasion, uint32_t index,
	const struct ifp_aligner_wish *wish, ifp_true_ns at)
{
	struct ifp_sim_pair pair = {wish->client, wish->server, occasion->epoch};
	uint32_t without_gain = 0;

	for (uint32_t i = 0; i < wish->trips; i++) {
		struct ifp_round_trip trip = ifp_sim_round_trip(sim, &pair, i, &at);

		if (contestant->spoil)
			contestant->spoil(&trip);
		if (contestant->ops->sample(contestant->aligner, index, &trip))
			without_gain = 0;
		else
			without_gain++;
		contestant->messages += 2;
		if (wish->patience && i + 1 >= MIN_ROUND_TRIPS && without_gain >= wish->patience)
			break;
	}
	return at;
}

static ifp_true_ns later(ifp_true_ns a, ifp_true_ns b)
{
	return a.ns > b.ns ? a : b;
}

static ifp_true_ns ping_pongs(const struct ifp_sim *sim, struct ifp_contestant *contestant,
	const struct ifp_aligner_occasion *occasion, ifp_true_ns at, ifp_true_ns *free_at)
{
	const struct ifp_aligner_wish *wishes;
	uint32_t count = contestant->ops->wishes(contestant->aligner, occasion, &wishes);
	ifp_true_ns end = at;

	for (uint32_t i = 0; i < count; i++) {
		ifp_true_ns *client = free_at + wishes[i].client;
		ifp_true_ns *server = free_at + wishes[i].server;

		*client = *server =
			fulfil(sim, contestant, occasion, i, wishes + i, later(*client, *server));
		end = later(end, *client);
	}
	return end;
}

/*
 * A barrier by dissemination: in round d everyone tells node + 2^d and hears from node - 2^d. The
 * exits are read from each clock when its last round is done.
 */
static int barrier(const struct ifp_sim *sim, struct ifp_contestant *contestant,
	const struct ifp_aligner_occasion *occasion, ifp_true_ns *free_at, ifp_true_ns *end)
{
	uint32_t n = sim->node_count;
	IFP_CLEANUP_FREE ifp_true_ns *heard = calloc(n, sizeof(*heard));
	IFP_CLEANUP_FREE int64_t *exits_ns = calloc(n, sizeof(*exits_ns));

	if (!heard || !exits_ns)
		return -ENOMEM;
	for (uint64_t step = 1; step < n; step <<= 1) {
		for (uint32_t i = 0; i < n; i++) {
			uint32_t to = (uint32_t)((i + step) % n);
			struct ifp_sim_pair pair = {i, to, occasion->epoch};

			heard[to].ns = free_at[i].ns + ifp_sim_delay(sim, &pair, 0, false);
		}
		for (uint32_t i = 0; i < n; i++)
			free_at[i] = later(free_at[i], heard[i]);
		contestant->messages += n;
	}
	for (uint32_t i = 0; i < n; i++) {
		exits_ns[i] = ifp_sim_raw(sim->clocks + i, free_at[i]);
		*end = later(*end, free_at[i]);
	}
	contestant->ops->exits(contestant->aligner, exits_ns);
	return 0;
}

int ifp_contest_exchange(const struct ifp_sim *sim, struct ifp_contestant *contestant,
	const struct ifp_aligner_occasion *occasion, ifp_true_ns at, ifp_true_ns *end)
{
	IFP_CLEANUP_FREE ifp_true_ns *free_at = calloc(sim->node_count, sizeof(*free_at));

	if (!free_at)
		return -ENOMEM;
	for (uint32_t i = 0; i < sim->node_count; i++)
		free_at[i] = at;
	*end = ping_pongs(sim, contestant, occasion, at, free_at);
	if (contestant->ops->exits && occasion->epoch == 0 &&
		barrier(sim, contestant, occasion, free_at, end))
		return -ENOMEM;
	return contestant->ops->settle(contestant->aligner);
}

int64_t ifp_contest_error_ns(const struct ifp_sim *sim, const struct ifp_contestant *contestant,
	uint32_t node, ifp_true_ns moment)
{
	ifp_local_ns local = {ifp_sim_raw(sim->clocks + node, moment)};

	return contestant->ops->map(contestant->aligner, node, local).ns -
	       ifp_sim_raw(sim->clocks, moment);
}
