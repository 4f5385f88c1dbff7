/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/exchange/plan.h"
#include "core/cleanup.h"

#include "test.h"

static void edges_differ_in_one_bit(void **state)
{
	struct ifp_clock_pair pairs[12];

	(void)state;
	assert_int_equal(ifp_clock_plan(8, NULL), 12);
	assert_int_equal(ifp_clock_plan(8, pairs), 12);
	for (int i = 0; i < 12; i++) {
		assert_true(pairs[i].client < pairs[i].server);
		assert_int_equal(pairs[i].client ^ pairs[i].server, 1u << pairs[i].round);
	}
}

static void one_node_has_nobody_to_ask(void **state)
{
	(void)state;
	assert_int_equal(ifp_clock_plan(0, NULL), 0);
	assert_int_equal(ifp_clock_plan(1, NULL), 0);
}

/* Every number of nodes: rounds in order, nobody twice in a round, everyone connected to node 0. */
static void rounds_are_matchings_and_reach_everyone(void **state)
{
	struct ifp_clock_pair pairs[64 * 6];

	(void)state;
	for (uint32_t nodes = 2; nodes <= 64; nodes++) {
		uint32_t count = ifp_clock_plan(nodes, pairs);
		uint64_t reached = 1, busy = 0;
		uint32_t round = 0;

		for (uint32_t i = 0; i < count; i++) {
			uint64_t both = UINT64_C(1) << pairs[i].client | UINT64_C(1)
										 << pairs[i].server;

			assert_true(pairs[i].server < nodes);
			assert_true(pairs[i].round >= round);
			if (pairs[i].round > round)
				busy = 0;
			round = pairs[i].round;
			assert_int_equal(busy & both, 0);
			busy |= both;
		}
		for (uint32_t pass = 0; pass < 6; pass++) {
			for (uint32_t i = 0; i < count; i++) {
				if (reached >> pairs[i].client & 1)
					reached |= UINT64_C(1) << pairs[i].server;
			}
		}
		assert_int_equal(reached, nodes == 64 ? UINT64_MAX : (UINT64_C(1) << nodes) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_differ_in_one_bit),
		cmocka_unit_test(one_node_has_nobody_to_ask),
		cmocka_unit_test(rounds_are_matchings_and_reach_everyone),
	};

	return RUN_TESTS(tests);
}
