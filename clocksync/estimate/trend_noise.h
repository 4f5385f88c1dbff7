/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How readings of several kinds scatter around a line: most of them closely, with a noise that all
 * stamps have and a share of their kind's scale; the others widely, by a share of that scale, and
 * some far out. A normal distribution and one of Student, then, found by expectation and
 * maximisation: readings that are on time decide, as closely as they agree, however many are not.
 * Pure; private to trend.c.
 */
#pragma once

#include "clocksync/estimate/trend.h"

struct ifp_trend_noise {
	uint32_t kinds;
	double scale_ns[IFP_TREND_KINDS_MAX];
	/* variances, ns^2 */
	double close[IFP_TREND_KINDS_MAX], wide[IFP_TREND_KINDS_MAX];
	double close_share; /* of all readings */
};

/* What is learnt from, by reading. */
struct ifp_trend_scatter {
	const struct ifp_trend_reading *readings;
	uint32_t count;
	const double *residual;
	double *weight;	    /* in: as it was found by; out: for the next round */
	double *close_odds; /* scratch: how likely it is a close one */
};

/* Kinds with their scales, and close readings that scatter by sigma_ns. */
void ifp_trend_noise_begin(struct ifp_trend_noise *noise, double sigma_ns);

/* Weights by the noise at hand, whose close part is taken for widened times as wide. */
void ifp_trend_noise_weigh(
	const struct ifp_trend_noise *noise, struct ifp_trend_scatter *scatter, double widened);

/*
 * The noise that explains the residuals best, behind ifp_trend_noise_weigh(). line_unknowns: how
 * many the line has; what it and the biases of a kind took from the residuals is given back.
 */
void ifp_trend_noise_learn(struct ifp_trend_noise *noise, const struct ifp_trend_scatter *scatter,
	double line_unknowns);

/* Minus twice the logarithm of one residual's likelihood, without what is the same for all. */
double ifp_trend_noise_cost(const struct ifp_trend_noise *noise, uint32_t kind, double residual);

/* The same of the noise itself, of what was known before. */
double ifp_trend_noise_prior_cost(const struct ifp_trend_noise *noise);
