/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line and the biases of trend.h as one system of linear equations: readings with weights in,
 * what fits them best out. Private to trend.c.
 */
#pragma once

#include "clocksync/estimate/trend_noise.h"

struct ifp_trend_model {
	const struct ifp_trend_reading *readings;
	uint32_t count;
	uint32_t steps[IFP_TREND_STEPS_MAX];
	uint32_t step_count;
	uint32_t knots, kinds, dim;
	double knot_s; /* between knots */
	int64_t base_ns, base_offset_ns;
	double noise_ns[IFP_TREND_KINDS_MAX];
	double *normal, *theta; /* owned; dim x dim: its factor afterwards; dim */
	/* By reading; owned, as one. */
	double *residual, *weight, *scratch, *odds;
	double bend;	 /* how much the line may, against what clocks usually do */
	double evidence; /* minus twice its logarithm; smaller is likelier */
	struct ifp_trend_noise noise;
};

/* Lays the model out, and finds where the clock was set. -ENOMEM. */
int ifp_trend_model_new(
	const struct ifp_trend_reading *readings, uint32_t count, struct ifp_trend_model *out);
void ifp_trend_model_free(struct ifp_trend_model *model);

/*
 * One round of least squares with the weights and the bend at hand: theta and residuals; normal
 * becomes its factor. Returns the logarithm of its determinant.
 */
double ifp_trend_model_solve(struct ifp_trend_model *model);

/* What the smoothness costs: minus twice a logarithm. */
double ifp_trend_model_bends_cost(const struct ifp_trend_model *model);

/* The line at reading i; scratch: dim of them. */
struct ifp_trend_point ifp_trend_model_point(
	const struct ifp_trend_model *model, uint32_t i, double *scratch);

/* Whether the clock was set right before reading i. */
bool ifp_trend_model_begins_piece(const struct ifp_trend_model *model, uint32_t i);
