/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/sequence_set.h"

#include "block_events.h"
#include "test.h"

#define RANK 7u

static bool add(struct ifp_sequence_set *set, uint32_t rank, uint64_t sequence)
{
	bool added = false;

	assert_ok(ifp_sequence_set_add(set, rank, sequence, &added));
	return added;
}

static void numbers_in_order_stay_one_range(void **state)
{
	struct ifp_sequence_set set = {0};

	(void)state;
	for (uint64_t n = 1; n <= 1000; n++)
		assert_true(add(&set, RANK, n));
	assert_int_equal(set.ranks[0].count, 1);
	assert_int_equal(ifp_sequence_set_contiguous(&set, RANK), 1000);
	assert_false(add(&set, RANK, 500));
	ifp_sequence_set_free(&set);
}

/* Against a plain table of what is in the set, over random additions and removals. */
static void holds_what_was_added_and_not_removed(void **state)
{
	struct random random = {1};

	(void)state;
	for (uint32_t round = 0; round < 20; round++) {
		struct ifp_sequence_set set = {0};
		bool held[65] = {false};
		uint64_t contiguous = 0;

		for (uint32_t i = 0; i < 400; i++) {
			uint64_t n = 1 + random_below(&random, 64);

			if (held[n] && random_below(&random, 2)) {
				ifp_sequence_set_remove(&set, RANK, n);
				held[n] = false;
				continue;
			}
			assert_int_equal(add(&set, RANK, n), !held[n]);
			held[n] = true;
		}
		while (contiguous < 64 && held[contiguous + 1])
			contiguous++;
		assert_int_equal(ifp_sequence_set_contiguous(&set, RANK), contiguous);
		for (uint64_t n = 1; n <= 64; n++)
			assert_int_equal(add(&set, RANK, n), !held[n]);
		assert_int_equal(set.ranks[0].count, 1);
		ifp_sequence_set_free(&set);
	}
}

static void ranks_do_not_mix_and_extremes_are_numbers(void **state)
{
	static const uint32_t ranks[] = {5, 0, UINT32_MAX, 3};
	struct ifp_sequence_set set = {0};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_true(add(&set, ranks[i], UINT64_MAX));
		assert_true(add(&set, ranks[i], 1));
		assert_false(add(&set, ranks[i], UINT64_MAX));
	}
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(ifp_sequence_set_contiguous(&set, ranks[i]), 1);
	assert_int_equal(ifp_sequence_set_contiguous(&set, 4), 0);
	ifp_sequence_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_in_order_stay_one_range),
		cmocka_unit_test(holds_what_was_added_and_not_removed),
		cmocka_unit_test(ranks_do_not_mix_and_extremes_are_numbers),
	};

	return RUN_TESTS(tests);
}
