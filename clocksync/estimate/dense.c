/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/dense.h"

#include <math.h>
#include <stddef.h>

/* What a pivot keeps of its diagonal at least: a direction that nothing determines stays put. */
#define PIVOT_SHARE 1e-13

double ifp_dense_factor(double *a, uint32_t n)
{
	double log_det = 0;

	for (uint32_t i = 0; i < n; i++) {
		double *row = a + (size_t)i * n, least = row[i] * PIVOT_SHARE;

		for (uint32_t j = 0; j < i; j++) {
			const double *other = a + (size_t)j * n;
			double sum = row[j];

			for (uint32_t k = 0; k < j; k++)
				sum -= row[k] * other[k];
			row[j] = sum / other[j];
		}
		for (uint32_t k = 0; k < i; k++)
			row[i] -= row[k] * row[k];
		if (!(row[i] > least))
			row[i] = least > 0 ? least : 1;
		log_det += log(row[i]);
		row[i] = sqrt(row[i]);
	}
	return log_det;
}

static void solve_lower(const double *factor, uint32_t n, double *x)
{
	for (uint32_t i = 0; i < n; i++) {
		const double *row = factor + (size_t)i * n;

		for (uint32_t k = 0; k < i; k++)
			x[i] -= row[k] * x[k];
		x[i] /= row[i];
	}
}

void ifp_dense_solve(const double *factor, uint32_t n, double *x)
{
	solve_lower(factor, n, x);
	for (uint32_t i = n; i-- > 0;) {
		x[i] /= factor[(size_t)i * n + i];
		for (uint32_t k = 0; k < i; k++)
			x[k] -= factor[(size_t)i * n + k] * x[i];
	}
}

double ifp_dense_inverse_form(const double *factor, uint32_t n, double *x)
{
	double sum = 0;

	solve_lower(factor, n, x);
	for (uint32_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sum;
}
