/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/trend.h"

#include "clocksync/estimate/dense.h"
#include "clocksync/estimate/median.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/time.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KNOTS_MAX 129u
#define POINTS_MAX 256u
#define KNOT_NS IFP_NS_PER_S /* closer together, clocks of machines do not wander visibly */

/*
 * How clocks wander: white noise in the rate's rate, 1e-9 per root second, and a slow pull of
 * temperature, 5e-9 per second (twice what 0.1 ppm within 5 minutes is). A clock that NTP slews
 * bends more: larger ones are tried, and the likeliest is taken.
 */
#define WANDER_NS 1.0
#define PULL_NS 5.0
static const double bends[] = {1, 30, 1000};

#define ROUNDS 12
#define FREEDOM 4.0	  /* of Student's t */
#define PRIOR_READINGS 20 /* what the scale of a kind is worth against its own scatter */
#define NOISE_LEAST_NS 20.0

struct fit {
	const struct ifp_trend_reading *readings;
	uint32_t count;
	uint32_t steps[IFP_TREND_STEPS_MAX];
	uint32_t step_count;
	uint32_t knots, kinds, dim;
	double knot_s; /* between knots */
	int64_t base_ns, base_offset_ns;
	double noise_ns[IFP_TREND_KINDS_MAX];
	double *normal, *theta;	   /* dim x dim: its factor afterwards; dim */
	double *residual, *weight; /* by reading */
	double *scratch;	   /* by reading */
	double evidence;	   /* minus twice its logarithm; smaller is likelier */
};

/* One row of the model: what the reading is made of. */
struct row {
	uint32_t count;
	uint32_t index[IFP_TREND_STEPS_MAX + 4];
	double value[IFP_TREND_STEPS_MAX + 4];
};

static void row_add(struct row *row, uint32_t index, double value)
{
	row->index[row->count] = index;
	row->value[row->count++] = value;
}

/* The knot before a moment, and how far behind it that is, in distances of knots. */
static uint32_t knot_before(const struct fit *f, int64_t at_ns, double *behind)
{
	double x = f->knots < 2 ? 0 : (double)(at_ns - f->base_ns) / 1e9 / f->knot_s;
	uint32_t knot = x <= 0 ? 0 : (uint32_t)x;

	if (knot + 2 > f->knots)
		knot = f->knots < 2 ? 0 : f->knots - 2;
	*behind = x - knot;
	return knot;
}

/* The offset at a reading's moment, without biases. */
static struct row line_row(const struct fit *f, uint32_t i)
{
	struct row row = {0};
	double behind;
	uint32_t knot = knot_before(f, f->readings[i].at_ns, &behind);

	row_add(&row, knot, f->knots < 2 ? 1 : 1 - behind);
	if (f->knots >= 2)
		row_add(&row, knot + 1, behind);
	for (uint32_t s = 0; s < f->step_count && f->steps[s] <= i; s++)
		row_add(&row, f->knots + s, 1);
	return row;
}

static struct row reading_row(const struct fit *f, uint32_t i)
{
	const struct ifp_trend_reading *reading = &f->readings[i];
	struct row row = line_row(f, i);
	uint32_t bias = f->knots + f->step_count + 2 * reading->kind;

	if (reading->kind < f->kinds) {
		row_add(&row, bias, 1);
		row_add(&row, bias + 1, reading->side);
	}
	return row;
}

static double noise_of(const struct fit *f, const struct ifp_trend_reading *reading)
{
	return reading->kind < f->kinds ? f->noise_ns[reading->kind] : reading->scale_ns;
}

static double value_of(const struct fit *f, uint32_t i)
{
	return (double)(f->readings[i].offset_ns - f->base_offset_ns);
}

/* What the slope may change by from one knot to the next, times their distance. */
static double bend_ns(const struct fit *f, double bend)
{
	return bend * f->knot_s *
	       sqrt(WANDER_NS * WANDER_NS * f->knot_s + PULL_NS * PULL_NS * f->knot_s * f->knot_s);
}

static double kind_scale(const struct fit *f, uint32_t kind)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		if (f->readings[i].kind == kind) {
			sum += f->readings[i].scale_ns;
			n++;
		}
	}
	return n ? sum / n : 1;
}

static void add_priors(struct fit *f, double bend)
{
	static const double second[3] = {1, -2, 1};
	double smooth = 1 / (bend_ns(f, bend) * bend_ns(f, bend));

	for (uint32_t k = 0; k + 2 < f->knots; k++) {
		for (uint32_t a = 0; a < 3; a++) {
			for (uint32_t b = 0; b < 3; b++)
				f->normal[(size_t)(k + a) * f->dim + k + b] +=
					smooth * second[a] * second[b];
		}
	}
	for (uint32_t kind = 0; kind < f->kinds; kind++) {
		double scale = kind_scale(f, kind);

		for (uint32_t n = 0; n < 2; n++) {
			uint32_t i = f->knots + f->step_count + 2 * kind + n;

			f->normal[(size_t)i * f->dim + i] += 1 / (scale * scale);
		}
	}
}

/* One round of least squares with the weights at hand. */
static double solve_round(struct fit *f, double bend)
{
	memset(f->normal, 0, (size_t)f->dim * f->dim * sizeof(*f->normal));
	memset(f->theta, 0, f->dim * sizeof(*f->theta));
	add_priors(f, bend);
	for (uint32_t i = 0; i < f->count; i++) {
		struct row row = reading_row(f, i);

		for (uint32_t a = 0; a < row.count; a++) {
			double weighed = f->weight[i] * row.value[a];

			f->theta[row.index[a]] += weighed * value_of(f, i);
			for (uint32_t b = 0; b < row.count; b++)
				f->normal[(size_t)row.index[a] * f->dim + row.index[b]] +=
					weighed * row.value[b];
		}
	}
	double log_det = ifp_dense_factor(f->normal, f->dim);

	ifp_dense_solve(f->normal, f->dim, f->theta);
	for (uint32_t i = 0; i < f->count; i++) {
		struct row row = reading_row(f, i);

		f->residual[i] = value_of(f, i);
		for (uint32_t a = 0; a < row.count; a++)
			f->residual[i] -= row.value[a] * f->theta[row.index[a]];
	}
	return log_det;
}

/* A kind's noise from its own scatter and, where that is of few readings, from its scale. */
static void update_noise(struct fit *f, uint32_t kind)
{
	double scale = kind_scale(f, kind) / 2, scatter, square;
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

static void update_weights(struct fit *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		double noise = noise_of(f, &f->readings[i]), r = f->residual[i] / noise;

		f->weight[i] = (FREEDOM + 1) / (FREEDOM + r * r) / (noise * noise);
	}
}

/* What the smoothness costs, and how well the readings are met. */
static double evidence_of(const struct fit *f, double bend, double log_det)
{
	double sum = log_det, smooth = bend_ns(f, bend);

	for (uint32_t i = 0; i < f->count; i++) {
		double noise = noise_of(f, &f->readings[i]), r = f->residual[i] / noise;

		sum += (FREEDOM + 1) * log1p(r * r / FREEDOM) + 2 * log(noise);
	}
	for (uint32_t k = 0; k + 2 < f->knots; k++) {
		double second = f->theta[k] - 2 * f->theta[k + 1] + f->theta[k + 2];

		sum += second * second / (smooth * smooth) + 2 * log(smooth);
	}
	return sum;
}

static void fit_with(struct fit *f, double bend)
{
	double log_det = 0;

	for (uint32_t kind = 0; kind < f->kinds; kind++)
		f->noise_ns[kind] = kind_scale(f, kind);
	memset(f->residual, 0, f->count * sizeof(*f->residual));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		update_weights(f);
		log_det = solve_round(f, bend);
		for (uint32_t kind = 0; kind < f->kinds; kind++)
			update_noise(f, kind);
	}
	f->evidence = evidence_of(f, bend, log_det);
}

static void fit_best(struct fit *f)
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

static double form(const struct fit *f, const struct row *row, double *scratch)
{
	memset(scratch, 0, f->dim * sizeof(*scratch));
	for (uint32_t a = 0; a < row->count; a++)
		scratch[row->index[a]] += row->value[a];
	return ifp_dense_inverse_form(f->normal, f->dim, scratch);
}

static struct ifp_trend_point point_at(const struct fit *f, uint32_t i, double *scratch)
{
	struct row row = line_row(f, i), slope = {0};
	struct ifp_trend_point point = {.at_ns = f->readings[i].at_ns};
	double behind, offset = 0;
	uint32_t knot = knot_before(f, point.at_ns, &behind);

	for (uint32_t a = 0; a < row.count; a++)
		offset += row.value[a] * f->theta[row.index[a]];
	point.offset_ns = f->base_offset_ns + llround(offset);
	point.sigma_ns = sqrt(form(f, &row, scratch));
	if (f->knots >= 2) {
		row_add(&slope, knot, -1 / (f->knot_s * 1e9));
		row_add(&slope, knot + 1, 1 / (f->knot_s * 1e9));
		point.rate = (f->theta[knot + 1] - f->theta[knot]) / (f->knot_s * 1e9);
		point.rate_sigma = sqrt(form(f, &slope, scratch));
	}
	return point;
}

static bool begins_piece(const struct fit *f, uint32_t i)
{
	for (uint32_t s = 0; s < f->step_count; s++) {
		if (f->steps[s] == i)
			return true;
	}
	return false;
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

static int take_points(const struct fit *f, struct ifp_trend *out)
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
		bool last = i + 1 == f->count || begins_piece(f, i + 1);

		stepped = stepped || begins_piece(f, i);
		if (i % stride && !last && !begins_piece(f, i))
			continue;
		if (trend.count && f->readings[i].at_ns <= trend.points[trend.count - 1].at_ns)
			continue;
		trend.points[trend.count] = point_at(f, i, scratch);
		trend.points[trend.count++].stepped = stepped;
		stepped = false;
	}
	find_pieces(&trend);
	*out = trend;
	return 0;
}

/* Knots evenly over the readings, and what else the model has. */
static void lay_out(struct fit *f)
{
	int64_t span_ns = f->readings[f->count - 1].at_ns - f->readings[0].at_ns;
	int64_t knots = span_ns / KNOT_NS + 1;
	uint32_t most = f->count / 4 < 2 ? 2 : f->count / 4;

	most = most > KNOTS_MAX ? KNOTS_MAX : most;
	f->knots = span_ns <= 0 ? 1 : knots < 2 ? 2 : knots > most ? most : (uint32_t)knots;
	f->knot_s = f->knots < 2 ? 1 : (double)span_ns / 1e9 / (f->knots - 1);
	f->base_ns = f->readings[0].at_ns;
	f->base_offset_ns = f->readings[f->count / 2].offset_ns;
	f->kinds = 0;
	for (uint32_t i = 0; i < f->count; i++) {
		uint32_t kind = f->readings[i].kind;

		if (kind < IFP_TREND_KINDS_MAX && kind >= f->kinds)
			f->kinds = kind + 1;
	}
	f->dim = f->knots + f->step_count + 2 * f->kinds;
}

int ifp_trend_fit(const struct ifp_trend_reading *readings, uint32_t count, struct ifp_trend *out)
{
	struct fit f = {.readings = readings, .count = count};
	int steps = ifp_trend_find_steps(readings, count, f.steps);

	if (steps < 0)
		return steps;
	f.step_count = (uint32_t)steps;
	lay_out(&f);

	IFP_CLEANUP_FREE double *normal = calloc((size_t)f.dim * f.dim, sizeof(*normal));
	IFP_CLEANUP_FREE double *theta = calloc(f.dim, sizeof(*theta));
	IFP_CLEANUP_FREE double *by_reading = calloc((size_t)count * 3, sizeof(*by_reading));

	if (!normal || !theta || !by_reading)
		return ifp_fail(-ENOMEM, "fit %u readings of clocks", count);
	f.normal = normal;
	f.theta = theta;
	f.residual = by_reading;
	f.weight = by_reading + count;
	f.scratch = by_reading + 2 * (size_t)count;
	fit_best(&f);
	return take_points(&f, out);
}

void ifp_trend_free(struct ifp_trend *trend)
{
	free(trend->points);
	*trend = (struct ifp_trend){0};
}
