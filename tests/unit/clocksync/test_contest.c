/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ours and others' methods in one simulated job: that stamps are the same for all, that each method
 * does what its authors say, and where it fails as they do not say.
 */
#include "clocksync/peers/peers.h"
#include "clocksync/sim/contest.h"
#include "core/cleanup.h"

#include "test.h"

#include <stdlib.h>

#define US IFP_NS_PER_US
#define S IFP_NS_PER_S
#define NODES 24
#define EPOCHS 31

static ifp_true_ns at(int64_t ns)
{
	return (ifp_true_ns){ns};
}

/* Offsets of seconds; with or without drift. The network is exact or has some jitter. */
static struct ifp_sim job(double drift_ppm, double wander_ppm, double jitter_ns)
{
	struct ifp_sim sim;

	assert_ok(ifp_sim_new(11, NODES, 1, &sim));
	sim.network = (struct ifp_sim_network){.floor_ns = US, .jitter_ns = jitter_ns};
	for (uint32_t i = 0; i < NODES; i++) {
		sim.clocks[i].offset_ns = 5000 * S + i * S;
		sim.clocks[i].drift_ppm = drift_ppm * (i % 7);
		sim.clocks[i].wander_ppm = wander_ppm;
		sim.clocks[i].wander_period_s = 300;
		sim.clocks[i].wander_phase = i;
	}
	return sim;
}

/* 300 s with an exchange every 10 s. */
static void run(const struct ifp_sim *sim, struct ifp_contestant *contestant)
{
	for (uint32_t e = 0; e < EPOCHS; e++) {
		struct ifp_aligner_occasion occasion = {
			e, e + 1 == EPOCHS, e * 10 * S, e + 1 < EPOCHS ? 10 * S : 0};
		ifp_true_ns end;

		assert_ok(ifp_contest_exchange(sim, contestant, &occasion, at(e * 10 * S), &end));
	}
}

static int64_t worst_ns(
	const struct ifp_sim *sim, const struct ifp_contestant *contestant, ifp_true_ns moment)
{
	int64_t worst = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		int64_t error_ns = llabs(ifp_contest_error_ns(sim, contestant, i, moment));

		worst = error_ns > worst ? error_ns : worst;
	}
	return worst;
}

/* Worst error of a method at a moment, when it has seen the whole run. */
static int64_t worst_of(
	const struct ifp_sim *sim, const struct ifp_aligner_ops *ops, ifp_true_ns moment)
{
	IFP_CLEANUP(ifp_contestant_free) struct ifp_contestant contestant = {0};

	assert_ok(ifp_contestant_new(ops, NODES, &contestant));
	run(sim, &contestant);
	return worst_ns(sim, &contestant, moment);
}

static void same_question_has_the_same_stamps(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = job(3, 0.1, 100);
	struct ifp_sim_pair pair = {3, 7, 2}, back = {7, 3, 2}, later = {3, 7, 3};
	ifp_true_ns first = at(S), second = at(S);
	struct ifp_round_trip a = ifp_sim_round_trip(&sim, &pair, 5, &first);
	struct ifp_round_trip b;

	(void)state;
	ifp_sim_random(&sim);
	b = ifp_sim_round_trip(&sim, &pair, 5, &second);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(first.ns, second.ns);
	assert_int_not_equal(
		ifp_sim_delay(&sim, &pair, 5, false), ifp_sim_delay(&sim, &pair, 6, false));
	assert_int_not_equal(
		ifp_sim_delay(&sim, &pair, 5, false), ifp_sim_delay(&sim, &pair, 5, true));
	assert_int_not_equal(
		ifp_sim_delay(&sim, &pair, 5, false), ifp_sim_delay(&sim, &back, 5, false));
	assert_int_not_equal(
		ifp_sim_delay(&sim, &pair, 5, false), ifp_sim_delay(&sim, &later, 5, false));
}

/* Where nothing drifts and all messages take the same time, every exchange of messages is exact. */
static void all_are_exact_in_an_exact_world(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = job(0, 0, 0);

	(void)state;
	for (size_t i = 0; ifp_peers_and_ours[i]; i++) {
		int64_t error_ns = worst_of(&sim, ifp_peers_and_ours[i], at(150 * S));

		print_message("%s: %lld ns\n", ifp_peers_and_ours[i]->name, (long long)error_ns);
		assert_in_range(error_ns, 0, 2);
	}
}

/* With a constant drift all that draw a line are close, and constants are off by the drift. */
static void lines_follow_a_constant_drift(void **state)
{
	const struct ifp_aligner_ops *const lines[] = {&ifp_aligner_offline, &ifp_aligner_online,
		&ifp_peer_scorep, &ifp_peer_trace_compass};
	const struct ifp_aligner_ops *const constants[] = {
		&ifp_peer_skampi, &ifp_peer_extrae, &ifp_peer_perfetto};
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = job(3, 0, 0);

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(lines); i++)
		assert_in_range(worst_of(&sim, lines[i], at(305 * S)), 0, 60);
	for (size_t i = 0; i < IFP_ARRAY_SIZE(constants); i++)
		assert_true(worst_of(&sim, constants[i], at(300 * S)) > 18 * 150 * US * 9 / 10);
}

/* Fits over the start's milliseconds carry their slopes' errors on. */
static void fits_at_the_start_grow_old(void **state)
{
	const struct ifp_aligner_ops *const fits[] = {&ifp_peer_hca3, &ifp_peer_jones_koenig};
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = job(3, 0.1, 100);

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(fits); i++) {
		assert_in_range(worst_of(&sim, fits[i], at(S / 2)), 0, 500);
		assert_true(worst_of(&sim, fits[i], at(300 * S)) > 5 * US);
	}
}

/* Wander between the ends: ours is 100 times closer than one line. */
static void ours_follows_wander(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = job(3, 0.1, 100);
	int64_t ours_ns = worst_of(&sim, &ifp_aligner_offline, at(155 * S));
	int64_t line_ns = worst_of(&sim, &ifp_peer_scorep, at(155 * S));

	(void)state;
	print_message("ours %lld ns, one line %lld ns\n", (long long)ours_ns, (long long)line_ns);
	assert_true(ours_ns < 50);
	assert_true(line_ns > 100 * ours_ns);
}

/* What is known while the run is going on: before every exchange, 10 s after the last one. */
static void online_map_foretells_ten_seconds(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = job(3, 0.1, 100);
	IFP_CLEANUP(ifp_contestant_free) struct ifp_contestant contestant = {0};

	(void)state;
	assert_ok(ifp_contestant_new(&ifp_aligner_online, NODES, &contestant));
	for (uint32_t e = 0; e < EPOCHS; e++) {
		struct ifp_aligner_occasion occasion = {e, false, e * 10 * S, 10 * S};
		ifp_true_ns end;

		assert_ok(ifp_contest_exchange(&sim, &contestant, &occasion, at(e * 10 * S), &end));
		/* slewing takes 2 ms for each microsecond */
		if (e > 4)
			assert_in_range(worst_ns(&sim, &contestant, at(end.ns + S / 10)), 0, 100);
		if (e > 8)
			assert_in_range(worst_ns(&sim, &contestant, at((e + 1) * 10 * S)), 0, 500);
	}
}

/* The hypercube's rounds run side by side; a star's ping-pongs wait for each other. */
static void exchange_costs_what_its_shape_says(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = job(0, 0, 0);
	IFP_CLEANUP(ifp_contestant_free) struct ifp_contestant cube = {0}, star = {0};
	struct ifp_aligner_occasion occasion = {0};
	ifp_true_ns end;

	(void)state;
	assert_ok(ifp_contestant_new(&ifp_aligner_online, NODES, &cube));
	assert_ok(ifp_contestant_new(&ifp_peer_scorep, NODES, &star));
	assert_ok(ifp_contest_exchange(&sim, &cube, &occasion, at(S), &end));
	/* 5 rounds; the first round trip is the shortest, 8 more show that */
	assert_int_equal(end.ns - S, 5 * 9 * 2100);
	assert_ok(ifp_contest_exchange(&sim, &star, &occasion, at(S), &end));
	assert_int_equal(end.ns - S, (NODES - 1) * 10 * 2100);
	assert_int_equal(star.messages, (NODES - 1) * 10 * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_question_has_the_same_stamps),
		cmocka_unit_test(all_are_exact_in_an_exact_world),
		cmocka_unit_test(lines_follow_a_constant_drift),
		cmocka_unit_test(fits_at_the_start_grow_old),
		cmocka_unit_test(ours_follows_wander),
		cmocka_unit_test(online_map_foretells_ten_seconds),
		cmocka_unit_test(exchange_costs_what_its_shape_says),
	};

	return RUN_TESTS(tests);
}
