/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/sim/sim.h"

#include "clocksync/exchange/plan.h"
#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How long the readings of a tuple take. */
#define TUPLE_WIDTH_NS 60

/* One tuple of this many is read by a thread that is descheduled in the middle of it. */
#define WIDE_TUPLES 20
#define WIDE_NS (5 * IFP_NS_PER_MS)

int ifp_sim_new(uint64_t seed, uint32_t node_count, uint32_t ranks_per_node, struct ifp_sim *out)
{
	uint32_t rank_count = node_count * ranks_per_node;
	struct ifp_sim sim = {.seed = seed,
		.random = seed,
		.node_count = node_count,
		.ranks_per_node = ranks_per_node};

	sim.clocks = calloc(node_count, sizeof(*sim.clocks));
	sim.ranks = calloc(rank_count, sizeof(*sim.ranks));
	sim.samples = calloc(rank_count, sizeof(*sim.samples));
	if (!sim.clocks || !sim.ranks || !sim.samples) {
		free(sim.clocks);
		free(sim.ranks);
		free(sim.samples);
		return -ENOMEM;
	}
	for (uint32_t r = 0; r < rank_count; r++) {
		struct ifp_clock_identity *identity = &sim.ranks[r].identity;

		sim.ranks[r].rank = r;
		sim.ranks[r].samples = sim.samples + r;
		snprintf(identity->boot_id, sizeof(identity->boot_id), "node-%u",
			(unsigned int)(r / ranks_per_node));
		identity->time_namespace = 4026531834;
	}
	*out = sim;
	return 0;
}

void ifp_sim_free(struct ifp_sim *sim)
{
	for (uint32_t r = 0; sim->samples && r < sim->node_count * sim->ranks_per_node; r++) {
		free(sim->samples[r].tuples);
		free(sim->samples[r].edges);
		free(sim->samples[r].collectives);
		free(sim->samples[r].suspensions);
	}
	for (uint32_t i = 0; sim->clocks && i < sim->node_count; i++)
		free(sim->clocks[i].walk_ns);
	free(sim->clocks);
	free(sim->ranks);
	free(sim->samples);
	*sim = (struct ifp_sim){0};
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

double ifp_sim_random(struct ifp_sim *sim)
{
	return (double)(next_random(&sim->random) >> 11) * 0x1p-53;
}

int64_t ifp_sim_random_within(struct ifp_sim *sim, int64_t limit)
{
	return llround((2 * ifp_sim_random(sim) - 1) * (double)limit);
}

/*
 * One more element in an array that grows by doubling; NULL when memory is short. Its capacity is
 * the power of two at or above its count.
 */
static void *grow(void *array, uint32_t count, size_t element_bytes)
{
	if (count & (count - 1))
		return array;
	return realloc(array, (count ? 2 * (size_t)count : 1) * element_bytes);
}

static struct ifp_clock_tuple read_tuple(
	struct ifp_sim *sim, const struct ifp_sim_clock *clock, ifp_true_ns at)
{
	int64_t width_ns = TUPLE_WIDTH_NS + (int64_t)(ifp_sim_random(sim) * TUPLE_WIDTH_NS);
	ifp_true_ns end = at;
	struct ifp_clock_tuple tuple = {
		.realtime_ns = ifp_sim_realtime(clock, at),
		.tsc_ticks = (uint64_t)ifp_sim_tsc(clock, at),
	};

	/* REALTIME and TSC are read at the beginning of the interval or in its middle */
	if (ifp_sim_random(sim) * WIDE_TUPLES < 1)
		width_ns += WIDE_NS;
	end.ns += width_ns;
	tuple.raw_ns =
		ifp_sim_raw(clock, at) + (ifp_sim_raw(clock, end) - ifp_sim_raw(clock, at)) / 2;
	tuple.width_ns = width_ns;
	if (width_ns < WIDE_NS) {
		ifp_true_ns middle = {at.ns + width_ns / 2};

		tuple.realtime_ns = ifp_sim_realtime(clock, middle);
		tuple.tsc_ticks = (uint64_t)ifp_sim_tsc(clock, middle);
	}
	return tuple;
}

int ifp_sim_tuples(struct ifp_sim *sim, ifp_true_ns first, ifp_true_ns last, int64_t period_ns)
{
	for (uint32_t r = 0; r < sim->node_count * sim->ranks_per_node; r++) {
		struct ifp_clock_samples *samples = sim->samples + r;

		for (ifp_true_ns at = first; at.ns <= last.ns; at.ns += period_ns) {
			struct ifp_clock_tuple *tuples =
				grow(samples->tuples, samples->tuple_count, sizeof(*tuples));

			if (!tuples)
				return -ENOMEM;
			samples->tuples = tuples;
			tuples[samples->tuple_count++] =
				read_tuple(sim, sim->clocks + r / sim->ranks_per_node, at);
		}
	}
	return 0;
}

int ifp_sim_keep(struct ifp_sim *sim, const struct ifp_clock_edge *edge)
{
	struct ifp_clock_samples *samples = sim->samples + edge->client;
	struct ifp_clock_edge *edges = grow(samples->edges, samples->edge_count, sizeof(*edges));

	if (!edges)
		return -ENOMEM;
	samples->edges = edges;
	edges[samples->edge_count++] = *edge;
	return 0;
}

ifp_true_ns ifp_sim_epoch(
	struct ifp_sim *sim, uint32_t epoch, uint32_t trips, ifp_true_ns at, int64_t gap_ns)
{
	uint32_t count = ifp_clock_plan(sim->node_count, NULL);
	IFP_CLEANUP_FREE struct ifp_clock_pair *pairs = calloc(count + 1, sizeof(*pairs));
	ifp_true_ns now = at;

	if (!pairs)
		return at;
	ifp_clock_plan(sim->node_count, pairs);
	for (uint32_t i = 0; i < count; i++) {
		struct ifp_clock_edge edge = {.epoch = epoch,
			.client = pairs[i].client * sim->ranks_per_node,
			.server = pairs[i].server * sim->ranks_per_node};

		ifp_edge_start(&edge);
		for (uint32_t k = 0; k < trips; k++) {
			struct ifp_sim_pair pair = {pairs[i].client, pairs[i].server, epoch};
			struct ifp_round_trip trip = ifp_sim_round_trip(sim, &pair, k, &now);

			ifp_edge_add(&edge, &trip);
		}
		now.ns += gap_ns;
		if (ifp_sim_keep(sim, &edge))
			return at;
	}
	return now;
}
