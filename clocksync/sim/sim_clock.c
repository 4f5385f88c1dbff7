/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/sim/sim.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The world begins on a day in 2026; the TSC runs with 2.1 GHz. */
#define REALTIME_START_NS (INT64_C(1796000000) * IFP_NS_PER_S)
#define TSC_TICKS_PER_10_NS 21

static const double pi = 3.14159265358979323846;

/* Between whole seconds, and straight on outside. */
static double walked_ns(const struct ifp_sim_clock *clock, double t_s)
{
	uint32_t i;

	if (clock->walk_count < 2)
		return 0;
	i = t_s <= 0 ? 0 : t_s >= clock->walk_count - 2 ? clock->walk_count - 2 : (uint32_t)t_s;
	return clock->walk_ns[i] + (t_s - i) * (clock->walk_ns[i + 1] - clock->walk_ns[i]);
}

/* A standard normal variable (Box and Muller 1958). */
static double normal(struct ifp_sim *sim)
{
	double radius = sqrt(-2 * log(1 - ifp_sim_random(sim)));

	return radius * cos(2 * pi * ifp_sim_random(sim));
}

int ifp_sim_walk(struct ifp_sim *sim, double rate_ppm, uint32_t seconds)
{
	for (uint32_t i = 0; i < sim->node_count; i++) {
		struct ifp_sim_clock *clock = sim->clocks + i;
		double rate = 0; /* ns per s */

		clock->walk_ns = calloc((size_t)seconds + 2, sizeof(*clock->walk_ns));
		if (!clock->walk_ns)
			return -ENOMEM;
		clock->walk_count = seconds + 2;
		for (uint32_t s = 1; s < clock->walk_count; s++) {
			rate += normal(sim) * rate_ppm * 1000;
			clock->walk_ns[s] = clock->walk_ns[s - 1] + rate;
		}
	}
	return 0;
}

/* Integral of the rate, in nanoseconds; rounded down like a clock reading. */
static int64_t drifted_ns(const struct ifp_sim_clock *clock, ifp_true_ns at)
{
	double t = (double)at.ns;
	double drift = clock->drift_ppm * 1e-6 * t;
	double omega, wander = walked_ns(clock, t / IFP_NS_PER_S);

	if (clock->wander_ppm != 0) {
		omega = 2 * pi / (clock->wander_period_s * 1e9);
		wander += clock->wander_ppm * 1e-6 / omega *
			  (sin(omega * t + clock->wander_phase) - sin(clock->wander_phase));
	}
	return (int64_t)floor(drift + wander);
}

int64_t ifp_sim_raw(const struct ifp_sim_clock *clock, ifp_true_ns at)
{
	return at.ns + clock->offset_ns + drifted_ns(clock, at);
}

int64_t ifp_sim_realtime(const struct ifp_sim_clock *clock, ifp_true_ns at)
{
	int64_t drift_ns = (int64_t)floor(clock->realtime_drift_ppm * 1e-6 * (double)at.ns);
	int64_t step_ns = clock->step_ns && at.ns >= clock->step_at.ns ? clock->step_ns : 0;

	return REALTIME_START_NS + at.ns + clock->realtime_error_ns + drift_ns + step_ns;
}

/* The kernel derives RAW from the TSC: they drift together. */
int64_t ifp_sim_tsc(const struct ifp_sim_clock *clock, ifp_true_ns at)
{
	__int128 since_boot = at.ns + drifted_ns(clock, at) + 3600 * IFP_NS_PER_S;

	return (int64_t)(since_boot * TSC_TICKS_PER_10_NS / 10);
}
