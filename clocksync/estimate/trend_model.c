/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/trend_model.h"

#include "clocksync/estimate/dense.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/time.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KNOTS_MAX 129u
#define KNOT_NS IFP_NS_PER_S /* closer together, clocks of machines do not wander visibly */

/*
 * How clocks wander: white noise in the rate's rate, 1e-9 per root second, and a slow pull of
 * temperature, 5e-9 per second (twice what 0.1 ppm within 5 minutes is). A clock that NTP slews
 * bends more.
 */
#define WANDER_NS 1.0
#define PULL_NS 5.0

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
static uint32_t knot_before(const struct ifp_trend_model *f, int64_t at_ns, double *behind)
{
	double x = f->knots < 2 ? 0 : (double)(at_ns - f->base_ns) / 1e9 / f->knot_s;
	uint32_t knot = x <= 0 ? 0 : (uint32_t)x;

	if (knot + 2 > f->knots)
		knot = f->knots < 2 ? 0 : f->knots - 2;
	*behind = x - knot;
	return knot;
}

/* The offset at a reading's moment, without biases. */
static struct row line_row(const struct ifp_trend_model *f, uint32_t i)
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

static struct row reading_row(const struct ifp_trend_model *f, uint32_t i)
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

static double value_of(const struct ifp_trend_model *f, uint32_t i)
{
	return (double)(f->readings[i].offset_ns - f->base_offset_ns);
}

/* What the slope may change by from one knot to the next, times their distance. */
static double bend_ns(const struct ifp_trend_model *f)
{
	return f->bend * f->knot_s *
	       sqrt(WANDER_NS * WANDER_NS * f->knot_s + PULL_NS * PULL_NS * f->knot_s * f->knot_s);
}

static void add_priors(struct ifp_trend_model *f)
{
	static const double second[3] = {1, -2, 1};
	double smooth = 1 / (bend_ns(f) * bend_ns(f));

	for (uint32_t k = 0; k + 2 < f->knots; k++) {
		for (uint32_t a = 0; a < 3; a++) {
			for (uint32_t b = 0; b < 3; b++)
				f->normal[(size_t)(k + a) * f->dim + k + b] +=
					smooth * second[a] * second[b];
		}
	}
	for (uint32_t kind = 0; kind < f->kinds; kind++) {
		double scale = f->noise.scale_ns[kind];

		for (uint32_t n = 0; n < 2; n++) {
			uint32_t i = f->knots + f->step_count + 2 * kind + n;

			f->normal[(size_t)i * f->dim + i] += 1 / (scale * scale);
		}
	}
}

/* One round of least squares with the weights at hand. */
double ifp_trend_model_solve(struct ifp_trend_model *f)
{
	memset(f->normal, 0, (size_t)f->dim * f->dim * sizeof(*f->normal));
	memset(f->theta, 0, f->dim * sizeof(*f->theta));
	add_priors(f);
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

double ifp_trend_model_bends_cost(const struct ifp_trend_model *f)
{
	double sum = 0, smooth = bend_ns(f);

	for (uint32_t k = 0; k + 2 < f->knots; k++) {
		double second = f->theta[k] - 2 * f->theta[k + 1] + f->theta[k + 2];

		sum += second * second / (smooth * smooth) + 2 * log(smooth);
	}
	return sum;
}

static double form(const struct ifp_trend_model *f, const struct row *row, double *scratch)
{
	memset(scratch, 0, f->dim * sizeof(*scratch));
	for (uint32_t a = 0; a < row->count; a++)
		scratch[row->index[a]] += row->value[a];
	return ifp_dense_inverse_form(f->normal, f->dim, scratch);
}

struct ifp_trend_point ifp_trend_model_point(
	const struct ifp_trend_model *f, uint32_t i, double *scratch)
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

bool ifp_trend_model_begins_piece(const struct ifp_trend_model *f, uint32_t i)
{
	for (uint32_t s = 0; s < f->step_count; s++) {
		if (f->steps[s] == i)
			return true;
	}
	return false;
}

static void find_scales(struct ifp_trend_model *f)
{
	uint32_t readings[IFP_TREND_KINDS_MAX] = {0};

	f->noise.kinds = f->kinds;
	for (uint32_t i = 0; i < f->count; i++) {
		uint32_t kind = f->readings[i].kind;

		if (kind < f->kinds) {
			f->noise.scale_ns[kind] += f->readings[i].scale_ns;
			readings[kind]++;
		}
	}
	for (uint32_t k = 0; k < f->kinds; k++)
		f->noise.scale_ns[k] = readings[k] ? f->noise.scale_ns[k] / readings[k] : 1;
}

/* Knots evenly over the readings, and what else the model has. */
static void lay_out(struct ifp_trend_model *f)
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
	find_scales(f);
}

int ifp_trend_model_new(
	const struct ifp_trend_reading *readings, uint32_t count, struct ifp_trend_model *out)
{
	struct ifp_trend_model model = {.readings = readings, .count = count, .bend = 1};
	int steps = ifp_trend_find_steps(readings, count, model.steps);

	if (steps < 0)
		return steps;
	model.step_count = (uint32_t)steps;
	lay_out(&model);
	model.normal = calloc((size_t)model.dim * model.dim, sizeof(*model.normal));
	model.theta = calloc(model.dim, sizeof(*model.theta));
	model.residual = calloc((size_t)count * 4, sizeof(*model.residual));
	if (!model.normal || !model.theta || !model.residual) {
		ifp_trend_model_free(&model);
		return ifp_fail(-ENOMEM, "fit %u readings of clocks", count);
	}
	model.weight = model.residual + count;
	model.scratch = model.residual + 2 * (size_t)count;
	model.odds = model.residual + 3 * (size_t)count;
	*out = model;
	return 0;
}

void ifp_trend_model_free(struct ifp_trend_model *model)
{
	free(model->normal);
	free(model->theta);
	free(model->residual);
	*model = (struct ifp_trend_model){0};
}
