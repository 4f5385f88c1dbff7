/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/store/sort.h"

#include "test.h"

#include <stdlib.h>

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *seed >> 20;
}

/* Events that start within such a time, some of them together. */
static struct ifp_place *make(uint64_t count, int64_t first_ns, uint64_t within_ns)
{
	struct ifp_place *places = calloc(count, sizeof(*places));
	uint64_t seed = count;

	assert_non_null(places);
	for (uint64_t i = 0; i < count; i++)
		places[i] = (struct ifp_place){
			.start_ns = first_ns + (int64_t)(next_random(&seed) % within_ns),
			.dur_ns = (int64_t)(next_random(&seed) % 3),
			.block = (uint32_t)(i / 100),
			.row = (uint32_t)(i % 100),
		};
	return places;
}

static void assert_in_order(const struct ifp_place *a, const struct ifp_place *b)
{
	assert_true(a->start_ns <= b->start_ns);
	if (a->start_ns < b->start_ns)
		return;
	assert_true(a->dur_ns >= b->dur_ns);
	if (a->dur_ns > b->dur_ns)
		return;
	assert_true(a->block < b->block || (a->block == b->block && a->row < b->row));
}

/* Each is there once, at its place. */
static void assert_sorts(uint64_t count, int64_t first_ns, uint64_t within_ns)
{
	struct ifp_place *places = make(count, first_ns, within_ns);
	struct ifp_place *before = make(count, first_ns, within_ns);
	bool *seen = calloc(count, sizeof(*seen));

	assert_non_null(seen);
	assert_int_equal(ifp_places_sort(places, count), 0);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t was = places[i].block * 100 + places[i].row;

		assert_false(seen[was]);
		seen[was] = true;
		assert_memory_equal(&places[i], &before[was], sizeof(places[i]));
		if (i)
			assert_in_order(&places[i - 1], &places[i]);
	}
	free(seen);
	free(before);
	free(places);
}

static void events_of_any_number_are_sorted(void **state)
{
	(void)state;
	assert_int_equal(ifp_places_sort(NULL, 0), 0);
	assert_sorts(1, 5, 1);
	assert_sorts(511, 0, 300);
	assert_sorts(512, 0, 300);
	assert_sorts(5000, 0, 1000000000);
}

static void times_may_be_any(void **state)
{
	(void)state;
	assert_sorts(3000, -500, 1000);
	assert_sorts(3000, INT64_MIN, UINT64_C(1) << 43);
	assert_sorts(3000, INT64_MAX - 2000, 2000);
	assert_sorts(3000, 7, 1);
}

/* All bits of the starts differ. */
static void the_farthest_times_are_told_apart(void **state)
{
	struct ifp_place *places = calloc(600, sizeof(*places));

	(void)state;
	assert_non_null(places);
	for (uint32_t i = 0; i < 600; i++)
		places[i] = (struct ifp_place){
			.start_ns = i % 2 ? INT64_MIN + i : INT64_MAX - i, .row = i};
	assert_int_equal(ifp_places_sort(places, 600), 0);
	assert_int_equal(places[0].row, 1);
	assert_int_equal(places[299].row, 599);
	assert_int_equal(places[300].row, 598);
	assert_int_equal(places[599].row, 0);
	free(places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_any_number_are_sorted),
		cmocka_unit_test(times_may_be_any),
		cmocka_unit_test(the_farthest_times_are_told_apart),
	};

	return RUN_TESTS(tests);
}
