/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/lateness.h"

#include "core/cleanup.h"
#include "core/time.h"

#include "noise.h"
#include "test.h"

#define MS IFP_NS_PER_MS

/* 4 ranks, 5 steps: rank 2 is late by 100 ms after others that spread over 6 ms. */
static void a_rank_that_is_always_last_is_named(void **state)
{
	int64_t arrival_ns[5][4];
	struct ifp_arrival_step steps[5];
	struct ifp_arrivals arrivals = {.rank_count = 4, .steps = steps, .step_count = 5};
	struct ifp_lateness lateness;

	(void)state;
	for (int s = 0; s < 5; s++) {
		int64_t base_ns = s * 500 * MS;
		int64_t row_ns[4] = {base_ns + (s % 3) * MS, base_ns + 3 * MS, base_ns + 103 * MS,
			base_ns + (6 - s % 2) * MS};

		memcpy(arrival_ns[s], row_ns, sizeof(row_ns));
		steps[s] = (struct ifp_arrival_step){(uint64_t)s + 1, 0, arrival_ns[s]};
	}
	assert_ok(ifp_lateness_test(&arrivals, &lateness));
	assert_true(lateness.enough_steps);
	assert_true(lateness.late);
	assert_int_equal(lateness.candidate, 2);
	assert_int_equal(lateness.earliest, 0);
	assert_int_equal(lateness.middle, 1);
	assert_int_equal(lateness.steps_late, 5);
	assert_int_equal(lateness.late_ns, 100 * MS); /* after the others' median, 3 ms */
	assert_int_equal(lateness.spread_min_ns, 101 * MS);
	assert_int_equal(lateness.spread_max_ns, 103 * MS);
	assert_true(lateness.p <= 0.01);
	assert_false(lateness.another_each_time);
	assert_int_equal(lateness.most_last, 5);
}

/* The least p is R^(1-S); below the steps that it needs, nobody is named however late. */
static void too_few_steps_name_nobody(void **state)
{
	struct noise noise;
	struct ifp_lateness lateness;

	(void)state;
	assert_int_equal(ifp_lateness_steps_needed(2), 8);
	assert_int_equal(ifp_lateness_steps_needed(4), 5);
	assert_int_equal(ifp_lateness_steps_needed(8), 4);
	assert_int_equal(ifp_lateness_steps_needed(16), 3);
	for (uint32_t ranks = 2; ranks <= 16; ranks++) {
		uint32_t needed = ifp_lateness_steps_needed(ranks);

		noise_make(&noise, NOISE_LOGNORMAL, ranks, ranks, needed);
		noise_delay(&noise, 1, 10000 * MS);
		assert_ok(ifp_lateness_test(&noise.arrivals, &lateness));
		assert_true(lateness.late);
		noise.arrivals.step_count--;
		assert_ok(ifp_lateness_test(&noise.arrivals, &lateness));
		assert_false(lateness.enough_steps);
		assert_false(lateness.late);
		assert_int_equal(lateness.candidate, 1);
	}
}

/* One huge hiccup of rank 5 does not hide that rank 3 is late in every step. */
static void one_hiccup_of_another_rank_hides_nobody(void **state)
{
	struct noise noise;
	struct ifp_lateness lateness;

	(void)state;
	noise_make(&noise, NOISE_TURNS, 7, 8, 5);
	noise_delay(&noise, 3, 200 * MS);
	noise.arrival_ns[2][5] += 5000 * MS;
	assert_ok(ifp_lateness_test(&noise.arrivals, &lateness));
	assert_true(lateness.late);
	assert_int_equal(lateness.candidate, 3);
	assert_int_equal(lateness.steps_late, 4);
}

/* A rank 1 ms behind seven others that spread over 60 ms is regular, but not worth a name. */
static void a_gap_within_the_spread_of_the_others_is_no_lateness(void **state)
{
	struct noise noise;
	struct ifp_lateness lateness;

	(void)state;
	noise_make(&noise, NOISE_TURNS, 11, 8, 10);
	for (uint32_t s = 0; s < 10; s++)
		noise.arrival_ns[s][6] = s * 500 * MS + 90 * MS;
	assert_ok(ifp_lateness_test(&noise.arrivals, &lateness));
	assert_int_equal(lateness.candidate, 6);
	assert_int_equal(lateness.steps_late, 10);
	assert_false(lateness.late);
	assert_true(lateness.gap_ns < lateness.others_ns);
	assert_false(lateness.more_steps_tell);
}

/* Of two ranks one is 10 ms behind, 3 more or less: too unsteady for 8 steps, not for 30. */
static void more_steps_tell_where_the_gap_is_steady_enough_for_them(void **state)
{
	struct noise noise;
	struct ifp_lateness lateness;

	(void)state;
	noise_make(&noise, NOISE_TURNS, 11, 2, 30);
	for (uint32_t s = 0; s < 30; s++) {
		noise.arrival_ns[s][0] = s * 500 * MS;
		noise.arrival_ns[s][1] = s * 500 * MS + (s % 2 ? 13 : 7) * MS;
	}
	noise.arrivals.step_count = 8;
	assert_ok(ifp_lateness_test(&noise.arrivals, &lateness));
	assert_false(lateness.late);
	assert_true(lateness.more_steps_tell);
	assert_int_equal(lateness.gap_ns, 10 * MS);
	assert_int_equal(lateness.deviation_ns, 3 * MS);
	noise.arrivals.step_count = 30;
	assert_ok(ifp_lateness_test(&noise.arrivals, &lateness));
	assert_true(lateness.late);
	assert_false(lateness.more_steps_tell);
}

static void equal_arrivals_name_nobody(void **state)
{
	struct noise noise;
	struct ifp_lateness lateness;

	(void)state;
	noise_make(&noise, NOISE_TURNS, 1, 4, 6);
	memset(noise.arrival_ns, 0, sizeof(noise.arrival_ns));
	assert_ok(ifp_lateness_test(&noise.arrivals, &lateness));
	assert_false(lateness.late);
	assert_int_equal(lateness.late_ns, 0);
}

/* Clean jobs of every kind of noise, 2 to 16 ranks, 3 to 10 steps: at most 0.5 % name somebody. */
static void clean_jobs_name_nobody(void **state)
{
	uint32_t jobs[NOISE_KINDS] = {0}, named[NOISE_KINDS] = {0}, all_named = 0;
	const uint32_t total = TEST_SANITIZED ? 1000 : 5000;
	struct noise noise;
	struct ifp_lateness lateness;

	(void)state;
	for (uint32_t i = 0; i < total; i++) {
		enum noise_kind kind = i % NOISE_KINDS;
		uint32_t ranks, steps;

		noise.state = i;
		ranks = 2 + noise_below(&noise, 15);
		steps = 3 + noise_below(&noise, 8);
		noise_make(&noise, kind, UINT64_C(1000003) * (i + 1), ranks, steps);
		assert_ok(ifp_lateness_test(&noise.arrivals, &lateness));
		jobs[kind]++;
		named[kind] += lateness.late;
		all_named += lateness.late;
	}
	for (uint32_t kind = 0; kind < NOISE_KINDS; kind++)
		print_message("noise %u: %u of %u clean jobs named a rank\n", kind, named[kind],
			jobs[kind]);
	assert_true(all_named * 1000 <= total * 5);
}

/*
 * Few ranks say little about noise, above all when it lasts over several steps: each number of
 * ranks by itself stays below 0.5 %, with as many steps as the test needs or up to four times more.
 */
static void clean_jobs_of_few_ranks_name_nobody_either(void **state)
{
	const uint32_t total = TEST_SANITIZED ? 400 : 2000;
	struct noise noise;
	struct ifp_lateness lateness;

	(void)state;
	for (uint32_t ranks = 2; ranks <= 4; ranks++) {
		uint32_t named = 0;

		for (uint32_t i = 0; i < total; i++) {
			noise_make(&noise, NOISE_LASTING, UINT64_C(1000003) * (i + 1), ranks,
				ifp_lateness_steps_needed(ranks) * (1 + i % 4) + i % 5);
			assert_ok(ifp_lateness_test(&noise.arrivals, &lateness));
			named += lateness.late;
		}
		print_message("%u ranks: %u of %u named\n", ranks, named, total);
		assert_true(named * 1000 <= total * 5);
	}
}

/* A delay of twice the mean clean spread, 8 ranks, 5 steps: the right rank in 95 % of the jobs. */
static void a_delay_of_twice_the_noise_is_found(void **state)
{
	const uint32_t total = TEST_SANITIZED ? 250 : 1000;
	struct noise noise;
	struct ifp_lateness lateness;
	uint32_t found = 0, wrong = 0;

	(void)state;
	for (uint32_t i = 0; i < total; i++) {
		uint32_t rank;

		noise_make(&noise, i % NOISE_KINDS, UINT64_C(7919) * (i + 1), 8, 5);
		rank = noise_below(&noise, 8);
		noise_delay(&noise, rank, 2 * noise_spread_ns(&noise));
		assert_ok(ifp_lateness_test(&noise.arrivals, &lateness));
		found += lateness.late && lateness.candidate == rank;
		wrong += lateness.late && lateness.candidate != rank;
	}
	print_message("found %u of %u, wrong %u\n", found, total, wrong);
	assert_true(found * 100 >= total * 95);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rank_that_is_always_last_is_named),
		cmocka_unit_test(too_few_steps_name_nobody),
		cmocka_unit_test(one_hiccup_of_another_rank_hides_nobody),
		cmocka_unit_test(a_gap_within_the_spread_of_the_others_is_no_lateness),
		cmocka_unit_test(more_steps_tell_where_the_gap_is_steady_enough_for_them),
		cmocka_unit_test(equal_arrivals_name_nobody),
		cmocka_unit_test(clean_jobs_name_nobody),
		cmocka_unit_test(clean_jobs_of_few_ranks_name_nobody_either),
		cmocka_unit_test(a_delay_of_twice_the_noise_is_found),
	};

	return RUN_TESTS(tests);
}
