/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symmetric positive definite systems of up to some hundred unknowns, dense: Cholesky. Private to
 * clocksync/estimate.
 */
#pragma once

#include <stdint.h>

/* a (n x n, row by row, the lower half is read) becomes its factor. Returns log det a. */
double ifp_dense_factor(double *a, uint32_t n);

/* Solves for x in place, with such a factor. */
void ifp_dense_solve(const double *factor, uint32_t n, double *x);

/* x' a^-1 x, with a's factor; x is used up. */
double ifp_dense_inverse_form(const double *factor, uint32_t n, double *x);
