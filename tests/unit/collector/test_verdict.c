/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts on small jobs that are simulated: data-parallel training, in which every rank computes,
 * meets the others at all_reduce, makes its optimizer step and goes on.
 */
#include "collector/analyse/verdict.h"
#include "collector/report/headline.h"

#include "clocksync/sim/sim.h"
#include "core/cleanup.h"
#include "core/time.h"

#include "noise.h"
#include "test.h"

#define MS IFP_NS_PER_MS
#define RANKS 8
#define MAX_STEPS 30

struct job {
	struct ifp_activity activity;
	struct ifp_rank_activity ranks[RANKS];
	struct ifp_collective collectives[RANKS][2 * MAX_STEPS];
	struct ifp_step_mark marks[RANKS][MAX_STEPS];
	struct ifp_verdict verdict;
	char text[512];
};

/* What slows one rank down. */
struct fault {
	uint32_t rank;
	int64_t before_forward_ns;
	int64_t before_optimizer_ns; /* after the last all_reduce */
};

static int64_t compute_ns(struct noise *noise)
{
	return 60 * MS + noise_below(noise, 5000000);
}

/* Two all_reduces a step, 20 ms apart; each ends for all when the last rank has come. */
static void simulate(struct job *job, uint32_t steps, struct fault fault)
{
	struct noise noise = {.state = 42};
	int64_t now_ns[RANKS] = {0};
	uint32_t name;

	memset(job, 0, sizeof(*job));
	assert_ok(ifp_intern(&job->activity.names, ifp_str("all_reduce"), &name));
	job->activity.ranks = job->ranks;
	job->activity.rank_count = RANKS;
	for (uint32_t s = 0; s < steps; s++) {
		for (uint32_t k = 0; k < 2; k++) {
			int64_t last_ns = 0;

			for (uint32_t r = 0; r < RANKS; r++) {
				now_ns[r] += k ? 20 * MS : compute_ns(&noise);
				if (k == 0 && r == fault.rank)
					now_ns[r] += fault.before_forward_ns;
				job->collectives[r][2 * s + k] =
					(struct ifp_collective){.step = s + 1,
						.start_ns = now_ns[r],
						.dur_ns = 1 * MS,
						.name = name};
				last_ns = now_ns[r] > last_ns ? now_ns[r] : last_ns;
			}
			for (uint32_t r = 0; r < RANKS; r++)
				now_ns[r] = last_ns + 1 * MS;
		}
		for (uint32_t r = 0; r < RANKS; r++) {
			now_ns[r] += 5 * MS + noise_below(&noise, 1000000);
			if (r == fault.rank)
				now_ns[r] += fault.before_optimizer_ns;
			job->marks[r][s] = (struct ifp_step_mark){s + 1, now_ns[r]};
		}
	}
	for (uint32_t r = 0; r < RANKS; r++)
		job->ranks[r] = (struct ifp_rank_activity){.rank = r,
			.marks = job->marks[r],
			.mark_count = steps,
			.host = job->collectives[r],
			.host_count = 2 * steps};
}

static void judge(struct job *job)
{
	const struct ifp_job description = {
		.ranks = RANKS, .world = RANKS, .hosts = 1, .one_clock = true};
	IFP_CLEANUP_BUF struct ifp_buf line = {0};

	assert_ok(ifp_verdict_reach(&job->activity, &job->verdict));
	ifp_headline(&description, &job->verdict, &line);
	ifp_buf_append_u8(&line, 0);
	assert_ok(ifp_buf_status(&line));
	assert_true(line.len_bytes <= sizeof(job->text));
	memcpy(job->text, line.data, line.len_bytes);
}

static void release(struct job *job)
{
	job->activity.ranks = NULL;
	ifp_activity_free(&job->activity);
}

static void a_rank_that_sleeps_before_forward_is_late_at_all_reduce(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 5, (struct fault){.rank = 3, .before_forward_ns = 400 * MS});
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_LATE);
	assert_int_equal(job.verdict.rank, 3);
	assert_in_range(job.verdict.late_ns, 395 * MS, 405 * MS);
	assert_int_equal(job.verdict.steps_late, 5);
	assert_int_equal(job.verdict.bound_ns, 2 * IFP_KINETO_BIAS_NS);
	assert_false(job.verdict.late_before_step);
	assert_non_null(
		strstr(job.text, "8 of 8 ranks, 5 steps, one host, one clock; rank 3 is late: "));
	assert_non_null(strstr(job.text, " ms at all_reduce in 5 of 5 steps"));
	release(&job);
}

/*
 * The time is lost behind the last all_reduce of a step, so the rank comes late to the first one
 * of the next step: named all the same, and said to have been late before that step began.
 */
static void a_rank_that_sleeps_before_the_optimizer_is_late_in_the_next_step(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 6, (struct fault){.rank = 3, .before_optimizer_ns = 400 * MS});
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_LATE);
	assert_int_equal(job.verdict.rank, 3);
	assert_false(job.verdict.from_marks);
	assert_true(job.verdict.late_before_step);
	assert_int_equal(job.verdict.steps_late, 5); /* nothing came before the first step */
	assert_int_equal(job.verdict.steps, 6);
	release(&job);
}

static void equal_ranks_name_nobody(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 10, (struct fault){0});
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_NOBODY);
	assert_int_equal(job.verdict.reason, IFP_REASON_NOISE);
	assert_non_null(strstr(job.text, "; no rank is late: spread "));
	release(&job);
}

/*
 * Collectives of 3 steps cannot tell, but 20 marks can: the rank loses time behind the last
 * collective of each step.
 */
static void marks_of_the_whole_run_may_add_a_name(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 20, (struct fault){.rank = 5, .before_optimizer_ns = 100 * MS});
	for (uint32_t r = 0; r < RANKS; r++)
		job.ranks[r].host_count = 2 * 3;
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_LATE);
	assert_true(job.verdict.from_marks);
	assert_int_equal(job.verdict.rank, 5);
	assert_non_null(strstr(job.text, " ms at the end of 20 of 20 steps"));
	release(&job);
}

/* Marks show nothing of a sleep before forward: they must not turn LATE into NOBODY. */
static void marks_never_clear_a_name(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 30, (struct fault){.rank = 1, .before_forward_ns = 400 * MS});
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_LATE);
	assert_int_equal(job.verdict.rank, 1);
	assert_false(job.verdict.from_marks);
	release(&job);
}

static void marks_alone_name_nobody(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 20, (struct fault){.rank = 5, .before_optimizer_ns = 100 * MS});
	for (uint32_t r = 0; r < RANKS; r++)
		job.ranks[r].host_count = 0;
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_UNKNOWN);
	assert_string_equal(job.text, "8 of 8 ranks, no step compared, one host, one clock; cannot "
				      "tell whether a rank is late: "
				      "no collectives of two ranks were recorded");
	release(&job);
}

static void too_few_steps_are_said_to_be_too_few(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 3, (struct fault){.rank = 3, .before_forward_ns = 400 * MS});
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_UNKNOWN);
	assert_string_equal(job.text,
		"8 of 8 ranks, 3 steps, one host, one clock; cannot tell whether a rank is late: "
		"8 ranks need 4 steps for that, 3 were compared");
	release(&job);
}

static void clocks_limit_what_is_said(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 5, (struct fault){.rank = 3, .before_forward_ns = 400 * MS});
	for (uint32_t r = 0; r < RANKS; r++)
		job.ranks[r].bound_ns = r == 3 ? 300 * MS : 150 * MS;
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_UNKNOWN);
	assert_int_equal(job.verdict.reason, IFP_REASON_BOUND);
	assert_int_equal(job.verdict.bound_ns, 450 * MS + 2 * IFP_KINETO_BIAS_NS);

	job.ranks[6].bound_ns = INT64_MAX;
	judge(&job);
	assert_int_equal(job.verdict.reason, IFP_REASON_CLOCKS);
	release(&job);
}

/* Two exchanges of a quiet network, at 0 and at 100 s: known to 1 us there, to 2.5 ms between. */
static struct ifp_clock_solution *measure_clocks(struct ifp_sim *sim)
{
	struct ifp_clock_solution *solution;

	assert_ok(ifp_sim_new(1, RANKS, 1, sim));
	sim->network = (struct ifp_sim_network){.floor_ns = IFP_NS_PER_US, .jitter_ns = 20};
	assert_ok(ifp_sim_tuples(
		sim, (ifp_true_ns){0}, (ifp_true_ns){100 * IFP_NS_PER_S}, IFP_NS_PER_S));
	ifp_sim_epoch(sim, 0, 32, (ifp_true_ns){0}, 0);
	ifp_sim_epoch(sim, 1, 32, (ifp_true_ns){100 * IFP_NS_PER_S}, 0);
	assert_ok(ifp_clock_solve(sim->ranks, RANKS, &solution));
	return solution;
}

static void attach_clocks(
	struct job *job, const struct ifp_clock_solution *solution, int64_t first_ns)
{
	job->activity.base_ns = first_ns;
	for (uint32_t r = 0; r < RANKS; r++) {
		job->ranks[r].map = ifp_clock_solution_map(solution, r);
		job->ranks[r].bound_ns = ifp_clock_map_summary(job->ranks[r].map).bound_ns;
	}
}

/*
 * A rank that is 2 ms late counts as late where the clocks are well known, right behind an
 * exchange, and not in the middle between two: the largest bound of the run is no matter.
 */
static void clocks_count_as_they_are_known_where_ranks_are_compared(void **state)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim = {0};
	IFP_CLEANUP(ifp_clock_solution_free)
	struct ifp_clock_solution *solution = measure_clocks(&sim);
	struct job job;

	(void)state;
	simulate(&job, 30, (struct fault){0});
	for (uint32_t s = 0; s < 60; s++) {
		for (uint32_t r = 0; r < RANKS; r++)
			job.collectives[r][s].start_ns = (int64_t)s * 50 * MS + r * 1000;
		job.collectives[2][s].start_ns += 2 * MS;
	}
	attach_clocks(&job, solution, 0);
	judge(&job);
	assert_true(job.ranks[2].bound_ns > 2 * MS);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_LATE);
	assert_int_equal(job.verdict.rank, 2);
	/* 3 s of drift at 50 ppm, and 1 us, of each of two clocks */
	assert_in_range(job.verdict.aligned_ns, 140000, 160000);
	assert_in_range(job.verdict.bound.clocks_ns, 280000, 320000);
	assert_int_equal(
		job.verdict.bound_ns, job.verdict.bound.clocks_ns + 2 * IFP_KINETO_BIAS_NS);

	attach_clocks(&job, solution, 48 * IFP_NS_PER_S);
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_UNKNOWN);
	assert_int_equal(job.verdict.reason, IFP_REASON_BOUND);
	assert_true(job.verdict.bound_ns > 4 * MS);
	release(&job);
}

/* What is estimated of sources counts as what is certified of clocks does. */
static void gpus_that_are_badly_known_limit_what_is_said(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 5, (struct fault){.rank = 3, .before_forward_ns = 400 * MS});
	for (uint32_t r = 0; r < RANKS; r++) {
		job.ranks[r].bound_ns = 100 * MS;
		job.ranks[r].doubt_ns = r == 3 ? 200 * MS : 50 * MS;
	}
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_UNKNOWN);
	assert_int_equal(job.verdict.reason, IFP_REASON_BOUND);
	assert_int_equal(job.verdict.bound_ns, 450 * MS + 2 * IFP_KINETO_BIAS_NS);
	release(&job);
}

/* Always last, well behind the others, but by less than 1 % of a step. */
static void what_costs_nothing_is_not_late(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 6, (struct fault){0});
	for (uint32_t s = 0; s < 12; s++) {
		for (uint32_t r = 0; r < RANKS; r++)
			job.collectives[r][s].start_ns = s * 50 * MS + r * 1000;
		job.collectives[2][s].start_ns += 200000;
	}
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_NOBODY);
	assert_int_equal(job.verdict.reason, IFP_REASON_SMALL);
	assert_non_null(strstr(job.text, "no rank is late: rank 2 is last in 6 of 6 steps, by "));
	release(&job);
}

/* A rank whose window was lost is not compared; the others are. */
static void a_rank_without_collectives_is_left_out(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 6, (struct fault){.rank = 3, .before_forward_ns = 400 * MS});
	job.ranks[0].host_count = 0;
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_LATE);
	assert_int_equal(job.verdict.rank, 3);
	assert_int_equal(job.verdict.ranks, 7);
	assert_int_equal(strncmp(job.text, "8 of 8 ranks, 7 with collectives, 6 steps", 41), 0);
	release(&job);
}

static void kernels_are_used_where_all_ranks_have_them(void **state)
{
	struct job job;

	(void)state;
	simulate(&job, 5, (struct fault){.rank = 3, .before_forward_ns = 400 * MS});
	for (uint32_t r = 0; r < RANKS; r++) {
		job.ranks[r].device = job.ranks[r].host;
		job.ranks[r].device_count = job.ranks[r].host_count;
		job.ranks[r].host = NULL;
		job.ranks[r].host_count = 0;
	}
	judge(&job);
	assert_int_equal(job.verdict.kind, IFP_VERDICT_LATE);
	assert_int_equal(job.verdict.rank, 3);
	release(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rank_that_sleeps_before_forward_is_late_at_all_reduce),
		cmocka_unit_test(a_rank_that_sleeps_before_the_optimizer_is_late_in_the_next_step),
		cmocka_unit_test(equal_ranks_name_nobody),
		cmocka_unit_test(marks_of_the_whole_run_may_add_a_name),
		cmocka_unit_test(marks_never_clear_a_name),
		cmocka_unit_test(marks_alone_name_nobody),
		cmocka_unit_test(too_few_steps_are_said_to_be_too_few),
		cmocka_unit_test(clocks_limit_what_is_said),
		cmocka_unit_test(clocks_count_as_they_are_known_where_ranks_are_compared),
		cmocka_unit_test(gpus_that_are_badly_known_limit_what_is_said),
		cmocka_unit_test(what_costs_nothing_is_not_late),
		cmocka_unit_test(a_rank_without_collectives_is_left_out),
		cmocka_unit_test(kernels_are_used_where_all_ranks_have_them),
	};

	return RUN_TESTS(tests);
}
