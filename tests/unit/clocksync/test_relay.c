/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges over a path of known delays, jitter, spikes and asymmetry, from the first ping to the
 * map. Client and server read one clock, so the truth is 0.
 *
 * No exchange of messages can see an asymmetry: it shifts the estimate by half of it. What it can
 * see is how much longer than the two floors its interval is: that is the jitter that was left when
 * the exchange was over, and the estimate is no farther from half the asymmetry than half of that.
 */
#include "clocksync/estimate/edge.h"
#include "clocksync/estimate/map.h"
#include "core/cleanup.h"
#include "core/clock.h"

#include "ping_thread.h"
#include "relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US IFP_NS_PER_US
#define EPOCHS 4

static const struct path {
	const char *name;
	struct relay_delay to_server, to_client;
} paths[] = {
	{"even", {.floor_ns = 500 * US}, {.floor_ns = 500 * US}},
	{"slower to the server", {.floor_ns = 3000 * US}, {.floor_ns = 500 * US}},
	{"slower to the client", {.floor_ns = 200 * US}, {.floor_ns = 2500 * US}},
	{"jitter to both sides", {.floor_ns = 1500 * US, .jitter_ns = 300e3},
		{.floor_ns = 500 * US, .jitter_ns = 300e3}},
	{"jitter to one side", {.floor_ns = 500 * US, .jitter_ns = 1000e3}, {.floor_ns = 500 * US}},
	{"spikes",
		{.floor_ns = 2500 * US,
			.jitter_ns = 50e3,
			.spike_share = 0.3,
			.spike_ns = 20000 * US},
		{.floor_ns = 500 * US,
			.jitter_ns = 50e3,
			.spike_share = 0.3,
			.spike_ns = 20000 * US}},
};

static int64_t asymmetry_ns(const struct path *path)
{
	return path->to_server.floor_ns - path->to_client.floor_ns;
}

/* Jitter of both directions that an edge has not got rid of. */
static int64_t jitter_left_ns(const struct path *path, const struct ifp_clock_edge *edge)
{
	return edge->high_ns - edge->low_ns - path->to_server.floor_ns - path->to_client.floor_ns;
}

/* |2 * middle - asymmetry| <= jitter: the same, without halves. */
static void check_edge(const struct path *path, const struct ifp_clock_edge *edge)
{
	int64_t jitter_ns = jitter_left_ns(path, edge);
	int64_t away_ns = edge->low_ns + edge->high_ns - asymmetry_ns(path);

	assert_true(ifp_edge_usable(edge));
	assert_true(edge->low_ns <= 0 && edge->high_ns >= 0);
	assert_true(jitter_ns >= 0);
	assert_true(llabs(away_ns) <= jitter_ns);
}

static void measure(const struct path *path, struct ifp_clock_edge *edges)
{
	struct serving serving = {0};
	struct relay relay = {.delays = {path->to_server, path->to_client},
		.random = (uint64_t)asymmetry_ns(path)};
	char endpoint[64];

	serving_start(&serving, "tcp://127.0.0.1:*", NULL);
	relay.server_port =
		(uint16_t)atoi(strrchr(ifp_ping_server_endpoint(serving.server), ':') + 1);
	relay_start(&relay);
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%u", relay.port);
	for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
		edges[epoch] = (struct ifp_clock_edge){.epoch = epoch, .client = 0, .server = 1};
		assert_ok(ifp_ping_measure(
			serving.context, endpoint, NULL, 32, 60000, &edges[epoch]));
	}
	relay_stop(&relay);
	serving_stop(&serving);
}

static void every_exchange_is_off_by_half_the_asymmetry(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(paths); i++) {
		struct ifp_clock_edge edges[EPOCHS];

		measure(&paths[i], edges);
		for (int e = 0; e < EPOCHS; e++)
			check_edge(&paths[i], &edges[e]);
	}
}

/* Two ranks of two machines, as far as their identities say. */
static struct ifp_clock_solution *solve(
	struct ifp_clock_tuple tuples[2], struct ifp_clock_edge *edges)
{
	struct ifp_clock_samples samples[] = {
		{.tuples = tuples, .tuple_count = 2, .edges = edges, .edge_count = EPOCHS},
		{.tuples = tuples, .tuple_count = 2}};
	const struct ifp_clock_rank ranks[] = {
		{.rank = 0, .identity = {.boot_id = "a"}, .samples = &samples[0]},
		{.rank = 1, .identity = {.boot_id = "b"}, .samples = &samples[1]}};
	struct ifp_clock_solution *solution = NULL;

	assert_ok(ifp_clock_solve(ranks, 2, &solution));
	return solution;
}

/* Largest jitter that one of the exchanges was left with: the map is no worse than its worst point. */
static int64_t jitter_of_all_ns(const struct path *path, const struct ifp_clock_edge *edges)
{
	int64_t most_ns = 0;

	for (int e = 0; e < EPOCHS; e++) {
		int64_t jitter_ns = jitter_left_ns(path, &edges[e]);

		most_ns = jitter_ns > most_ns ? jitter_ns : most_ns;
	}
	return most_ns;
}

static void map_holds_the_truth_at_every_exchange(void **state)
{
	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(paths); i++) {
		struct ifp_clock_tuple tuples[2] = {ifp_clock_tuple_read()};
		struct ifp_clock_edge edges[EPOCHS];
		struct ifp_clock_solution *solution;
		const struct ifp_clock_map *map;
		int64_t jitter_ns;

		measure(&paths[i], edges);
		tuples[1] = ifp_clock_tuple_read();
		jitter_ns = jitter_of_all_ns(&paths[i], edges);
		solution = solve(tuples, edges);
		map = ifp_clock_solution_map(solution, 1);
		assert_int_equal(ifp_clock_map_epoch_count(map), EPOCHS);
		for (uint32_t e = 0; e < EPOCHS; e++) {
			struct ifp_clock_epoch epoch = ifp_clock_map_epoch(map, e);

			assert_true(epoch.low_ns <= 0 && epoch.high_ns >= 0);
			assert_true(
				ifp_clock_map_bound_ns(map, epoch.at) >= llabs(epoch.offset_ns));
			assert_true(llabs(2 * epoch.offset_ns - asymmetry_ns(&paths[i])) <=
				    2 * jitter_ns);
		}
		ifp_clock_solution_free(&solution);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_exchange_is_off_by_half_the_asymmetry),
		cmocka_unit_test(map_holds_the_truth_at_every_exchange),
	};

	return RUN_TESTS(tests);
}
