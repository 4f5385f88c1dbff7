/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces without infprof, aligned by their collectives: the truth is within the certified bound,
 * whatever clocks and programs do within the assumptions, and where the assumptions are broken, the
 * bound is seen to break.
 */
#include "clocksync/sim/sim_collectives.h"
#include "core/cleanup.h"

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define US IFP_NS_PER_US
#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S

#define JOBS (TEST_SANITIZED ? 100 : 1000)

struct tally {
	uint32_t jobs, ranks, unaligned;
	uint32_t looks, violations;
	uint32_t within_three_sigma;
	uint32_t steps, steps_found;
	double error_over_bound, log_bound, log_error;
};

/* Of each kind few operations, short traces, much noise: little is known of the rates. */
#define FEW_NOISY_JOBS (TEST_SANITIZED ? 40 : 400)

/* What is told of operations that do not wait for all. */
enum telling { WHAT_IS_TRUE, NOTHING, THE_OPPOSITE };

/* Whenever the last rank had come to an operation, by the stamps of one rank's trace. */
static void look_at_rank(const struct ifp_sim *sim, const struct ifp_clock_solution *solution,
	uint32_t rank, const ifp_true_ns *moments, uint32_t count, struct tally *tally)
{
	const struct ifp_clock_map *map = ifp_clock_solution_map(solution, rank);
	const struct ifp_sim_clock *clock = &sim->clocks[rank];

	tally->ranks++;
	if (ifp_clock_map_summary(map).method != IFP_CLOCK_COLLECTIVES) {
		tally->unaligned++;
		return;
	}
	tally->steps += clock->step_ns != 0;
	tally->steps_found += (uint32_t)ifp_clock_map_summary(map).realtime_steps;
	for (uint32_t i = 0; i < count; i++) {
		int64_t truth_ns = ifp_sim_trace_stamp(&sim->clocks[0], moments[i]);
		int64_t stamp = ifp_sim_trace_stamp(clock, moments[i]);
		ifp_global_ns placed = ifp_clock_map_global(map, IFP_CLOCK_REALTIME, stamp);
		int64_t error_ns = llabs(placed.ns - truth_ns);
		struct ifp_clock_epoch at = ifp_clock_map_at(map, (ifp_global_ns){truth_ns});
		int64_t bound_ns = ifp_clock_map_bound_ns(map, placed);

		tally->looks++;
		tally->violations += error_ns > bound_ns;
		tally->within_three_sigma += (double)error_ns <= 3 * at.sigma_ns;
		tally->error_over_bound += (double)error_ns / (double)bound_ns;
		tally->log_bound += log((double)bound_ns);
		tally->log_error += log(fmax((double)error_ns, 1));
	}
}

static void random_clocks(struct ifp_sim *sim, int64_t span_ns, double wander_ppm)
{
	for (uint32_t i = 0; i < sim->node_count; i++) {
		struct ifp_sim_clock *clock = &sim->clocks[i];

		clock->offset_ns = 100000 * S + ifp_sim_random_within(sim, 200 * S);
		clock->drift_ppm = 1000 * ifp_sim_random(sim) - 500;
		clock->wander_ppm = wander_ppm * ifp_sim_random(sim);
		clock->wander_period_s = 10 + 300 * ifp_sim_random(sim);
		clock->wander_phase = 6 * ifp_sim_random(sim);
		if (i && ifp_sim_random(sim) < 0.3) {
			clock->step_ns = ifp_sim_random(sim) < 0.5 ? 50 * MS : 3 * S;
			clock->step_at.ns = S + span_ns / 4 +
					    (int64_t)((double)span_ns / 2 * ifp_sim_random(sim));
		}
	}
}

/* From two GPUs of one host to Gloo between busy hosts. */
static struct ifp_sim_program random_program(struct ifp_sim *sim)
{
	double scale = pow(30, ifp_sim_random(sim));
	struct ifp_sim_program program = {
		.steps = 4 + (uint32_t)(12 * ifp_sim_random(sim)),
		.per_step = 5 + (uint32_t)(12 * ifp_sim_random(sim)),
		.step_ns = (int64_t)(100 * MS * pow(10, ifp_sim_random(sim))),
		.arrival_ns = (int64_t)(100 * US * pow(20, ifp_sim_random(sim))),
		.bias_share = 0.2 * ifp_sim_random(sim),
		.noise_share = 0.3 * ifp_sim_random(sim),
		.outlier_share = 0.03 * ifp_sim_random(sim),
		.group_ranks = ifp_sim_random(sim) < 0.3 ? 2 : 0,
		.ragged = (uint32_t)(8 * ifp_sim_random(sim)),
	};

	for (uint32_t k = 0; k < IFP_SIM_KINDS; k++)
		program.transfer_ns[k] = (int64_t)(10 * US * scale * (1 + 9 * ifp_sim_random(sim)));
	return program;
}

static struct ifp_sim_program few_noisy_operations(struct ifp_sim *sim)
{
	struct ifp_sim_program program = random_program(sim);

	program.steps = 1 + (uint32_t)(5 * ifp_sim_random(sim));
	program.per_step = 4 + (uint32_t)(8 * ifp_sim_random(sim));
	program.step_ns = (int64_t)(5 * MS * pow(40, ifp_sim_random(sim)));
	program.noise_share = ifp_sim_random(sim);
	program.outlier_share = 0.2 * ifp_sim_random(sim);
	program.ragged = (uint32_t)(3 * ifp_sim_random(sim));
	return program;
}

/* A clock that is set while an operation is under way has no offset in it: not looked at. */
static uint32_t choose_moments(const struct ifp_sim *sim, ifp_true_ns *ends, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 1; i + 1 < count; i++) {
		bool quiet = true;

		for (uint32_t n = 0; n < sim->node_count; n++) {
			const struct ifp_sim_clock *clock = &sim->clocks[n];

			quiet = quiet && (!clock->step_ns || clock->step_at.ns < ends[i - 1].ns ||
						 clock->step_at.ns > ends[i + 1].ns);
		}
		if (quiet)
			ends[kept++] = ends[i];
	}
	return kept;
}

/* The roles in a trace, changed. */
static void tell(struct ifp_sim *sim, enum telling telling)
{
	for (uint32_t r = 0; telling != WHAT_IS_TRUE && r < sim->node_count; r++) {
		for (uint32_t i = 0; i < sim->samples[r].collective_count; i++) {
			enum ifp_clock_role *role = &sim->samples[r].collectives[i].role;

			if (*role == IFP_CLOCK_WITH_ALL)
				continue;
			*role = telling == NOTHING	     ? IFP_CLOCK_LOOSE
				: *role == IFP_CLOCK_AWAITED ? IFP_CLOCK_WAITS
							     : IFP_CLOCK_AWAITED;
		}
	}
}

struct job {
	uint64_t seed;
	double wander_ppm;
	bool some_do_not_wait;
	double directed_share;
	enum telling telling;
	bool few_noisy; /* operations; nobody sets a clock: of so few it would not be seen */
};

static void run_job(const struct job *job, struct tally *tally)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim;
	IFP_CLEANUP(ifp_clock_solution_free) struct ifp_clock_solution *solution = NULL;
	uint32_t ranks = 2 + (uint32_t)(job->seed * 5 % 7), count;
	struct ifp_sim_program program;

	assert_int_equal(ifp_sim_new(job->seed, ranks, 1, &sim), 0);
	program = job->few_noisy ? few_noisy_operations(&sim) : random_program(&sim);
	program.some_do_not_wait = job->some_do_not_wait;
	program.directed_share = job->directed_share;
	count = program.steps * program.per_step;
	random_clocks(&sim, program.steps * program.step_ns, job->wander_ppm);
	for (uint32_t r = 0; job->few_noisy && r < ranks; r++)
		sim.clocks[r].step_ns = 0;

	IFP_CLEANUP_FREE ifp_true_ns *ends = calloc(count, sizeof(*ends));

	assert_non_null(ends);
	assert_int_equal(ifp_sim_collectives(&sim, &program, ends), 0);
	tell(&sim, job->telling);
	assert_ok(ifp_clock_solve(sim.ranks, ranks, &solution));
	count = choose_moments(&sim, ends, count);
	for (uint32_t r = 1; r < ranks; r++)
		look_at_rank(&sim, solution, r, ends, count, tally);
	tally->jobs++;
}

/* The geometric means: a few are as large as a clock was set by. */
static double typical_bound_ns(const struct tally *tally)
{
	return exp(tally->log_bound / tally->looks);
}

static double typical_error_ns(const struct tally *tally)
{
	return exp(tally->log_error / tally->looks);
}

static void print_tally(const struct tally *tally)
{
	printf("%u jobs, %u ranks, %u not aligned; %u moments, %u outside the bound, %.2f %% "
	       "within "
	       "three sigma, error / bound %.3f; %u steps, %u found; error %.2f, bound %.1f us\n",
		tally->jobs, tally->ranks, tally->unaligned, tally->looks, tally->violations,
		100.0 * tally->within_three_sigma / tally->looks,
		tally->error_over_bound / tally->looks, tally->steps, tally->steps_found,
		typical_error_ns(tally) / US, typical_bound_ns(tally) / US);
}

static void run_jobs(uint64_t jobs, double wander_ppm, bool some_do_not_wait, struct tally *tally)
{
	for (uint64_t seed = 1; seed <= jobs; seed++)
		run_job(&(struct job){.seed = seed,
				.wander_ppm = wander_ppm,
				.some_do_not_wait = some_do_not_wait},
			tally);
	print_tally(tally);
}

static void the_truth_is_within_the_bound(void **state)
{
	struct tally tally = {0};

	(void)state;
	run_jobs(JOBS, 0.5, false, &tally);
	assert_int_equal(tally.violations, 0);
	assert_true(tally.looks > 100 * JOBS);
	assert_true(tally.unaligned < tally.ranks / 100);
	assert_true(tally.steps_found >= tally.steps);
	assert_true(tally.steps_found < tally.steps + tally.steps / 10);
	assert_true(tally.within_three_sigma > 0.97 * tally.looks);
}

static void clocks_beyond_the_assumed_drift_are_noticed(void **state)
{
	struct tally tally = {0};

	(void)state;
	run_jobs(TEST_SANITIZED ? 20 : 100, 2000, false, &tally);
	assert_true(tally.violations + tally.unaligned > 0);
}

/* A third of the operations are broadcasts and reduces. */
static void run_directed_jobs(enum telling telling, struct tally *tally)
{
	for (uint64_t seed = 1; seed <= (TEST_SANITIZED ? 30 : 300); seed++) {
		struct job job = {
			.seed = seed, .wander_ppm = 0.5, .directed_share = 0.3, .telling = telling};

		run_job(&job, tally);
	}
	print_tally(tally);
}

static void broadcasts_and_reduces_narrow_the_bound_and_keep_it(void **state)
{
	struct tally with = {0}, without = {0};

	(void)state;
	run_directed_jobs(WHAT_IS_TRUE, &with);
	run_directed_jobs(NOTHING, &without);
	assert_int_equal(with.violations, 0);
	assert_int_equal(without.violations, 0);
	assert_int_equal(with.unaligned, without.unaligned);
	assert_true(typical_bound_ns(&with) < 0.97 * typical_bound_ns(&without));
}

static void broadcasts_that_are_taken_for_reduces_break_the_bound(void **state)
{
	struct tally tally = {0};

	(void)state;
	run_directed_jobs(THE_OPPOSITE, &tally);
	assert_true(tally.violations > 0);
}

static void few_noisy_operations_widen_the_bound_and_keep_it(void **state)
{
	static const double shares[] = {0, 0.3, 0.5, 0.7};
	struct tally tally = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= FEW_NOISY_JOBS; seed++) {
		struct job job = {.seed = seed,
			.wander_ppm = 0.5,
			.directed_share = shares[seed % IFP_ARRAY_SIZE(shares)],
			.telling = seed / 4 % 2 ? NOTHING : WHAT_IS_TRUE,
			.few_noisy = true};

		run_job(&job, &tally);
	}
	print_tally(&tally);
	assert_int_equal(tally.violations, 0);
	assert_true(tally.looks > 30 * FEW_NOISY_JOBS);
}

static void operations_that_do_not_wait_break_the_bound(void **state)
{
	struct tally tally = {0};

	(void)state;
	run_jobs(TEST_SANITIZED ? 20 : 100, 0.5, true, &tally);
	assert_true(tally.violations > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_truth_is_within_the_bound),
		cmocka_unit_test(clocks_beyond_the_assumed_drift_are_noticed),
		cmocka_unit_test(broadcasts_and_reduces_narrow_the_bound_and_keep_it),
		cmocka_unit_test(broadcasts_that_are_taken_for_reduces_break_the_bound),
		cmocka_unit_test(few_noisy_operations_widen_the_bound_and_keep_it),
		cmocka_unit_test(operations_that_do_not_wait_break_the_bound),
	};

	return RUN_TESTS(tests);
}
