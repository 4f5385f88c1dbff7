/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/trend_noise.h"

#include "core/cleanup.h"

#include <math.h>

#define LEAST_NS 20.0
#define LADDER 1.4 /* from one candidate of the common noise to the next */
#define MOST_SCALES 8

/* What is known before: how many readings that is worth, and how it is. */
#define POOL_READINGS 20 /* all kinds against one kind's own scatter */
#define WIDE_READINGS 2
#define WIDE_SHARE 0.5 /* of the scale */
#define CLOSE_BEFORE 2.0
#define ALL_BEFORE 3.0
#define WIDE_LEAST 4.0 /* variances of the close ones */

/* of Student's t, by which they scatter: there are always outliers */
#define CLOSE_FREEDOM 4.0
#define WIDE_FREEDOM 2.0

/*
 * The close ones of a kind scatter by half their scale at most: what is beyond that is as unlikely
 * as if so many readings spoke against it.
 */
#define USUAL_MOST 0.5
#define USUAL_READINGS 2

static const double shares[] = {0, 0.03, 0.1, 0.3};

static double square(double x)
{
	return x * x;
}

static void set_wide(struct ifp_trend_noise *noise, double share)
{
	for (uint32_t k = 0; k < noise->kinds; k++)
		noise->wide[k] = WIDE_LEAST * noise->close[k] + square(share * noise->scale_ns[k]);
}

void ifp_trend_noise_begin(struct ifp_trend_noise *noise, double sigma_ns)
{
	for (uint32_t k = 0; k < noise->kinds; k++)
		noise->close[k] = square(fmax(sigma_ns, LEAST_NS));
	set_wide(noise, WIDE_SHARE);
	noise->close_share = 0.7;
}

/* Student's t, and what one value counts by how far off it is. */
static double close_density(double variance, double residual)
{
	double q = 1 + residual * residual / variance / CLOSE_FREEDOM;

	return 0.375 / (q * q * sqrt(q * variance));
}

static double wide_density(double variance, double residual)
{
	double q = 1 + residual * residual / variance / WIDE_FREEDOM;

	return 0.353553390593273762 / (q * sqrt(q * variance));
}

static double weight_of(double freedom, double variance, double residual)
{
	return (freedom + 1) / (freedom * variance + residual * residual);
}

void ifp_trend_noise_weigh(
	const struct ifp_trend_noise *noise, struct ifp_trend_scatter *scatter, double widened)
{
	for (uint32_t i = 0; i < scatter->count; i++) {
		uint32_t kind = scatter->readings[i].kind;
		double variance, close, wide;

		if (kind >= noise->kinds)
			continue;
		variance = noise->close[kind] * widened * widened;
		close = noise->close_share * close_density(variance, scatter->residual[i]);
		wide = (1 - noise->close_share) *
		       wide_density(noise->wide[kind], scatter->residual[i]);
		scatter->close_odds[i] = close + wide > 0 ? close / (close + wide) : 0;
		scatter->weight[i] =
			scatter->close_odds[i] *
				weight_of(CLOSE_FREEDOM, variance, scatter->residual[i]) +
			(1 - scatter->close_odds[i]) *
				weight_of(WIDE_FREEDOM, noise->wide[kind], scatter->residual[i]);
	}
}

/* Sums over the readings of a kind, close and wide ones; squares with what the fit took of them. */
struct sums {
	double close, wide, close_squares, wide_squares;
	double weight, by_side, by_both; /* of the normal matrix of its two biases */
};

static void add_up(const struct ifp_trend_noise *noise, const struct ifp_trend_scatter *scatter,
	double line_unknowns, struct sums *sums)
{
	double weight = 0;

	for (uint32_t k = 0; k < noise->kinds; k++) {
		double prior = 1 / square(noise->scale_ns[k]);

		sums[k] = (struct sums){.weight = prior, .by_both = prior};
	}
	for (uint32_t i = 0; i < scatter->count; i++) {
		const struct ifp_trend_reading *reading = &scatter->readings[i];
		struct sums *s;

		weight += scatter->weight[i];
		if (reading->kind >= noise->kinds)
			continue;
		s = &sums[reading->kind];
		s->weight += scatter->weight[i];
		s->by_side += scatter->weight[i] * reading->side;
		s->by_both += scatter->weight[i] * reading->side * reading->side;
	}
	for (uint32_t i = 0; i < scatter->count; i++) {
		const struct ifp_trend_reading *reading = &scatter->readings[i];
		double side = reading->side, squares, odds = scatter->close_odds[i];
		struct sums *s;

		if (reading->kind >= noise->kinds)
			continue;
		s = &sums[reading->kind];
		squares = square(scatter->residual[i]) + line_unknowns / weight +
			  (s->by_both - 2 * side * s->by_side + side * side * s->weight) /
				  (s->weight * s->by_both - s->by_side * s->by_side);
		s->close += odds;
		s->wide += 1 - odds;
		s->close_squares +=
			odds * squares * noise->close[reading->kind] *
			weight_of(CLOSE_FREEDOM, noise->close[reading->kind], scatter->residual[i]);
		s->wide_squares +=
			(1 - odds) * squares * noise->wide[reading->kind] *
			weight_of(WIDE_FREEDOM, noise->wide[reading->kind], scatter->residual[i]);
	}
}

static double unusual_cost(double variance, double scale_ns)
{
	return USUAL_READINGS * log(fmax(variance / square(USUAL_MOST * scale_ns), 1));
}

/* Minus twice the logarithm of how likely the close ones are. */
static double cost_of(const struct ifp_trend_noise *noise, const struct sums *sums,
	double common_ns, double share)
{
	double cost = 0;

	for (uint32_t k = 0; k < noise->kinds; k++) {
		double variance = square(common_ns) + square(share * noise->scale_ns[k]);

		cost += sums[k].close * log(variance) + sums[k].close_squares / variance +
			unusual_cost(variance, noise->scale_ns[k]);
	}
	return cost;
}

/* The noise that all kinds together tell, and of each kind as much of its own as it has readings.
 */
static void learn_close(struct ifp_trend_noise *noise, const struct sums *sums)
{
	double most = 0, least_cost = INFINITY, common = 0, share = 0;

	for (uint32_t k = 0; k < noise->kinds; k++)
		most = fmax(most, MOST_SCALES * noise->scale_ns[k]);
	for (double ns = LEAST_NS; ns < fmax(most, 2 * LEAST_NS); ns *= LADDER) {
		for (size_t q = 0; q < IFP_ARRAY_SIZE(shares); q++) {
			double cost = cost_of(noise, sums, ns, shares[q]);

			if (cost < least_cost) {
				least_cost = cost;
				common = ns;
				share = shares[q];
			}
		}
	}
	for (uint32_t k = 0; k < noise->kinds; k++) {
		double pool = square(common) + square(share * noise->scale_ns[k]);

		noise->close[k] = (sums[k].close_squares + POOL_READINGS * pool) /
				  (sums[k].close + POOL_READINGS);
	}
}

void ifp_trend_noise_learn(struct ifp_trend_noise *noise, const struct ifp_trend_scatter *scatter,
	double line_unknowns)
{
	struct sums sums[IFP_TREND_KINDS_MAX];
	double close = CLOSE_BEFORE, all = ALL_BEFORE, wide = WIDE_READINGS;
	double squares = WIDE_READINGS * square(WIDE_SHARE);

	if (!noise->kinds)
		return;
	add_up(noise, scatter, line_unknowns, sums);
	learn_close(noise, sums);
	for (uint32_t k = 0; k < noise->kinds; k++) {
		close += sums[k].close;
		all += sums[k].close + sums[k].wide;
		wide += sums[k].wide;
		squares += sums[k].wide_squares / square(noise->scale_ns[k]);
	}
	noise->close_share = close / all;
	set_wide(noise, sqrt(squares / wide));
}

double ifp_trend_noise_cost(const struct ifp_trend_noise *noise, uint32_t kind, double residual)
{
	return -2 * log(noise->close_share * close_density(noise->close[kind], residual) +
			    (1 - noise->close_share) * wide_density(noise->wide[kind], residual));
}

double ifp_trend_noise_prior_cost(const struct ifp_trend_noise *noise)
{
	double cost = 0;

	for (uint32_t k = 0; k < noise->kinds; k++)
		cost += unusual_cost(noise->close[k], noise->scale_ns[k]);
	return cost;
}
