/* SPDX-License-Identifier: Apache-2.0 */
/* A clock's offset over the run: the line through the points, and the certified region around. */
#include "clocksync/estimate/track.h"
#include "core/cleanup.h"
#include "core/time.h"

#include "test.h"

#include <math.h>

#define S IFP_NS_PER_S

/* As large as offsets of machines are: what is lost to rounding would show. */
#define FAR (INT64_C(90000) * S)

static struct ifp_track_point point(int64_t at_s, int64_t offset_ns, double rate)
{
	return (struct ifp_track_point){.global_ns = 1000 * S + at_s * S,
		.offset_ns = FAR + offset_ns,
		.low_ns = FAR + offset_ns - 1000,
		.high_ns = FAR + offset_ns + 1000,
		.rate = rate,
		.sigma_ns = 3,
		.rate_sigma = 2};
}

static int64_t at(int64_t s)
{
	return 1000 * S + s * S;
}

/* offset(t) = 100 t^2 ns, t in s: the rate is 200 t ns/s. A cubic holds it exactly. */
static void line_bends_with_the_rates(void **state)
{
	struct ifp_track_point points[] = {
		point(0, 0, 0), point(10, 10000, 2000e-9), point(30, 90000, 6000e-9)};
	struct ifp_track track = {.points = points, .count = 3, .drift_ppm = 50};

	(void)state;
	for (int64_t s = 0; s <= 30; s++) {
		struct ifp_track_state here = ifp_track_at(&track, at(s));

		assert_int_equal(here.offset_ns, FAR + 100 * s * s);
		assert_true(fabs(here.rate - 200e-9 * (double)s) < 1e-12);
		assert_in_range(ifp_track_offset(&track, at(s) + here.offset_ns),
			FAR + 100 * s * s - 1, FAR + 100 * s * s + 1);
	}
	/* straight on outside */
	assert_int_equal(ifp_track_at(&track, at(-7)).offset_ns, FAR);
	assert_int_equal(ifp_track_at(&track, at(40)).offset_ns, FAR + 90000 + 60000);
	assert_in_range(
		ifp_track_offset(&track, at(40) + FAR + 150000), FAR + 149999, FAR + 150001);
}

/* Rates that would carry the cubic beyond the assumed drift: straight instead. */
static void line_stays_straight_where_it_would_be_too_steep(void **state)
{
	struct ifp_track_point points[] = {point(0, 0, 50e-6), point(10, -400000, 50e-6)};
	struct ifp_track track = {.points = points, .count = 2, .drift_ppm = 50};

	(void)state;
	assert_int_equal(ifp_track_at(&track, at(5)).offset_ns, FAR - 200000);
	assert_true(fabs(ifp_track_at(&track, at(5)).rate + 40e-6) < 1e-12);
}

static void region_is_cut_from_the_cones_of_both_sides(void **state)
{
	struct ifp_track_point points[] = {point(0, 0, 0), point(10, 0, 0)};
	struct ifp_track track = {.points = points, .count = 2, .drift_ppm = 50};
	struct ifp_track_state here;

	(void)state;
	here = ifp_track_at(&track, at(2));
	assert_int_equal(here.low_ns, FAR - 1000 - 2 * 50000);
	assert_int_equal(here.high_ns, FAR + 1000 + 2 * 50000);
	here = ifp_track_at(&track, at(9));
	assert_int_equal(here.high_ns, FAR + 1000 + 50000);
	/* rounding and the drift of 50 ppm while 251 us pass come on top */
	assert_in_range(ifp_track_bound(&track, at(5)), 251000, 251000 + 14);
	assert_int_equal(
		ifp_track_bound_max(&track, at(0), at(10)), ifp_track_bound(&track, at(5)));
	assert_int_equal(ifp_track_bound_max(&track, at(0), at(3)), ifp_track_bound(&track, at(3)));
}

static void points_tighten_each_other(void **state)
{
	struct ifp_track_point points[] = {point(0, 0, 0), point(1, 0, 0), point(2, 500, 0)};
	struct ifp_track track = {.points = points, .count = 3, .drift_ppm = 50};

	(void)state;
	points[0].low_ns = FAR - 200000;
	points[1].high_ns = FAR + 400000;
	assert_int_equal(ifp_track_tighten(&track), 0);
	assert_int_equal(points[0].low_ns, FAR - 1000 - 50000);
	assert_int_equal(points[1].high_ns, FAR + 1000 + 50000);
	assert_int_equal(points[2].high_ns, FAR + 1500);
}

/* 600 us in one second: faster than 50 ppm. The points stay, the drift is told. */
static void contradiction_is_told(void **state)
{
	struct ifp_track_point points[] = {point(0, 0, 0), point(1, 600000, 0)};
	struct ifp_track track = {.points = points, .count = 2, .drift_ppm = 50};

	(void)state;
	assert_int_equal(ifp_track_tighten(&track), 600);
	/* offsets of one value do not hide that the intervals exclude each other */
	points[0].offset_ns = points[1].offset_ns = FAR;
	assert_int_equal(ifp_track_tighten(&track), 1);
	assert_int_equal(points[0].high_ns, FAR + 1000);
}

/* Whatever the estimates say, the line keeps inside the region at every moment. */
static void confined_line_runs_inside_the_region(void **state)
{
	struct ifp_track_point points[] = {point(0, 0, 1), point(1, 60000, -1), point(2, 0, 70e-6),
		point(12, 510000, -60e-6), point(13, 530000, 0)};
	struct ifp_track track = {.points = points, .count = 5, .drift_ppm = 50};

	(void)state;
	for (int i = 0; i < 5; i++) {
		points[i].low_ns = FAR - 20000 + 40000 * (points[i].global_ns - at(0)) / S;
		points[i].high_ns = points[i].low_ns + 90000;
	}
	assert_int_equal(ifp_track_tighten(&track), 0);
	ifp_track_confine(&track);
	for (int64_t ns = at(-3); ns < at(16); ns += S / 16) {
		struct ifp_track_state here = ifp_track_at(&track, ns);

		assert_true(here.low_ns <= here.offset_ns && here.offset_ns <= here.high_ns);
		assert_true(fabs(here.rate) <= 50.001e-6);
	}
}

/* Between points sigma grows with the cube of the distance to the nearer one, and outside. */
static void sigma_grows_away_from_the_points(void **state)
{
	struct ifp_track_point points[] = {point(0, 0, 0), point(10, 0, 0)};
	struct ifp_track track = {.points = points, .count = 2, .drift_ppm = 50, .wander = 6};

	(void)state;
	assert_true(ifp_track_at(&track, at(0)).sigma_ns == 3);
	assert_true(ifp_track_at(&track, at(10)).sigma_ns == 3);
	/* twice (2 ns/s * 2.5 s / 2)^2, and 6 / 3 * 2.5^3 */
	assert_true(fabs(ifp_track_at(&track, at(5)).sigma_ns - sqrt(9 + 12.5 + 31.25)) < 1e-9);
	/* (2 ns/s * 4 s)^2 + 6 / 3 * 4^3 */
	assert_true(fabs(ifp_track_at(&track, at(14)).sigma_ns - sqrt(9 + 64 + 128)) < 1e-9);
	assert_true(fabs(ifp_track_at(&track, at(-4)).sigma_ns - sqrt(9 + 64 + 128)) < 1e-9);
	assert_true(ifp_track_sigma_max(&track, at(-1), at(10)) ==
		    ifp_track_at(&track, at(5)).sigma_ns);
}

/* What else tells of a clock stands among its exchanges, bounded or not. */
static void more_points_are_merged(void **state)
{
	const struct ifp_track_point more[] = {
		point(5, 70, 0), point(10, 999, 0), point(20, 100, 0)};
	struct ifp_track_point own[] = {point(0, 0, 0), point(10, 0, 0)};
	struct ifp_track track = {.points = own, .count = 2, .drift_ppm = 50};
	IFP_CLEANUP_FREE struct ifp_track_point *points = NULL;

	(void)state;
	track.points[1].low_ns = -IFP_TRACK_UNBOUNDED_NS;
	track.points[1].high_ns = IFP_TRACK_UNBOUNDED_NS;
	assert_ok(ifp_track_merge(&track, more, 3, &track));
	points = track.points;
	assert_int_equal(track.count, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(points[i].global_ns, at(i < 3 ? i * 5 : 20));
	assert_int_equal(points[1].offset_ns, FAR + 70);
	assert_int_equal(points[2].offset_ns, FAR);
	assert_int_equal(ifp_track_tighten(&track), 0);
	assert_int_equal(points[2].high_ns, FAR + 1070 + 250000);
}

static void reference_is_its_own_track(void **state)
{
	struct ifp_track track = {0};

	(void)state;
	assert_int_equal(ifp_track_offset(&track, at(5)), 0);
	assert_int_equal(ifp_track_bound(&track, at(5)), 0);
	assert_true(ifp_track_at(&track, at(5)).sigma_ns == 0);
	assert_int_equal(ifp_track_at(&track, at(5)).high_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_bends_with_the_rates),
		cmocka_unit_test(line_stays_straight_where_it_would_be_too_steep),
		cmocka_unit_test(region_is_cut_from_the_cones_of_both_sides),
		cmocka_unit_test(points_tighten_each_other),
		cmocka_unit_test(contradiction_is_told),
		cmocka_unit_test(confined_line_runs_inside_the_region),
		cmocka_unit_test(sigma_grows_away_from_the_points),
		cmocka_unit_test(more_points_are_merged),
		cmocka_unit_test(reference_is_its_own_track),
	};

	return RUN_TESTS(tests);
}
