/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The promise of the bound: whatever clocks and network do within the assumptions, the truth lies
 * within it. A million times a rank is looked at in an exchange. Damage of the kinds that a fault
 * in the code would do must break the promise visibly: the test can fail. That faults in the code
 * itself do is shown by tests/integration/test_clock_mutations.py.
 *
 * CERTIFICATE_JOBS changes the number of jobs, and leaves out the damage; so do sanitizers.
 */
#include "clocksync/sim/sim.h"
#include "core/cleanup.h"

#include "random_job.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define US IFP_NS_PER_US
#define S IFP_NS_PER_S

/* 1e6 rank-epochs. */
#define JOBS (TEST_SANITIZED ? 20 : 1000)

#define DAMAGED_JOBS 60

static uint64_t job_count(void)
{
	const char *text = getenv("CERTIFICATE_JOBS");

	return text ? strtoull(text, NULL, 10) : JOBS;
}

static int compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void print_tally(struct tally *tally)
{
	qsort(tally->errors_ns, tally->error_count, sizeof(*tally->errors_ns), compare_int64);
	print_message("%llu rank-epochs, %llu moments between: %llu violations, %llu edges "
		      "rejected\n",
		(unsigned long long)tally->rank_epochs, (unsigned long long)tally->moments,
		(unsigned long long)tally->violations, (unsigned long long)tally->rejected);
	print_message("mean bound %.2f delays, error p50 %lld p99 %lld ns, rms error %.2f sigma\n",
		tally->relative_width_sum / (double)tally->widths,
		(long long)tally->errors_ns[tally->error_count / 2],
		(long long)tally->errors_ns[tally->error_count * 99 / 100],
		sqrt(tally->square_sum / (double)tally->squares));
}

static void truth_is_always_within_the_bound(void **state)
{
	const struct damage none = {.name = "none", .drift_factor = 1};
	IFP_CLEANUP(tally_free) struct tally tally = {0};

	(void)state;
	random_jobs(1, 1 + job_count(), &none, &tally);
	print_tally(&tally);
	assert_int_equal(tally.violations, 0);
	/* the estimate is no part of the promise: now and then it leaves an honest interval */
	assert_true(tally.rejected * 1000 < tally.rank_epochs);
	/* nor is it bought with width: as many delays as there are hops, and what drifts meanwhile
	 */
	assert_true(tally.relative_width_sum / (double)tally.widths < 12);
}

/* Edges that lie are found out by the loops; what is left is as honest as ever. */
static void false_edges_are_rejected(void **state)
{
	const struct damage lies = {.name = "lies", .drift_factor = 1, .false_edges = true};
	IFP_CLEANUP(tally_free) struct tally tally = {0};

	(void)state;
	random_jobs(1, 1 + (job_count() + 9) / 10, &lies, &tally);
	print_tally(&tally);
	print_message("%llu false edges\n", (unsigned long long)tally.false_edges);
	assert_int_equal(tally.violations, 0);
	/* a lie may take an honest edge elsewhere along, now and then */
	assert_in_range(tally.rejected, tally.false_edges, tally.false_edges * 102 / 100);
}

/* 64 machines on a good network, two exchanges: the estimate is far better than its bound. */
static void estimate_is_far_better_than_the_bound(void **state)
{
	IFP_CLEANUP(tally_free) struct tally tally = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim;
		IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
		ifp_true_ns epochs[2] = {{0}, {600 * S}};

		assert_ok(ifp_sim_new(seed, 64, 1, &sim));
		for (uint32_t i = 0; i < 64; i++)
			sim.clocks[i].drift_ppm = 40 * ifp_sim_random(&sim) - 20;
		sim.network = (struct ifp_sim_network){.floor_ns = 1000,
			.jitter_ns = 100,
			.asymmetry_ns = 50,
			.spike_share = 0.003,
			.spike_ns = 50 * US};
		for (uint32_t e = 0; e < 2; e++)
			ifp_sim_epoch(&sim, e, 32, epochs[e], 0);
		assert_ok(ifp_sim_tuples(&sim, epochs[0], epochs[1], 10 * S));
		assert_ok(ifp_clock_solve(sim.ranks, 64, &solution));
		for (uint32_t r = 0; r < 64; r++) {
			int64_t error_ns =
				random_job_look(&sim, solution, r, (ifp_true_ns){0}, &tally);

			assert_in_range(error_ns, 0, 60);
			assert_in_range(
				ifp_clock_map_bound_ns(ifp_clock_solution_map(solution, r),
					(ifp_global_ns){ifp_sim_raw(sim.clocks, (ifp_true_ns){0})}),
				r ? 500 : 0, 20000);
		}
	}
	assert_int_equal(tally.violations, 0);
}

static void inverted(struct ifp_clock_edge *edge)
{
	int64_t low_ns = edge->low_ns;

	edge->low_ns = -edge->high_ns;
	edge->high_ns = -low_ns;
}

/* max(t3 - t4) forgotten: one way only, the offset taken for t2 - t1. */
static void without_low(struct ifp_clock_edge *edge)
{
	edge->low_ns = edge->high_ns;
}

static void without_high(struct ifp_clock_edge *edge)
{
	edge->high_ns = edge->low_ns;
}

/* A twentieth of the width: less than the asymmetry of many paths. */
static void too_narrow(struct ifp_clock_edge *edge)
{
	int64_t cut_ns = (edge->high_ns - edge->low_ns) * 19 / 40;

	edge->low_ns += cut_ns;
	edge->high_ns -= cut_ns;
}

/* What an unfenced stamp does: it is read up to 80 ns before the message has arrived ... */
static void t2_early(struct ifp_round_trip *trip, double random)
{
	trip->t2_ns -= (int64_t)(80 * random);
}

static void t4_early(struct ifp_round_trip *trip, double random)
{
	trip->t4_ns -= (int64_t)(80 * random);
}

/* ... or after it was sent. */
static void t1_late(struct ifp_round_trip *trip, double random)
{
	trip->t1_ns += (int64_t)(80 * random);
}

static void t3_late(struct ifp_round_trip *trip, double random)
{
	trip->t3_ns += (int64_t)(80 * random);
}

/* The other way round a stamp is only a wider one. */
static void all_cautious(struct ifp_round_trip *trip, double random)
{
	trip->t1_ns -= (int64_t)(80 * random);
	trip->t2_ns += (int64_t)(70 * random);
	trip->t3_ns -= (int64_t)(20 * random);
	trip->t4_ns += (int64_t)(80 * random);
}

static void damage_breaks_the_promise(void **state)
{
	const struct damage damages[] = {
		{"inverted interval", NULL, inverted, 1, false},
		{"no lower end", NULL, without_low, 1, false},
		{"no upper end", NULL, without_high, 1, false},
		{"too narrow", NULL, too_narrow, 1, false},
		{"t1 late", t1_late, NULL, 1, false},
		{"t2 early", t2_early, NULL, 1, false},
		{"t3 late", t3_late, NULL, 1, false},
		{"t4 early", t4_early, NULL, 1, false},
		{"drift beyond the assumption", NULL, NULL, 8, false},
	};

	(void)state;
	if (getenv("CERTIFICATE_JOBS") || TEST_SANITIZED)
		skip();
	for (size_t i = 0; i < IFP_ARRAY_SIZE(damages); i++) {
		IFP_CLEANUP(tally_free) struct tally tally = {0};

		random_jobs(1, 1 + DAMAGED_JOBS, damages + i, &tally);
		print_message("%s: %llu violations, %llu edges rejected\n", damages[i].name,
			(unsigned long long)tally.violations, (unsigned long long)tally.rejected);
		assert_true(tally.violations > 5);
	}
}

static void cautious_stamps_keep_it(void **state)
{
	const struct damage cautious = {"cautious", all_cautious, NULL, 1, false};
	IFP_CLEANUP(tally_free) struct tally tally = {0};

	(void)state;
	random_jobs(1, 1 + DAMAGED_JOBS, &cautious, &tally);
	assert_int_equal(tally.violations, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truth_is_always_within_the_bound),
		cmocka_unit_test(false_edges_are_rejected),
		cmocka_unit_test(estimate_is_far_better_than_the_bound),
		cmocka_unit_test(damage_breaks_the_promise),
		cmocka_unit_test(cautious_stamps_keep_it),
	};

	return RUN_TESTS(tests);
}
