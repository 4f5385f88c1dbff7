/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks whose noise is known: the smoother must find it, and come as close as it says. */
#include "clocksync/estimate/smoother.h"
#include "clocksync/sim/sim.h"
#include "core/cleanup.h"

#include "test.h"

#include <math.h>

#define S IFP_NS_PER_S
#define EPOCHS 60
#define CLOCKS 40

/* Offsets of clocks whose rates walk at random, each observed every 10 s with some noise. */
struct world {
	double noise_ns, walk_ppm; /* ppm a sqrt(s) */
	double told_ns;		   /* sigma that the observations claim */
};

struct clocks {
	struct ifp_sim sim;
	struct ifp_track_point points[CLOCKS][EPOCHS];
	struct ifp_track tracks[CLOCKS];
	const struct ifp_track *list[CLOCKS];
};

static ifp_true_ns at(int64_t ns)
{
	return (ifp_true_ns){ns};
}

static int64_t truth_ns(const struct clocks *clocks, int c, ifp_true_ns moment)
{
	return ifp_sim_raw(clocks->sim.clocks + c, moment) - moment.ns;
}

static double normal(struct ifp_sim *sim)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += ifp_sim_random(sim) - 0.5;
	return sum;
}

static struct clocks *observe(const struct world *world)
{
	struct clocks *clocks = calloc(1, sizeof(*clocks));

	assert_non_null(clocks);
	assert_ok(ifp_sim_new(5, CLOCKS, 1, &clocks->sim));
	assert_ok(ifp_sim_walk(&clocks->sim, world->walk_ppm, EPOCHS * 10));
	for (int c = 0; c < CLOCKS; c++) {
		clocks->sim.clocks[c].offset_ns = 5000 * S + c * S;
		clocks->sim.clocks[c].drift_ppm = c - CLOCKS / 2;
		for (int e = 0; e < EPOCHS; e++)
			clocks->points[c][e] = (struct ifp_track_point){.global_ns = e * 10 * S,
				.offset_ns = truth_ns(clocks, c, at(e * 10 * S)) +
					     llround(world->noise_ns * normal(&clocks->sim)),
				.sigma_ns = world->told_ns};
		clocks->tracks[c] = (struct ifp_track){
			.points = clocks->points[c], .count = EPOCHS, .drift_ppm = 50};
		clocks->list[c] = clocks->tracks + c;
	}
	return clocks;
}

static void clocks_free(struct clocks **clocks)
{
	ifp_sim_free(&(*clocks)->sim);
	free(*clocks);
}

static void noise_is_found(void **state)
{
	const struct world worlds[] = {
		{10, 1e-3, 10}, {10, 1e-3, 40}, {100, 1e-3, 30}, {3, 0.1, 3}, {50, 1e-4, 50}};

	(void)state;
	for (size_t w = 0; w < IFP_ARRAY_SIZE(worlds); w++) {
		IFP_CLEANUP(clocks_free) struct clocks *clocks = observe(worlds + w);
		double scale = worlds[w].noise_ns / worlds[w].told_ns;
		double wander = pow(worlds[w].walk_ppm * 1000, 2);
		struct ifp_noise noise;

		assert_ok(ifp_smoother_fit(clocks->list, CLOCKS, &noise));
		print_message("scale %.3f of %.3f, wander %.3g of %.3g\n", noise.scale, scale,
			noise.wander, wander);
		/* where the walk hides the noise between two observations only the walk shows */
		if (worlds[w].walk_ppm < 0.01)
			assert_true(fabs(log(noise.scale / scale)) < log(1.25));
		assert_true(fabs(log(noise.wander / wander)) < log(3));
	}
}

/* Mean square of (estimate - truth) / sigma: 1 when sigma is what it says. */
static double mean_square(const struct clocks *clocks, int64_t away_ns)
{
	double sum = 0;
	int count = 0;

	for (int c = 0; c < CLOCKS; c++) {
		for (int e = 2; e < EPOCHS - 2; e++) {
			int64_t moment_ns = e * 10 * S + away_ns;
			struct ifp_track_state here = ifp_track_at(clocks->tracks + c, moment_ns);
			double error =
				(double)(here.offset_ns - truth_ns(clocks, c, at(moment_ns)));

			sum += error * error / (here.sigma_ns * here.sigma_ns);
			count++;
		}
	}
	return sum / count;
}

static void smooth(struct clocks *clocks)
{
	struct ifp_noise noise;

	assert_ok(ifp_smoother_fit(clocks->list, CLOCKS, &noise));
	for (int c = 0; c < CLOCKS; c++)
		assert_ok(ifp_smoother_apply(clocks->tracks + c, &noise));
}

static void sigma_is_the_deviation_that_is_seen(void **state)
{
	const struct world worlds[] = {{10, 1e-3, 10}, {100, 1e-3, 100}, {20, 1e-2, 20}};

	(void)state;
	for (size_t w = 0; w < IFP_ARRAY_SIZE(worlds); w++) {
		IFP_CLEANUP(clocks_free) struct clocks *clocks = observe(worlds + w);
		double at_points, between;

		smooth(clocks);
		at_points = mean_square(clocks, 0);
		between = mean_square(clocks, 5 * S);
		print_message("noise %g: mean square %.2f at points, %.2f between\n",
			worlds[w].noise_ns, at_points, between);
		assert_true(at_points > 0.6 && at_points < 1.5);
		assert_true(between > 0.6 && between < 1.5);
	}
}

/* Many observations of a quiet clock: the line is far better than each of them. */
static void noise_averages_out(void **state)
{
	const struct world world = {100, 1e-5, 100};
	IFP_CLEANUP(clocks_free) struct clocks *clocks = observe(&world);

	(void)state;
	smooth(clocks);
	for (int c = 0; c < CLOCKS; c++) {
		for (int e = 10; e < EPOCHS - 10; e++) {
			int64_t off_ns = clocks->points[c][e].offset_ns -
					 truth_ns(clocks, c, at(e * 10 * S));

			assert_true(llabs(off_ns) < 100);
			assert_true(clocks->points[c][e].sigma_ns < 45);
			assert_true(
				fabs(clocks->points[c][e].rate * 1e6 - (c - CLOCKS / 2)) < 0.02);
		}
	}
}

/* What does not scatter may still be wrong together: an asymmetric path stays in sigma. */
static void common_error_stays_in_sigma(void **state)
{
	const struct world world = {1, 1e-3, 50};
	IFP_CLEANUP(clocks_free) struct clocks *clocks = observe(&world);

	(void)state;
	smooth(clocks);
	for (int e = 0; e < EPOCHS; e++)
		assert_true(fabs(clocks->points[7][e].sigma_ns - 50) < 3);
}

/* One exchange went wrong by microseconds: the line does not follow it. */
static void outlier_is_not_followed(void **state)
{
	const struct world world = {10, 1e-3, 10};
	IFP_CLEANUP(clocks_free) struct clocks *clocks = observe(&world);

	(void)state;
	for (int c = 0; c < CLOCKS; c++)
		clocks->points[c][10 + c].offset_ns += c % 2 ? 5000 : -700;
	smooth(clocks);
	for (int c = 0; c < CLOCKS; c++) {
		for (int e = 0; e < EPOCHS; e++) {
			int64_t off_ns = clocks->points[c][e].offset_ns -
					 truth_ns(clocks, c, at(e * 10 * S));

			assert_true(llabs(off_ns) < 60);
		}
	}
}

static void few_observations_are_taken_as_they_are(void **state)
{
	struct ifp_track_point points[] = {{.global_ns = 0, .offset_ns = 7 * S, .sigma_ns = 10},
		{.global_ns = 600 * S, .offset_ns = 7 * S + 6000000, .sigma_ns = 10}};
	struct ifp_track track = {.points = points, .count = 1, .drift_ppm = 50};
	const struct ifp_track *list[] = {&track};
	struct ifp_noise noise;

	(void)state;
	assert_ok(ifp_smoother_fit(NULL, 0, &noise));
	assert_ok(ifp_smoother_fit(list, 1, &noise));
	assert_true(fabs(noise.scale - 1) < 1e-9);
	assert_ok(ifp_smoother_apply(&track, &noise));
	assert_int_equal(points[0].offset_ns, 7 * S);
	assert_true(points[0].rate == 0 && fabs(points[0].rate_sigma - 50000 / sqrt(3)) < 1);
	track.count = 2;
	assert_ok(ifp_smoother_fit(list, 1, &noise));
	assert_ok(ifp_smoother_apply(&track, &noise));
	assert_int_equal(points[0].offset_ns, 7 * S);
	assert_int_equal(points[1].offset_ns, 7 * S + 6000000);
	assert_true(fabs(points[0].rate - 10e-6) < 1e-12 && fabs(points[1].rate - 10e-6) < 1e-12);
	assert_true(fabs(points[0].sigma_ns - 10) < 0.1);
}

/* What a damaged archive may hold: nothing overflows, and what is not absurd is not harmed. */
static void absurd_observations_are_survived(void **state)
{
	const int64_t far_ns = INT64_C(1) << 60;
	struct ifp_track_point points[] = {
		{.global_ns = -far_ns, .offset_ns = far_ns, .sigma_ns = 1e-9},
		{.global_ns = -far_ns + 1, .offset_ns = -far_ns, .sigma_ns = 1e18},
		{.global_ns = 0, .offset_ns = far_ns, .sigma_ns = 0},
		{.global_ns = 1, .offset_ns = -far_ns, .sigma_ns = 1e300},
		{.global_ns = 2, .offset_ns = 7, .sigma_ns = INFINITY},
		{.global_ns = far_ns, .offset_ns = far_ns, .sigma_ns = 1},
	};
	struct ifp_track track = {.points = points, .count = 6, .drift_ppm = 50};
	const struct ifp_track *list[] = {&track};
	struct ifp_noise noise;

	(void)state;
	assert_ok(ifp_smoother_fit(list, 1, &noise));
	assert_true(isfinite(noise.scale) && isfinite(noise.wander));
	assert_ok(ifp_smoother_apply(&track, &noise));
	for (int i = 0; i < 6; i++) {
		points[i].low_ns = -far_ns;
		points[i].high_ns = far_ns;
	}
	ifp_track_confine(&track);
	for (int i = 0; i < 6; i++)
		assert_true(fabs(points[i].rate) <= 50e-6);
	ifp_track_bound_max(&track, -far_ns, far_ns);
}

/* Only the interval of a point is known: its sigma is very large, the others decide. */
static void unknown_offset_changes_nothing(void **state)
{
	struct ifp_track_point points[] = {{.global_ns = 0, .offset_ns = 0, .sigma_ns = 10},
		{.global_ns = 5 * S, .offset_ns = 3 * S, .sigma_ns = 1e12},
		{.global_ns = 10 * S, .offset_ns = 100, .sigma_ns = 10}};
	struct ifp_track track = {.points = points, .count = 3, .drift_ppm = 50};
	const struct ifp_noise noise = {1, 1};

	(void)state;
	assert_ok(ifp_smoother_apply(&track, &noise));
	assert_in_range(points[0].offset_ns + 1, 0, 2);
	assert_in_range(points[1].offset_ns, 49, 51);
	assert_in_range(points[2].offset_ns, 99, 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_is_found),
		cmocka_unit_test(sigma_is_the_deviation_that_is_seen),
		cmocka_unit_test(noise_averages_out),
		cmocka_unit_test(common_error_stays_in_sigma),
		cmocka_unit_test(outlier_is_not_followed),
		cmocka_unit_test(absurd_observations_are_survived),
		cmocka_unit_test(unknown_offset_changes_nothing),
		cmocka_unit_test(few_observations_are_taken_as_they_are),
	};

	return RUN_TESTS(tests);
}
