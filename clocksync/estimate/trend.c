/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/trend.h"

#include "clocksync/estimate/median.h"
#include "clocksync/estimate/trend_model.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 256u

/* A clock that NTP slews bends more than usual: larger ones are tried, the likeliest is taken. */
static const double bends[] = {1, 30, 1000};

#define ROUNDS 12
#define FREEDOM 4.0 /* of Student's t, whose density at 0 is this: */
#define DENSITY_AT_0 0.375
#define PRIOR_READINGS 20 /* what the scale of a kind is worth against its own scatter */
#define NOISE_LEAST_NS 20.0

/*
 * Where those rounds end, the search for readings that are on time begins: with how closely they
 * scatter at first, against the median of all. What is found from each counts by its likelihood.
 */
static const double starts[] = {0.25, 1, 0.5, 0.125, 0.0625};
#define STARTS IFP_ARRAY_SIZE(starts)
#define STARTS_OF_MANY 2u
#define MANY 1024u
static const double widened[] = {8, 8, 8, 4, 4, 4, 2, 2, 2};
#define LEARNING_ROUNDS 12

static double noise_of(const struct ifp_trend_model *f, const struct ifp_trend_reading *reading)
{
	return reading->kind < f->kinds ? f->noise_ns[reading->kind] : reading->scale_ns;
}

/* A kind's noise from its own scatter and, where that is of few readings, from its scale. */
static void update_noise(struct ifp_trend_model *f, uint32_t kind)
{
	double scale = f->noise.scale_ns[kind] / 2, scatter, square;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		if (f->readings[i].kind == kind)
			f->scratch[n++] = fabs(f->residual[i]);
	}
	if (!n)
		return;
	scatter = 1.4826 * ifp_select_median(f->scratch, n);
	square = (n * scatter * scatter + PRIOR_READINGS * scale * scale) / (n + PRIOR_READINGS);
	f->noise_ns[kind] = fmax(sqrt(square), NOISE_LEAST_NS);
}

static void update_weights(struct ifp_trend_model *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		double noise = noise_of(f, &f->readings[i]), r = f->residual[i] / noise;

		f->weight[i] = (FREEDOM + 1) / (FREEDOM + r * r) / (noise * noise);
	}
}

static double cost_of(const struct ifp_trend_model *f, uint32_t i)
{
	double noise = noise_of(f, &f->readings[i]), r = f->residual[i] / noise;

	return (FREEDOM + 1) * log1p(r * r / FREEDOM) + 2 * log(noise / DENSITY_AT_0);
}

static double biases_cost(const struct ifp_trend_model *f)
{
	double sum = 0;

	for (uint32_t kind = 0; kind < f->kinds; kind++) {
		const double *bias = f->theta + f->knots + f->step_count + 2 * kind;

		sum += (bias[0] * bias[0] + bias[1] * bias[1]) /
		       (f->noise.scale_ns[kind] * f->noise.scale_ns[kind]);
	}
	return sum;
}

static void fit_with(struct ifp_trend_model *f, double bend)
{
	double log_det = 0;

	f->bend = bend;

	for (uint32_t kind = 0; kind < f->kinds; kind++)
		f->noise_ns[kind] = f->noise.scale_ns[kind];
	memset(f->residual, 0, f->count * sizeof(*f->residual));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		update_weights(f);
		log_det = ifp_trend_model_solve(f);
		for (uint32_t kind = 0; kind < f->kinds; kind++)
			update_noise(f, kind);
	}
	f->evidence = log_det + ifp_trend_model_bends_cost(f) + biases_cost(f);
	for (uint32_t i = 0; i < f->count; i++)
		f->evidence += cost_of(f, i);
}

static void fit_best(struct ifp_trend_model *f)
{
	uint32_t best = 0;
	double least = INFINITY;

	for (uint32_t b = 0; b < IFP_ARRAY_SIZE(bends) && (!b || f->knots > 2); b++) {
		fit_with(f, bends[b]);
		if (f->evidence < least) {
			least = f->evidence;
			best = b;
		}
	}
	if (f->knots > 2)
		fit_with(f, bends[best]);
}

static double close_evidence(const struct ifp_trend_model *f, double log_det)
{
	double sum = log_det + ifp_trend_model_bends_cost(f) + biases_cost(f) +
		     ifp_trend_noise_prior_cost(&f->noise);

	for (uint32_t i = 0; i < f->count; i++)
		sum += f->readings[i].kind < f->kinds ? ifp_trend_noise_cost(&f->noise,
								f->readings[i].kind, f->residual[i])
						      : cost_of(f, i);
	return sum;
}

/* From one start, by the residuals at hand. */
static void find_close(struct ifp_trend_model *f, double sigma_ns)
{
	struct ifp_trend_scatter scatter = {f->readings, f->count, f->residual, f->weight, f->odds};
	double log_det = 0;

	ifp_trend_noise_begin(&f->noise, sigma_ns);
	for (uint32_t round = 0; round < IFP_ARRAY_SIZE(widened) + LEARNING_ROUNDS; round++) {
		bool learning = round >= IFP_ARRAY_SIZE(widened);

		update_weights(f);
		ifp_trend_noise_weigh(&f->noise, &scatter, learning ? 1 : widened[round]);
		log_det = ifp_trend_model_solve(f);
		if (learning)
			ifp_trend_noise_learn(&f->noise, &scatter, 2 + f->step_count);
	}
	f->evidence = close_evidence(f, log_det);
}

static double typical_residual(struct ifp_trend_model *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		if (f->readings[i].kind < f->kinds)
			f->scratch[n++] = fabs(f->residual[i]);
	}
	return n ? 1.4826 * ifp_select_median(f->scratch, n) : 0;
}

/* What the rounds of Student's t found, and what each start did. */
struct findings {
	uint32_t count;
	double evidence[1 + STARTS];
	double *theta;		/* of each: dim of them */
	double *weight, *begun; /* by reading: of the likeliest; residuals before the first start */
};

static void keep(const struct ifp_trend_model *f, struct findings *found)
{
	bool likeliest = true;

	for (uint32_t i = 0; i < found->count; i++)
		likeliest = likeliest && f->evidence < found->evidence[i];
	memcpy(found->theta + (size_t)found->count * f->dim, f->theta, f->dim * sizeof(*f->theta));
	found->evidence[found->count++] = f->evidence;
	if (likeliest)
		memcpy(found->weight, f->weight, f->count * sizeof(*f->weight));
}

static void find_from_all(struct ifp_trend_model *f, struct findings *found)
{
	double typical_ns = typical_residual(f);
	uint32_t count = f->count > MANY ? STARTS_OF_MANY : STARTS;
	size_t bytes = f->count * sizeof(*f->residual);

	keep(f, found);
	memcpy(found->begun, f->residual, bytes);
	for (uint32_t s = 0; s < count; s++) {
		memcpy(f->residual, found->begun, bytes);
		find_close(f, starts[s] * typical_ns);
		keep(f, found);
	}
}

/* The mean of what was found, by likelihood; its sigma is that of the likeliest. */
static void take_mean(struct ifp_trend_model *f, const struct findings *found)
{
	double least = INFINITY, sum = 0;

	memcpy(f->weight, found->weight, f->count * sizeof(*f->weight));
	ifp_trend_model_solve(f);
	memset(f->theta, 0, f->dim * sizeof(*f->theta));
	for (uint32_t s = 0; s < found->count; s++)
		least = fmin(least, found->evidence[s]);
	for (uint32_t s = 0; s < found->count; s++)
		sum += exp((least - found->evidence[s]) / 2);
	for (uint32_t s = 0; s < found->count; s++) {
		double share = exp((least - found->evidence[s]) / 2) / sum;

		for (uint32_t k = 0; k < f->dim; k++)
			f->theta[k] += share * found->theta[(size_t)s * f->dim + k];
	}
}

static int refine(struct ifp_trend_model *f)
{
	IFP_CLEANUP_FREE double *theta = calloc((1 + STARTS) * (size_t)f->dim, sizeof(*theta));
	IFP_CLEANUP_FREE double *by_reading = calloc(2 * (size_t)f->count, sizeof(*by_reading));
	struct findings found = {
		.theta = theta, .weight = by_reading, .begun = by_reading + f->count};

	if (!theta || !by_reading)
		return ifp_fail(-ENOMEM, "fit %u readings of clocks", f->count);
	if (!f->kinds)
		return 0;
	find_from_all(f, &found);
	take_mean(f, &found);
	return 0;
}

static void find_pieces(struct ifp_trend *trend)
{
	for (uint32_t i = 0; i < trend->count; i++)
		trend->points[i].piece_first =
			i && !trend->points[i].stepped ? trend->points[i - 1].piece_first : i;
	for (uint32_t i = trend->count; i-- > 0;)
		trend->points[i].piece_last = i + 1 < trend->count && !trend->points[i + 1].stepped
						      ? trend->points[i + 1].piece_last
						      : i;
}

static int take_points(const struct ifp_trend_model *f, struct ifp_trend *out)
{
	uint32_t stride = (f->count + POINTS_MAX - 1) / POINTS_MAX;
	IFP_CLEANUP_FREE double *scratch = calloc(f->dim, sizeof(*scratch));
	struct ifp_trend trend = {.points = calloc(f->count, sizeof(*trend.points))};
	bool stepped = false;

	if (!scratch || !trend.points) {
		free(trend.points);
		return ifp_fail(-ENOMEM, "fit %u readings of clocks", f->count);
	}
	for (uint32_t i = 0; i < f->count; i++) {
		bool last = i + 1 == f->count || ifp_trend_model_begins_piece(f, i + 1);

		stepped = stepped || ifp_trend_model_begins_piece(f, i);
		if (i % stride && !last && !ifp_trend_model_begins_piece(f, i))
			continue;
		if (trend.count && f->readings[i].at_ns <= trend.points[trend.count - 1].at_ns)
			continue;
		trend.points[trend.count] = ifp_trend_model_point(f, i, scratch);
		trend.points[trend.count++].stepped = stepped;
		stepped = false;
	}
	find_pieces(&trend);
	*out = trend;
	return 0;
}

int ifp_trend_fit(const struct ifp_trend_reading *readings, uint32_t count, struct ifp_trend *out)
{
	IFP_CLEANUP(ifp_trend_model_free) struct ifp_trend_model model = {0};
	int err = ifp_trend_model_new(readings, count, &model);

	if (err)
		return err;
	fit_best(&model);
	err = refine(&model);
	return err ? err : take_points(&model, out);
}

int ifp_trend_fit_roughly(
	const struct ifp_trend_reading *readings, uint32_t count, struct ifp_trend *out)
{
	IFP_CLEANUP(ifp_trend_model_free) struct ifp_trend_model model = {0};
	int err = ifp_trend_model_new(readings, count, &model);

	if (err)
		return err;
	fit_best(&model);
	return take_points(&model, out);
}

void ifp_trend_free(struct ifp_trend *trend)
{
	free(trend->points);
	*trend = (struct ifp_trend){0};
}
