/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrivals as clean jobs have them: ranks that are alike, disturbed by what disturbs real ones.
 * The same seed gives the same arrivals everywhere.
 */
#pragma once

#include "collector/analyse/arrivals.h"

#include <stdint.h>

enum noise_kind {
	NOISE_LOGNORMAL, /* every rank for itself, skewed */
	NOISE_PARETO,	 /* heavy tail: now and then ten times the usual */
	NOISE_TURNS,	 /* fewer cores than ranks: they take turns in a random order */
	NOISE_SHOCKS,	 /* some ranks together lose a time slice */
	NOISE_LASTING,	 /* what disturbs a rank now partly lasts into the next step */
	NOISE_KINDS,
};

#define NOISE_MAX_RANKS 16
#define NOISE_MAX_STEPS 40

struct noise {
	uint64_t state;
	int64_t arrival_ns[NOISE_MAX_STEPS][NOISE_MAX_RANKS];
	struct ifp_arrival_step steps[NOISE_MAX_STEPS];
	struct ifp_arrivals arrivals;
};

void noise_make(
	struct noise *noise, enum noise_kind kind, uint64_t seed, uint32_t ranks, uint32_t steps);

/* A number from 0 to limit - 1. */
uint32_t noise_below(struct noise *noise, uint32_t limit);

/* Delays one rank in every step. */
void noise_delay(struct noise *noise, uint32_t rank, int64_t delay_ns);

/* Mean over the steps of last minus first arrival. */
int64_t noise_spread_ns(const struct noise *noise);
