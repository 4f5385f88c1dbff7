/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/graph.h"
#include "core/cleanup.h"

#include "test.h"

#define FAR INT64_C(86400000000000) /* a day between two clocks */

static struct ifp_graph_edge edge(uint32_t from, uint32_t to, int64_t middle_ns, int64_t half_ns)
{
	return (struct ifp_graph_edge){
		from, to, middle_ns - half_ns, middle_ns + half_ns, middle_ns, false};
}

static void certificate_of_a_chain_is_the_sum(void **state)
{
	struct ifp_graph_edge edges[] = {edge(0, 1, FAR, 100), edge(2, 1, -500, 30)};
	struct ifp_graph graph = {edges, 2, 3};
	struct ifp_graph_node nodes[3];

	(void)state;
	assert_ok(ifp_graph_solve(&graph, nodes));
	assert_int_equal(nodes[0].offset_ns, 0);
	assert_int_equal(nodes[0].high_ns, 0);
	assert_int_equal(nodes[1].offset_ns, FAR);
	assert_int_equal(nodes[2].offset_ns, FAR + 500);
	assert_in_range(nodes[1].high_ns - nodes[1].offset_ns, 100, 101);
	assert_in_range(nodes[2].offset_ns - nodes[2].low_ns, 130, 132);
}

/* Two ways to the same node: each end of the interval comes from the better of them. */
static void certificate_takes_the_best_path_for_each_end(void **state)
{
	struct ifp_graph_edge edges[] = {
		{0, 1, -10, 90, 40, false},
		{0, 2, -5, 5, 0, false},
		{2, 1, -80, 10, -35, false},
	};
	struct ifp_graph graph = {edges, 3, 3};
	struct ifp_graph_node nodes[3];

	(void)state;
	assert_ok(ifp_graph_solve(&graph, nodes));
	assert_int_equal(edges[0].rejected + edges[1].rejected + edges[2].rejected, 0);
	assert_int_equal(nodes[1].low_ns, -10 - 1);
	assert_int_equal(nodes[1].high_ns, 5 + 10 + 2);
	assert_true(nodes[1].offset_ns >= nodes[1].low_ns);
	assert_true(nodes[1].offset_ns <= nodes[1].high_ns);
}

/* A loop of equal edges shares its residual; a wide edge takes nearly all of it. */
static void residual_goes_to_the_weak_edges(void **state)
{
	struct ifp_graph_edge equal[] = {
		edge(0, 1, 30, 100), edge(1, 2, 30, 100), edge(0, 2, 0, 100)};
	struct ifp_graph_edge mixed[] = {
		edge(0, 1, 30, 1000), edge(1, 2, 30, 1000), edge(0, 2, 0, 10)};
	struct ifp_graph graph = {equal, 3, 3};
	struct ifp_graph_node nodes[3];

	(void)state;
	assert_ok(ifp_graph_solve(&graph, nodes));
	assert_int_equal(nodes[1].offset_ns, 10);
	assert_int_equal(nodes[2].offset_ns, 20);
	graph.edges = mixed;
	assert_ok(ifp_graph_solve(&graph, nodes));
	assert_int_equal(nodes[1].offset_ns, 0);
	assert_int_equal(nodes[2].offset_ns, 0);
}

/* Hypercube of 8 nodes, all offsets 1000 * node; one edge lies by 50 half widths. */
static void lying_edge_is_rejected(void **state)
{
	struct ifp_graph_edge edges[12];
	struct ifp_graph graph = {edges, 0, 8};
	struct ifp_graph_node nodes[8];

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		for (uint32_t bit = 1; bit < 8; bit <<= 1) {
			if (i < (i ^ bit))
				edges[graph.edge_count++] =
					edge(i, i ^ bit, 1000 * (int64_t)bit, 100);
		}
	}
	assert_int_equal(graph.edge_count, 12);
	edges[5] = edge(edges[5].from, edges[5].to, edges[5].middle_ns + 5000, 100);
	assert_ok(ifp_graph_solve(&graph, nodes));
	for (uint32_t e = 0; e < 12; e++)
		assert_int_equal(edges[e].rejected, e == 5);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(nodes[i].offset_ns, 1000 * i);
}

static void unreached_node_is_not_connected(void **state)
{
	struct ifp_graph_edge edges[] = {edge(0, 1, 7, 1), edge(2, 3, 7, 1)};
	struct ifp_graph graph = {edges, 2, 4};
	struct ifp_graph_node nodes[4];

	(void)state;
	assert_ok(ifp_graph_solve(&graph, nodes));
	assert_true(nodes[1].connected);
	assert_false(nodes[2].connected);
	assert_false(nodes[3].connected);
}

/* 1024 nodes of a hypercube with exact edges: offsets come out exact, so CG has converged. */
static void large_graph_is_exact(void **state)
{
	enum { NODES = 1024, DIMENSIONS = 10 };
	IFP_CLEANUP_FREE struct ifp_graph_edge *edges =
		calloc(NODES * DIMENSIONS / 2, sizeof(*edges));
	IFP_CLEANUP_FREE struct ifp_graph_node *nodes = calloc(NODES, sizeof(*nodes));
	struct ifp_graph graph = {edges, 0, NODES};
	uint32_t noise = 1;

	(void)state;
	for (uint32_t i = 0; i < NODES; i++) {
		for (uint32_t bit = 1; bit < NODES; bit <<= 1) {
			uint32_t j = i ^ bit;

			noise = noise * 1664525 + 1013904223;
			if (i < j)
				edges[graph.edge_count++] =
					edge(i, j, (int64_t)j * 1000003 - (int64_t)i * 1000003,
						100 + noise % 5000);
		}
	}
	assert_ok(ifp_graph_solve(&graph, nodes));
	for (uint32_t i = 0; i < NODES; i++)
		assert_int_equal(nodes[i].offset_ns, (int64_t)i * 1000003);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(certificate_of_a_chain_is_the_sum),
		cmocka_unit_test(certificate_takes_the_best_path_for_each_end),
		cmocka_unit_test(residual_goes_to_the_weak_edges),
		cmocka_unit_test(lying_edge_is_rejected),
		cmocka_unit_test(unreached_node_is_not_connected),
		cmocka_unit_test(large_graph_is_exact),
	};

	return RUN_TESTS(tests);
}
