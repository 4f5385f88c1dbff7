/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Robust weighted least squares on a graph: minimises the sum over edges of
 * weight * huber((x[to] - x[from] - value) / scale) with x[0] = 0, by conjugate gradients that are
 * reweighted some times; not at all is plain least squares. Values are small residuals: doubles are
 * exact enough here.
 */
#pragma once

#include <stdint.h>

struct ifp_difference {
	uint32_t from, to;
	double value_ns;
	double sigma_ns; /* half width: weight = 1 / sigma^2; > 0 */
};

/* What robust solutions take: Huber's weights have settled by then. */
#define IFP_REWEIGHTINGS 4

/* x has node_count entries; those that no difference reaches become 0. -ENOMEM only. */
int ifp_least_squares(const struct ifp_difference *differences, uint32_t count, uint32_t node_count,
	int reweightings, double *x);
