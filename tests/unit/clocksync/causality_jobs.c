/* SPDX-License-Identifier: Apache-2.0 */
#include "causality_jobs.h"

#include "clocksync/estimate/converter.h"
#include "clocksync/sim/sim_collectives.h"
#include "core/cleanup.h"

#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define US IFP_NS_PER_US
#define MS IFP_NS_PER_MS
#define S IFP_NS_PER_S

struct tally {
	uint32_t jobs;
	uint64_t exits, repaired, told_left;  /* as it is told */
	uint64_t early, left, left_with_room; /* as it is */
	uint64_t looks, moved, outside, backwards;
	uint64_t true_looks, beyond_bound, beyond_largest;
	int64_t largest_ns;
};

static uint64_t jobs(void)
{
	const char *asked = getenv("CAUSALITY_JOBS");

	return asked ? strtoull(asked, NULL, 10) : TEST_SANITIZED ? 100 : 1000;
}

struct job {
	struct ifp_sim sim;
	struct ifp_sim_program program;
	struct ifp_clock_solution *solution;
	uint32_t ranks, operations;
	ifp_true_ns *ends;
};

static void job_free(struct job *job)
{
	ifp_clock_solution_free(&job->solution);
	ifp_sim_free(&job->sim);
	free(job->ends);
}

static void random_clocks(struct ifp_sim *sim, int64_t span_ns)
{
	for (uint32_t i = 0; i < sim->node_count; i++) {
		struct ifp_sim_clock *clock = &sim->clocks[i];

		clock->offset_ns = 100000 * S + ifp_sim_random_within(sim, 200 * S);
		clock->drift_ppm = 1000 * ifp_sim_random(sim) - 500;
		clock->wander_ppm = 0.5 * ifp_sim_random(sim);
		clock->wander_period_s = 10 + 300 * ifp_sim_random(sim);
		if (i && ifp_sim_random(sim) < 0.2) {
			clock->step_ns = 50 * MS;
			clock->step_at.ns = S + span_ns / 4 +
					    (int64_t)((double)span_ns / 2 * ifp_sim_random(sim));
		}
	}
}

/* Ends that scatter by as much as the operations take: what is to be repaired. */
static void job_make(struct job *job, uint64_t seed, double noise)
{
	struct ifp_sim *sim = &job->sim;

	*job = (struct job){.ranks = 2 + (uint32_t)(seed * 5 % 7)};
	assert_ok(ifp_sim_new(seed, job->ranks, 1, sim));
	job->program = (struct ifp_sim_program){.steps = 4 + (uint32_t)(12 * ifp_sim_random(sim)),
		.per_step = 5 + (uint32_t)(12 * ifp_sim_random(sim)),
		.step_ns = (int64_t)(100 * MS * pow(10, ifp_sim_random(sim))),
		.arrival_ns = (int64_t)(100 * US * pow(20, ifp_sim_random(sim))),
		.bias_share = fmin(noise, 1) * ifp_sim_random(sim), /* more would end before */
		.noise_share = noise * ifp_sim_random(sim),
		.outlier_share = noise * 0.1 * ifp_sim_random(sim),
		.group_ranks = ifp_sim_random(sim) < 0.3 ? 2 : 0};
	for (uint32_t k = 0; k < IFP_SIM_KINDS; k++)
		job->program.transfer_ns[k] = (int64_t)(10 * US * (1 + 9 * ifp_sim_random(sim)));
	job->operations = job->program.steps * job->program.per_step;
	random_clocks(sim, job->program.steps * job->program.step_ns);
	job->ends = calloc(job->operations, sizeof(*job->ends));
	assert_non_null(job->ends);
	assert_ok(ifp_sim_collectives(sim, &job->program, job->ends));
	assert_ok(ifp_clock_solve(sim->ranks, job->ranks, &job->solution));
}

static const struct ifp_clock_map *aligned_map(const struct job *job, uint32_t rank)
{
	const struct ifp_clock_map *map = ifp_clock_solution_map(job->solution, rank);

	return ifp_clock_map_summary(map).method == IFP_CLOCK_UNALIGNED ? NULL : map;
}

static int64_t place(const struct ifp_clock_map *map, int64_t stamp, bool by_line)
{
	return (by_line ? ifp_clock_map_line : ifp_clock_map_global)(map, IFP_CLOCK_REALTIME, stamp)
		.ns;
}

/* Every rank's k-th collective is the job's k-th, of all ranks or of its group. */
static const struct ifp_clock_collective *part(const struct job *job, uint32_t rank, uint32_t k)
{
	return &job->sim.samples[rank].collectives[k];
}

static int64_t last_to_come(const struct job *job, uint32_t k, uint64_t group, bool by_line)
{
	int64_t last_ns = INT64_MIN;

	for (uint32_t r = 0; r < job->ranks; r++) {
		const struct ifp_clock_map *map = aligned_map(job, r);
		int64_t enter_ns;

		if (!map || part(job, r, k)->group != group)
			continue;
		enter_ns = place(map, part(job, r, k)->enter_ns, by_line);
		last_ns = enter_ns > last_ns ? enter_ns : last_ns;
	}
	return last_ns;
}

/*
 * Whether the end could have been moved by as much as is missing, and a little more, without
 * leaving the region. (Where a clock was set, the region may narrow soon afterwards.)
 */
static bool has_room(const struct ifp_clock_map *map, int64_t exit_ns, int64_t missing_ns)
{
	struct ifp_clock_epoch here = ifp_clock_map_at(map, (ifp_global_ns){exit_ns});
	int64_t room_ns = here.offset_ns - here.low_ns;

	return !ifp_clock_map_summary(map).realtime_steps &&
	       missing_ns < room_ns - room_ns / 500 - 10;
}

static void look_at_operation(const struct job *job, uint32_t k, struct tally *tally)
{
	for (uint32_t r = 0; r < job->ranks; r++) {
		const struct ifp_clock_map *map = aligned_map(job, r);
		const struct ifp_clock_collective *own = part(job, r, k);
		int64_t exit_ns, early_ns;

		if (!map)
			continue;
		exit_ns = place(map, own->exit_ns, true);
		tally->early += exit_ns + IFP_CONVERTER_ROUNDING_NS <
				last_to_come(job, k, own->group, true);
		exit_ns = place(map, own->exit_ns, false);
		early_ns = last_to_come(job, k, own->group, false) - exit_ns;
		if (early_ns <= IFP_CONVERTER_ROUNDING_NS)
			continue;
		tally->left++;
		tally->left_with_room += has_room(map, exit_ns, early_ns);
	}
}

/* What was moved is in its region and in its order; what was not is where the line has it. */
static void look_at_stamp(
	const struct ifp_clock_map *map, int64_t stamp, int64_t before_ns[2], struct tally *tally)
{
	int64_t line_ns = place(map, stamp, true), at_ns = place(map, stamp, false);
	struct ifp_clock_epoch here = ifp_clock_map_at(map, (ifp_global_ns){at_ns});

	tally->looks++;
	if (at_ns != line_ns) {
		if (!ifp_clock_map_summary(map).realtime_steps) {
			assert_in_range(here.offset_ns - (stamp - at_ns) + 2, 0, 4); /* rounded */
			tally->beyond_largest +=
				ifp_clock_map_bound_ns(map, (ifp_global_ns){at_ns}) >
				ifp_clock_map_summary(map).bound_ns + 1; /* rounded */
		}
		tally->moved++;
		tally->outside += here.offset_ns < here.low_ns || here.offset_ns > here.high_ns;
		tally->backwards +=
			(at_ns < before_ns[1] && line_ns >= before_ns[0]) || at_ns < line_ns;
	}
	before_ns[0] = line_ns;
	before_ns[1] = at_ns;
}

/* In whose traces a clock was set its offset at one moment is a matter of test_collectives.c. */
static void look_at_truth(const struct job *job, uint32_t r, struct tally *tally)
{
	const struct ifp_clock_map *map = aligned_map(job, r);
	const struct ifp_sim_clock *clock = &job->sim.clocks[r];

	if (clock->step_ns || ifp_clock_map_summary(map).realtime_steps)
		return;
	for (uint32_t k = 0; k < job->operations; k++) {
		int64_t truth_ns = ifp_sim_trace_stamp(&job->sim.clocks[0], job->ends[k]);
		int64_t stamp = ifp_sim_trace_stamp(clock, job->ends[k]);
		int64_t bound_ns = ifp_clock_map_bound_ns(map, (ifp_global_ns){truth_ns});

		tally->true_looks++;
		tally->beyond_bound += llabs(place(map, stamp, false) - truth_ns) > bound_ns;
	}
}

static void look_at_rank(const struct job *job, uint32_t r, struct tally *tally)
{
	const struct ifp_clock_map *map = aligned_map(job, r);
	struct ifp_clock_converter converter;
	struct ifp_clock_repairs repairs;
	int64_t before_ns[2] = {INT64_MIN, INT64_MIN};

	if (!map)
		return;
	ifp_clock_converter_init(&converter, map);
	repairs = ifp_clock_map_repairs(map);
	tally->exits += repairs.exits;
	tally->repaired += repairs.repaired;
	tally->told_left += repairs.left;
	if (repairs.largest_ns > tally->largest_ns)
		tally->largest_ns = repairs.largest_ns;
	assert_int_equal(repairs.repaired > 0, ifp_clock_map_moves(map) != NULL);
	assert_int_equal(repairs.repaired > 0, repairs.stretch_ns > 0);
	for (uint32_t k = 0; k < job->operations; k++) {
		const struct ifp_clock_collective *own = part(job, r, k);
		int64_t move_ns = place(map, own->exit_ns, false) - place(map, own->exit_ns, true);

		look_at_stamp(map, own->enter_ns, before_ns, tally);
		look_at_stamp(map, own->exit_ns, before_ns, tally);
		/* many stamps at once are moved as well as one */
		assert_in_range(
			ifp_clock_convert(&converter, IFP_CLOCK_REALTIME, own->exit_ns).ns -
				ifp_clock_convert_line(&converter, IFP_CLOCK_REALTIME, own->exit_ns)
					.ns,
			move_ns - (move_ns > 0), move_ns + 1);
	}
	look_at_truth(job, r, tally);
}

static void random_jobs(uint64_t count, double noise, struct tally *tally)
{
	for (uint64_t seed = 1; seed <= count; seed++) {
		IFP_CLEANUP(job_free) struct job job;

		job_make(&job, seed, noise);
		for (uint32_t k = 0; k < job.operations; k++)
			look_at_operation(&job, k, tally);
		for (uint32_t r = 0; r < job.ranks; r++)
			look_at_rank(&job, r, tally);
		tally->jobs++;
	}
	printf("%u jobs, %" PRIu64 " ends, %" PRIu64 " too early by the lines, %" PRIu64
	       " moved, by up to %" PRId64 " ns, %" PRIu64 " left; of %" PRIu64 " stamps %" PRIu64
	       " moved, %" PRIu64 " outside, %" PRIu64 " backwards; %" PRIu64 " of %" PRIu64
	       " true moments beyond the bound\n",
		tally->jobs, tally->exits, tally->early, tally->repaired, tally->largest_ns,
		tally->left, tally->looks, tally->moved, tally->outside, tally->backwards,
		tally->beyond_bound, tally->true_looks);
}

static void check(const struct tally *tally)
{
	assert_int_equal(tally->left_with_room, 0);
	assert_int_equal(tally->left, tally->told_left);
	assert_int_equal(tally->outside, 0);
	assert_int_equal(tally->backwards, 0);
	assert_int_equal(tally->beyond_largest, 0);
	assert_true(tally->repaired > tally->early / 2);
	assert_true(tally->moved > 2 * tally->repaired);
}

void random_jobs_look_possible_afterwards(void **state)
{
	struct tally tally = {0};

	(void)state;
	random_jobs(jobs(), 1, &tally);
	check(&tally);
	assert_int_equal(tally.beyond_bound, 0);
	assert_true(tally.early >= jobs() / 4);
	assert_true(tally.true_looks > 100 * jobs());
}

void ragged_jobs_look_possible_afterwards(void **state)
{
	struct tally tally = {0};

	(void)state;
	random_jobs(jobs() / 4, 3, &tally);
	check(&tally);
	assert_true(tally.early > jobs() / 4);
}

void jobs_that_look_possible_are_left_alone(void **state)
{
	struct tally tally = {0};

	(void)state;
	random_jobs(jobs() / 10, 0, &tally);
	assert_true(tally.exits > 100 * jobs() / 10);
	assert_int_equal(tally.repaired + tally.told_left + tally.moved, 0);
}
