/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best line through all observations of a clock, looked at from both sides in time: a
 * fixed-interval smoother (Kalman 1960; Rauch, Tung, Striebel 1965) whose state is offset and
 * rate. The rate walks at random, which is what oscillators do beside aging; the offset follows
 * it. Observations that lie far outside what the others let expect are believed less.
 *
 * How noisy observations and clocks are is taken from the observations themselves: the two numbers
 * under which what each observation adds to the ones before is most likely. Deviations count by
 * their median, so outliers do not decide.
 *
 * Observations are the points of a track: usually one per exchange, but whatever else tells an
 * offset with a deviation may stand among them. Pure functions.
 */
#pragma once

#include "clocksync/estimate/track.h"

#include <stdint.h>

struct ifp_noise {
	double scale;  /* how much observations scatter, in units of their own sigma_ns */
	double wander; /* variance that the rate gains per second, (ns/s)^2/s */
};

/*
 * The noise of all tracks together, from at most some dozen of them. With few observations it
 * stays close to a scale of 1 and the wander of usual oscillators. -ENOMEM only.
 */
int ifp_smoother_fit(
	const struct ifp_track *const *tracks, uint32_t count, struct ifp_noise *noise);

/*
 * Takes the points' offset_ns and sigma_ns as observations and replaces them, and rate and
 * rate_sigma, by what is known from all of them. Scatter that observations do not show although
 * their sigma_ns would allow it may be common to all of them: it stays in sigma_ns. One
 * observation tells no rate: it is 0 then, and rate_sigma that of the drift assumption. The
 * intervals are left alone. -ENOMEM only.
 */
int ifp_smoother_apply(struct ifp_track *track, const struct ifp_noise *noise);
