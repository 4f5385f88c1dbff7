/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/sim/sim.h"

#include <math.h>

/* How long the answering of a ping takes. */
#define HOLD_NS 100

/* What a number is drawn for. */
enum purpose {
	ASYMMETRY,
	JITTER,
	WHETHER_SPIKE,
	SPIKE,
};

/* SplitMix64's finish: every bit of the result depends on every bit of the argument. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* A number in [0, 1) that belongs to a message. */
static double draw(uint64_t message, enum purpose purpose)
{
	return (double)(mix(message + purpose * UINT64_C(0x9e3779b97f4a7c15)) >> 11) * 0x1p-53;
}

/* By how much the way from the lower to the higher node of a pair is slower than back. */
static double asymmetry(const struct ifp_sim *sim, uint32_t a, uint32_t b)
{
	uint64_t low = a < b ? a : b, high = a < b ? b : a;

	return (2 * draw(mix(sim->seed ^ mix(low << 32 | high)), ASYMMETRY) - 1) *
	       (double)sim->network.asymmetry_ns;
}

int64_t ifp_sim_delay(
	const struct ifp_sim *sim, const struct ifp_sim_pair *pair, uint32_t message, bool back)
{
	const struct ifp_sim_network *network = &sim->network;
	uint64_t ends = (uint64_t)pair->client << 32 | pair->server;
	uint64_t which = (uint64_t)pair->epoch << 33 | (uint64_t)message << 1 | back;
	uint64_t key = mix(mix(sim->seed ^ mix(ends)) ^ which);
	bool upwards = (pair->client < pair->server) != back;
	double slower = asymmetry(sim, pair->client, pair->server);
	double extra = -log(1 - draw(key, JITTER)) * network->jitter_ns;

	extra += upwards ? fmax(slower, 0) : fmax(-slower, 0);
	if (network->spike_share > 0 && draw(key, WHETHER_SPIKE) < network->spike_share)
		extra += draw(key, SPIKE) * (double)network->spike_ns;
	return network->floor_ns + (int64_t)extra;
}

struct ifp_round_trip ifp_sim_round_trip(
	const struct ifp_sim *sim, const struct ifp_sim_pair *pair, uint32_t trip, ifp_true_ns *at)
{
	const struct ifp_sim_clock *client = sim->clocks + pair->client;
	const struct ifp_sim_clock *server = sim->clocks + pair->server;
	struct ifp_round_trip stamps;

	stamps.t1_ns = ifp_sim_raw(client, *at);
	at->ns += ifp_sim_delay(sim, pair, trip, false);
	stamps.t2_ns = ifp_sim_raw(server, *at);
	at->ns += HOLD_NS;
	stamps.t3_ns = ifp_sim_raw(server, *at);
	at->ns += ifp_sim_delay(sim, pair, trip, true);
	stamps.t4_ns = ifp_sim_raw(client, *at);
	return stamps;
}
