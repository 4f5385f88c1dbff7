/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/least_squares.h"

#include "clocksync/estimate/median.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Huber's constant: 95 % efficiency for normal errors; MAD to standard deviation. */
#define HUBER_K 1.345
#define MAD_TO_SIGMA 1.4826
/* CG ends when the residual has shrunk by this factor: below a nanosecond, of up to a second. */
#define CG_TOLERANCE 1e-10
#define CG_EXTRA_ITERATIONS 64

struct ends {
	uint32_t from, to;
};

struct system {
	const struct ifp_difference *differences;
	uint32_t count, node_count;
	struct ends *ends; /* of the differences, closer together */
	double *memory;	   /* all vectors below */
	double *weight, *scaled;
	double *right, *diagonal, *residual, *direction, *product;
};

static int system_alloc(struct system *s)
{
	size_t m = s->count, n = s->node_count;

	s->memory = calloc(2 * m + 5 * n, sizeof(double));
	s->ends = calloc(m, sizeof(*s->ends));
	if (!s->memory || !s->ends) {
		free(s->memory);
		free(s->ends);
		return -ENOMEM;
	}
	for (size_t e = 0; e < m; e++)
		s->ends[e] = (struct ends){s->differences[e].from, s->differences[e].to};
	s->weight = s->memory;
	s->scaled = s->weight + m;
	s->right = s->scaled + m;
	s->diagonal = s->right + n;
	s->residual = s->diagonal + n;
	s->direction = s->residual + n;
	s->product = s->direction + n;
	return 0;
}

/* out = Laplacian * x, with node 0 held at 0. */
static void multiply(const struct system *s, const double *x, double *out)
{
	memset(out, 0, s->node_count * sizeof(*out));
	for (uint32_t e = 0; e < s->count; e++) {
		struct ends ends = s->ends[e];
		double flow = s->weight[e] * (x[ends.to] - x[ends.from]);

		out[ends.to] += flow;
		out[ends.from] -= flow;
	}
	out[0] = 0;
}

static void assemble(struct system *s)
{
	memset(s->right, 0, s->node_count * sizeof(*s->right));
	memset(s->diagonal, 0, s->node_count * sizeof(*s->diagonal));
	for (uint32_t e = 0; e < s->count; e++) {
		const struct ifp_difference *d = s->differences + e;
		double flow = s->weight[e] * d->value_ns;

		s->right[d->to] += flow;
		s->right[d->from] -= flow;
		s->diagonal[d->to] += s->weight[e];
		s->diagonal[d->from] += s->weight[e];
	}
	s->right[0] = 0;
}

/* Sum of r^2 / diagonal: the squared norm in which Jacobi-preconditioned CG measures. */
static double scaled_norm(const struct system *s, const double *r)
{
	double sum = 0;

	for (uint32_t i = 1; i < s->node_count; i++) {
		if (s->diagonal[i] > 0)
			sum += r[i] * r[i] / s->diagonal[i];
	}
	return sum;
}

static double dot(const struct system *s, const double *a, const double *b)
{
	double sum = 0;

	for (uint32_t i = 1; i < s->node_count; i++)
		sum += a[i] * b[i];
	return sum;
}

static double preconditioned(const struct system *s, uint32_t i)
{
	return i && s->diagonal[i] > 0 ? s->residual[i] / s->diagonal[i] : 0;
}

/* Conjugate gradients with Jacobi's preconditioner, from the x that is given. */
static void conjugate_gradients(struct system *s, double *x)
{
	double rz, target;

	multiply(s, x, s->product);
	for (uint32_t i = 0; i < s->node_count; i++) {
		s->residual[i] = s->right[i] - s->product[i];
		s->direction[i] = preconditioned(s, i);
	}
	rz = scaled_norm(s, s->residual);
	target = scaled_norm(s, s->right) * CG_TOLERANCE * CG_TOLERANCE;
	for (uint32_t k = 0; k < 2 * s->node_count + CG_EXTRA_ITERATIONS && rz > target; k++) {
		double curvature, step, rz_new;

		multiply(s, s->direction, s->product);
		curvature = dot(s, s->direction, s->product);
		if (!(curvature > 0))
			break;
		step = rz / curvature;
		for (uint32_t i = 1; i < s->node_count; i++) {
			x[i] += step * s->direction[i];
			s->residual[i] -= step * s->product[i];
		}
		rz_new = scaled_norm(s, s->residual);
		for (uint32_t i = 1; i < s->node_count; i++)
			s->direction[i] = preconditioned(s, i) + rz_new / rz * s->direction[i];
		rz = rz_new;
	}
}

static double misfit(const struct ifp_difference *d, const double *x)
{
	return fabs(x[d->to] - x[d->from] - d->value_ns) / d->sigma_ns;
}

/* Huber's weights on the misfits, scaled by their median. */
static void reweight(struct system *s, const double *x)
{
	double limit;

	for (uint32_t e = 0; e < s->count; e++)
		s->scaled[e] = misfit(s->differences + e, x);
	limit = HUBER_K * MAD_TO_SIGMA * ifp_select_median(s->scaled, s->count);
	for (uint32_t e = 0; e < s->count; e++) {
		const struct ifp_difference *d = s->differences + e;
		double u = misfit(d, x);

		s->weight[e] = 1 / (d->sigma_ns * d->sigma_ns);
		if (limit > 0 && u > limit)
			s->weight[e] *= limit / u;
	}
}

int ifp_least_squares(const struct ifp_difference *differences, uint32_t count, uint32_t node_count,
	int reweightings, double *x)
{
	struct system s = {.differences = differences, .count = count, .node_count = node_count};

	memset(x, 0, node_count * sizeof(*x));
	if (!count)
		return 0;
	if (system_alloc(&s))
		return -ENOMEM;
	for (uint32_t e = 0; e < count; e++)
		s.weight[e] = 1 / (differences[e].sigma_ns * differences[e].sigma_ns);
	for (int i = 0; i <= reweightings; i++) {
		if (i)
			reweight(&s, x);
		assemble(&s);
		conjugate_gradients(&s, x);
	}
	free(s.memory);
	free(s.ends);
	return 0;
}
