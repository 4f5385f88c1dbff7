/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/deviation.h"

#include "clocksync/estimate/least_squares.h"
#include "clocksync/estimate/median.h"
#include "core/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Fewer independent loops than this tell nothing of the edges' errors. */
#define FEWEST_LOOPS 4

/* Trials of random errors: sigma is known to 1 / sqrt(2 * TRIALS) of itself. */
#define TRIALS 16

/* Median of the absolute value to standard deviation. */
#define MAD_TO_SIGMA 1.4826

static double half_width(const struct ifp_graph_edge *edge)
{
	return (double)(edge->high_ns - edge->low_ns) / 2 + 1;
}

/* The used edges, and how much each misses the offsets, in half widths. */
static uint32_t collect(const struct ifp_graph *graph, const struct ifp_graph_node *nodes,
	struct ifp_difference *differences, double *misfits)
{
	uint32_t count = 0;

	for (uint32_t e = 0; e < graph->edge_count; e++) {
		const struct ifp_graph_edge *edge = graph->edges + e;
		int64_t difference_ns = nodes[edge->to].offset_ns - nodes[edge->from].offset_ns;

		if (edge->rejected || !nodes[edge->from].connected)
			continue;
		misfits[count] = fabs((double)(edge->middle_ns - difference_ns)) / half_width(edge);
		differences[count++] = (struct ifp_difference){
			.from = edge->from, .to = edge->to, .sigma_ns = half_width(edge)};
	}
	return count;
}

/* Standard deviation of an edge's error in half widths. */
static double edge_error(double *misfits, uint32_t count, uint32_t connected)
{
	double uniform = 1 / sqrt(3), error;
	uint32_t loops = count + 1 > connected ? count + 1 - connected : 0;

	if (loops < FEWEST_LOOPS)
		return uniform;
	error = MAD_TO_SIGMA * ifp_select_median(misfits, count) * sqrt((double)count / (double)loops);
	return error < uniform ? error : uniform;
}

/* A coin (SplitMix64's finish on a counter): the same for the same question. */
static double coin(uint64_t i)
{
	uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z >> 63 ? 1 : -1;
}

int ifp_graph_deviation(
	const struct ifp_graph *graph, const struct ifp_graph_node *nodes, double *sigmas_ns)
{
	IFP_CLEANUP_FREE struct ifp_difference *differences =
		calloc(graph->edge_count + 1, sizeof(*differences));
	IFP_CLEANUP_FREE double *misfits = calloc(graph->edge_count + 1, sizeof(*misfits));
	IFP_CLEANUP_FREE double *x = calloc(graph->node_count, sizeof(*x));
	uint32_t count, connected = 0;
	double error;

	if (!differences || !misfits || !x)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->node_count; i++) {
		connected += nodes[i].connected;
		sigmas_ns[i] = 0;
	}
	count = collect(graph, nodes, differences, misfits);
	error = edge_error(misfits, count, connected);
	for (uint32_t trial = 0; trial < TRIALS; trial++) {
		for (uint32_t e = 0; e < count; e++)
			differences[e].value_ns =
				differences[e].sigma_ns * coin((uint64_t)trial * count + e);
		if (ifp_least_squares(differences, count, graph->node_count, 0, x))
			return -ENOMEM;
		for (uint32_t i = 0; i < graph->node_count; i++)
			sigmas_ns[i] += x[i] * x[i];
	}
	for (uint32_t i = 0; i < graph->node_count; i++)
		sigmas_ns[i] = error * sqrt(sigmas_ns[i] / TRIALS);
	return 0;
}
