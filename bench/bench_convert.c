/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stamp costs, and what it costs to bring one to the job's time: an hour of one rank, with a
 * tuple each second and an exchange every 30 s. In turns; the best round of each, because what else
 * runs on the machine only ever adds.
 */
#include "clocksync/estimate/converter.h"
#include "clocksync/sim/sim.h"
#include "core/cleanup.h"
#include "core/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 200
#define STAMPS 4096
#define SECONDS 3600
#define EVENT_NS 20000 /* between two stamps in order: 50,000 events a second */

struct job {
	struct ifp_sim sim;
	struct ifp_clock_solution *solution;
	const struct ifp_clock_map *map;
	int64_t in_order[STAMPS], at_random[STAMPS]; /* ticks of rank 1 */
};

static void die(const char *what)
{
	fprintf(stderr, "bench_convert: %s\n", what);
	exit(1);
}

static int64_t ticks_at(struct job *job, int64_t ns)
{
	return ifp_sim_tsc(&job->sim.clocks[1], (ifp_true_ns){ns});
}

static void make_job(struct job *job)
{
	struct ifp_sim *sim = &job->sim;

	if (ifp_sim_new(1, 2, 1, sim))
		die("out of memory");
	sim->clocks[1].offset_ns = 137 * IFP_NS_PER_S;
	sim->clocks[1].drift_ppm = 20;
	sim->network = (struct ifp_sim_network){.floor_ns = 10000, .jitter_ns = 1000};
	if (ifp_sim_tuples(
		    sim, (ifp_true_ns){0}, (ifp_true_ns){SECONDS * IFP_NS_PER_S}, IFP_NS_PER_S))
		die("out of memory");
	for (uint32_t i = 0; i * 30 <= SECONDS; i++)
		ifp_sim_epoch(sim, i, 32, (ifp_true_ns){i * 30 * IFP_NS_PER_S}, 0);
	if (ifp_clock_solve(sim->ranks, 2, &job->solution))
		die("out of memory");
	job->map = ifp_clock_solution_map(job->solution, 1);
	for (int i = 0; i < STAMPS; i++) {
		job->in_order[i] =
			ticks_at(job, SECONDS / 2 * IFP_NS_PER_S + (int64_t)i * EVENT_NS);
		job->at_random[i] = ticks_at(
			job, (int64_t)(ifp_sim_random(sim) * SECONDS * (double)IFP_NS_PER_S));
	}
}

static void stamp_tsc(struct job *job)
{
	(void)job;
	for (int i = 0; i < STAMPS; i++) {
		uint64_t now = ifp_clock_tsc();

		__asm__ volatile("" : : "r"(now));
	}
}

static void stamp_raw(struct job *job)
{
	(void)job;
	for (int i = 0; i < STAMPS; i++) {
		int64_t now = ifp_clock_raw_ns();

		__asm__ volatile("" : : "r"(now));
	}
}

static void stamp_fenced(struct job *job)
{
	(void)job;
	for (int i = 0; i < STAMPS; i++) {
		int64_t now = ifp_clock_raw_fenced_ns();

		__asm__ volatile("" : : "r"(now));
	}
}

static void convert(const struct ifp_clock_map *map, const int64_t *stamps)
{
	for (int i = 0; i < STAMPS; i++) {
		int64_t ns = ifp_clock_map_global(map, IFP_CLOCK_TSC, stamps[i]).ns;

		__asm__ volatile("" : : "r"(ns));
	}
}

static void convert_in_order(struct job *job)
{
	convert(job->map, job->in_order);
}

static void convert_at_random(struct job *job)
{
	convert(job->map, job->at_random);
}

static void convert_many(struct job *job)
{
	static struct ifp_clock_converter converter;

	if (!converter.map)
		ifp_clock_converter_init(&converter, job->map);
	for (int i = 0; i < STAMPS; i++) {
		int64_t ns = ifp_clock_convert(&converter, IFP_CLOCK_TSC, job->in_order[i]).ns;

		__asm__ volatile("" : : "r"(ns));
	}
}

static const struct {
	const char *name;
	void (*run)(struct job *job);
} cases[] = {
	{"stamp: TSC", stamp_tsc},
	{"stamp: CLOCK_MONOTONIC_RAW", stamp_raw},
	{"stamp of an exchange, fenced", stamp_fenced},
	{"to job time, many in order", convert_many},
	{"to job time, each for itself", convert_in_order},
	{"... at random", convert_at_random},
};

int main(void)
{
	static struct job job;
	double best[IFP_ARRAY_SIZE(cases)] = {0};

	make_job(&job);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
			int64_t begin_ns = ifp_clock_raw_fenced_ns();
			double ns;

			cases[i].run(&job);
			ns = (double)(ifp_clock_raw_fenced_ns() - begin_ns) / STAMPS;
			if (!round || ns < best[i])
				best[i] = ns;
		}
	}
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++)
		printf("%-32s %6.1f ns\n", cases[i].name, best[i]);
	ifp_clock_solution_free(&job.solution);
	ifp_sim_free(&job.sim);
	return 0;
}
