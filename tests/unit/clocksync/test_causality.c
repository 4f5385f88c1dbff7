/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends before beginnings: clocks are moved there, by what is missing and no more, where the
 * certified region leaves room; elsewhere nothing moves. First by hand, then in random jobs with
 * known clocks.
 */
#include "clocksync/estimate/causality.h"
#include "clocksync/estimate/converter.h"
#include "core/cleanup.h"

#include "causality_jobs.h"
#include "test.h"

#define US IFP_NS_PER_US
#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S

/* Lifts stop this far behind the last to come. */
#define BEHIND_NS (2 * IFP_CONVERTER_ROUNDING_NS)

/* A few clocks whose lines are exact, and certified to within so much to both sides. */
#define CLOCKS 3

struct bench {
	struct ifp_track_point points[CLOCKS][3];
	struct ifp_track tracks[CLOCKS];
	struct ifp_causality_clock clocks[CLOCKS];
	struct ifp_causality_part parts[16];
	struct ifp_causality_operation items[8];
	struct ifp_causality_operations operations;
};

/* Clock 0 is the reference: without points, it cannot be moved. */
static void bench_make(struct bench *b, int64_t certified_ns)
{
	*b = (struct bench){.operations = {.items = b->items, .parts = b->parts}};
	for (uint32_t c = 0; c < CLOCKS; c++) {
		for (int64_t i = 0; i < 2; i++)
			b->points[c][i] = (struct ifp_track_point){.global_ns = S + i * S,
				.low_ns = -certified_ns,
				.high_ns = certified_ns};
		b->tracks[c] = (struct ifp_track){.points = b->points[c], .drift_ppm = 50};
		b->tracks[c].count = c ? 2 : 0;
		b->clocks[c].track = &b->tracks[c];
	}
}

static void bench_free(struct bench *b)
{
	for (uint32_t c = 0; c < CLOCKS; c++)
		ifp_moves_free(&b->clocks[c].moves);
}

/* Adds an operation of two clocks. */
static void bench_add(struct bench *b, uint32_t one, int64_t one_enter_ns, int64_t one_exit_ns,
	uint32_t other, int64_t other_enter_ns, int64_t other_exit_ns)
{
	struct ifp_causality_operations *ops = &b->operations;

	b->items[ops->count++] = (struct ifp_causality_operation){ops->part_count, 2};
	b->parts[ops->part_count++] =
		(struct ifp_causality_part){one, true, true, one_enter_ns, one_exit_ns};
	b->parts[ops->part_count++] =
		(struct ifp_causality_part){other, true, true, other_enter_ns, other_exit_ns};
}

static void bench_repair(struct bench *b)
{
	assert_ok(ifp_causality_repair(&b->operations, b->clocks, CLOCKS));
}

static int64_t move_of(const struct bench *b, uint32_t clock, int64_t at_ns)
{
	return ifp_moves_at(&b->clocks[clock].moves, at_ns);
}

/* Rank 1 left at 1 s + 90 us, 10 us before rank 2 came. */
static void an_end_is_moved_behind_the_last_to_come(void **state)
{
	IFP_CLEANUP(bench_free) struct bench b;
	const struct ifp_clock_repairs *repairs = &b.clocks[1].repairs;

	(void)state;
	bench_make(&b, MS);
	bench_add(&b, 1, S, S + 90 * US, 2, S + 100 * US, S + 110 * US);
	bench_repair(&b);
	assert_int_equal(move_of(&b, 1, S), 0); /* its beginning stays */
	assert_int_equal(move_of(&b, 1, S + 45 * US), (10 * US + BEHIND_NS) / 2);
	assert_int_equal(move_of(&b, 1, S + 90 * US), 10 * US + BEHIND_NS);
	/* gives way with the 50 ppm that clocks may drift: after 100 ms 5 us are left */
	assert_in_range(move_of(&b, 1, S + 100 * MS), 5 * US, 5 * US + 2 * BEHIND_NS);
	assert_int_equal(move_of(&b, 1, S + 201 * MS), 0);
	assert_int_equal(b.clocks[2].moves.count, 0);
	assert_int_equal(repairs->exits, 1);
	assert_int_equal(repairs->repaired, 1);
	assert_int_equal(repairs->left, 0);
	assert_int_equal(repairs->largest_ns, 10 * US + BEHIND_NS);
	assert_in_range(repairs->stretch_ns, 200 * MS, 201 * MS);
	assert_int_equal(b.clocks[2].repairs.exits, 1);
	assert_int_equal(b.clocks[2].repairs.repaired, 0);
}

static void an_end_that_certainly_was_so_early_stays(void **state)
{
	IFP_CLEANUP(bench_free) struct bench b;

	(void)state;
	bench_make(&b, 9 * US);
	bench_add(&b, 1, S, S + 90 * US, 2, S + 100 * US, S + 110 * US);
	bench_repair(&b);
	assert_int_equal(b.clocks[1].moves.count, 0);
	assert_int_equal(b.clocks[1].repairs.repaired, 0);
	assert_int_equal(b.clocks[1].repairs.left, 1);
	assert_int_equal(b.clocks[1].repairs.largest_left_ns, 10 * US);
	assert_int_equal(b.clocks[1].repairs.stretch_ns, 0);
}

static void the_reference_is_never_moved(void **state)
{
	IFP_CLEANUP(bench_free) struct bench b;

	(void)state;
	bench_make(&b, MS);
	bench_add(&b, 0, S, S + 90 * US, 1, S + 100 * US, S + 110 * US);
	bench_repair(&b);
	assert_int_equal(b.clocks[0].moves.count, 0);
	assert_int_equal(b.clocks[0].repairs.left, 1);
	assert_int_equal(b.clocks[1].moves.count, 0);
}

/* What was moved comes later to the next operation, too: there it is rank 2 that left too early. */
static void a_move_is_followed_by_those_that_waited_for_it(void **state)
{
	IFP_CLEANUP(bench_free) struct bench b;

	(void)state;
	bench_make(&b, MS);
	/* in another order than that of time, as operations of several groups come */
	bench_add(&b, 1, S + 120 * US, S + 140 * US, 2, S + 110 * US, S + 125 * US);
	bench_add(&b, 0, S + 100 * US, S + 101 * US, 1, S, S + 90 * US);
	bench_repair(&b);
	assert_int_equal(move_of(&b, 1, S + 90 * US), 10 * US + BEHIND_NS);
	/* the 120 us have become 130 */
	assert_int_equal(move_of(&b, 2, S + 110 * US), 0);
	assert_in_range(S + 125 * US + move_of(&b, 2, S + 125 * US),
		S + 120 * US + move_of(&b, 1, S + 120 * US),
		S + 120 * US + move_of(&b, 1, S + 120 * US) + BEHIND_NS);
	assert_int_equal(b.clocks[2].repairs.repaired, 1);
}

/* Only who is awaited is waited for, and only by those that wait: rank 1 sends, rank 2 receives. */
static void a_send_waits_for_nobody(void **state)
{
	IFP_CLEANUP(bench_free) struct bench b;

	(void)state;
	bench_make(&b, MS);
	bench_add(&b, 1, S, S + 10 * US, 2, S + 50 * US, S + 60 * US);
	b.parts[0].waits = b.parts[1].awaited = false;
	bench_add(&b, 1, S + 300 * US, S + 310 * US, 2, S + 200 * US, S + 290 * US);
	b.parts[2].waits = b.parts[3].awaited = false;
	bench_repair(&b);
	assert_int_equal(b.clocks[1].moves.count, 0);
	assert_int_equal(b.clocks[1].repairs.exits, 0);
	assert_int_equal(b.clocks[2].moves.count, 1);
	assert_int_equal(move_of(&b, 2, S + 290 * US), 10 * US + BEHIND_NS);
	assert_int_equal(b.clocks[2].repairs.exits, 2);
}

/* Each of two operations ends before the other has begun: that is no job, and it must end. */
static void operations_that_wait_for_each_other_end(void **state)
{
	IFP_CLEANUP(bench_free) struct bench b;

	(void)state;
	bench_make(&b, MS);
	bench_add(&b, 1, S, S + 10 * US, 2, S + 20 * US, S + 30 * US);
	bench_add(&b, 1, S + 20 * US, S + 30 * US, 2, S, S + 10 * US);
	bench_repair(&b);
	assert_int_equal(b.clocks[1].repairs.exits, 2);
	assert_int_equal(b.clocks[2].repairs.exits, 2);
}

/* Behind a time in which a clock was set the region begins anew: a move must have given way by
 * then. */
static void a_move_is_gone_where_the_region_has_no_room_for_it(void **state)
{
	IFP_CLEANUP(bench_free) struct bench b;

	(void)state;
	bench_make(&b, MS);
	b.points[1][1].global_ns = S + 50 * MS - 1;
	b.points[1][2] = (struct ifp_track_point){
		.global_ns = S + 50 * MS, .low_ns = -2 * US, .high_ns = MS};
	b.tracks[1].count = 3;
	bench_add(&b, 1, S, S + 90 * US, 2, S + 94 * US, S + 110 * US);
	bench_add(&b, 1, S + MS, S + MS + 90 * US, 2, S + MS + 100 * US, S + MS + 110 * US);
	bench_repair(&b);
	/* within 50 ms 2.5 us go: 4 us fit, 10 us do not */
	assert_int_equal(move_of(&b, 1, S + 90 * US), 4 * US + BEHIND_NS);
	assert_int_equal(b.clocks[1].moves.count, 1);
	assert_int_equal(b.clocks[1].repairs.left, 1);
	assert_in_range(move_of(&b, 1, S + 50 * MS), 1, 2 * US - BEHIND_NS);
}

/* 10 us are moved where the region is 20 us wider than at its points, and narrows afterwards. */
static void the_largest_bound_is_found_where_a_clock_is_moved(void **state)
{
	IFP_CLEANUP(bench_free) struct bench b;
	int64_t most_ns, from_ns = S + 600 * MS, to_ns = S + 900 * MS;

	(void)state;
	bench_make(&b, MS);
	bench_add(&b, 1, from_ns, from_ns + 90 * US, 2, from_ns + 100 * US, from_ns + 110 * US);
	bench_repair(&b);
	b.tracks[1].moves = b.clocks[1].moves; /* borrowed */
	most_ns = ifp_track_bound_max(&b.tracks[1], from_ns, to_ns);
	assert_in_range(most_ns, MS + 30 * US - BEHIND_NS, MS + 30 * US + 100);
	for (int64_t at_ns = from_ns; at_ns <= to_ns; at_ns += 10 * US)
		assert_true(ifp_track_bound(&b.tracks[1], at_ns) <= most_ns);
}

/* Random lifts: line + move never runs backwards, and the way back is the way there. */
static void times_are_moved_in_their_order(void **state)
{
	struct ifp_lift lifts[] = {{100, 110, 0, 5000}, {2000, 2001, 4055, 4056},
		{3000, 9000, 3557, 9000}, {1000000, 1000010, 0, 20}};
	struct ifp_moves moves = {.lifts = lifts, .count = 4, .decay_ppm = 500000};
	int64_t before_ns = INT64_MIN;

	(void)state;
	for (int64_t at_ns = 0; at_ns < 1100000; at_ns++) {
		int64_t moved_ns = at_ns + ifp_moves_at(&moves, at_ns), back_ns;

		assert_true(moved_ns >= before_ns);
		back_ns = ifp_moves_origin(&moves, moved_ns);
		assert_int_equal(back_ns + ifp_moves_at(&moves, back_ns), moved_ns);
		before_ns = moved_ns;
	}
	assert_int_equal(ifp_moves_origin(&moves, 99), 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_is_moved_behind_the_last_to_come),
		cmocka_unit_test(an_end_that_certainly_was_so_early_stays),
		cmocka_unit_test(the_reference_is_never_moved),
		cmocka_unit_test(a_move_is_followed_by_those_that_waited_for_it),
		cmocka_unit_test(a_send_waits_for_nobody),
		cmocka_unit_test(operations_that_wait_for_each_other_end),
		cmocka_unit_test(a_move_is_gone_where_the_region_has_no_room_for_it),
		cmocka_unit_test(the_largest_bound_is_found_where_a_clock_is_moved),
		cmocka_unit_test(times_are_moved_in_their_order),
		cmocka_unit_test(random_jobs_look_possible_afterwards),
		cmocka_unit_test(ragged_jobs_look_possible_afterwards),
		cmocka_unit_test(jobs_that_look_possible_are_left_alone),
	};

	return RUN_TESTS(tests);
}
