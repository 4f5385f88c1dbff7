/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/sim/sim.h"

#include <math.h>

/* The world begins on a day in 2026; the TSC runs with 2.1 GHz. */
#define REALTIME_START_NS (INT64_C(1796000000) * IFP_NS_PER_S)
#define TSC_TICKS_PER_10_NS 21

static const double pi = 3.14159265358979323846;

/* Integral of the rate, in nanoseconds; rounded down like a clock reading. */
static int64_t drifted_ns(const struct ifp_sim_clock *clock, ifp_true_ns at)
{
	double t = (double)at.ns;
	double drift = clock->drift_ppm * 1e-6 * t;
	double omega, wander = 0;

	if (clock->wander_ppm != 0) {
		omega = 2 * pi / (clock->wander_period_s * 1e9);
		wander = clock->wander_ppm * 1e-6 / omega *
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
