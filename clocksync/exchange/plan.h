/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who measures whom: the edges of a partial hypercube over n nodes (i and i ^ 2^d), in rounds in
 * which every node takes part in one edge at most. log2(n) edges a node, several paths between
 * any two nodes, so that an asymmetric edge can be found out. The lower node is the client.
 */
#pragma once

#include <stdint.h>

struct ifp_clock_pair {
	uint32_t client, server; /* node numbers */
	uint32_t round;
};

/* Number of edges for n nodes; with pairs not NULL, writes them in order of rounds. */
uint32_t ifp_clock_plan(uint32_t nodes, struct ifp_clock_pair *pairs);
