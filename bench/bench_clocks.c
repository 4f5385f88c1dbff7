/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How exact clocks are aligned, and what that costs: ours and the published methods of others in
 * one simulated job, fed the same stamps (clocksync/sim/contest.h). All times are of the simulated
 * world and do not depend on the machine; "cpu" does.
 *
 *     bench_clocks                all tables of docs/clocksync.md
 *     bench_clocks NODES PERIOD_S WANDER_PPM [tcp]    one of them
 */
#include "clocksync/peers/peers.h"
#include "clocksync/sim/contest.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECONDS 600
#define PROBES 4 /* between two exchanges, evenly, the last one right before the second */

/* The program starts with some exchanges close together, as rates are not known yet. */
static const double warm_up_s[] = {0, 0.25, 1, 2, 4};

#define WARM_UP (uint32_t) IFP_ARRAY_SIZE(warm_up_s)
#define MAX_EPOCHS (WARM_UP + SECONDS + 1)

struct world {
	const char *title;
	uint32_t nodes;
	uint32_t period_s;
	double wander_ppm;
	bool tcp;
};

struct errors {
	int64_t *ns; /* owned */
	size_t count, room;
};

struct outcome {
	double cost_ms, messages; /* of the first exchange; messages a node */
	ifp_true_ns settled;	  /* when the first exchange was over */
	struct errors after;	  /* at that moment, as it is known then or after the run */
	struct errors online;	  /* until the next exchange, or 10 s after the only one */
	struct errors whole;	  /* over the run, when it is over */
	double cpu_s;
	int64_t bound_sum_ns;
	size_t bounds, violations;
};

static void die(const char *what)
{
	fprintf(stderr, "bench_clocks: %s\n", what);
	exit(1);
}

static void note(struct errors *errors, int64_t error_ns)
{
	if (errors->count == errors->room) {
		errors->room = errors->room ? 2 * errors->room : 4096;
		errors->ns = realloc(errors->ns, errors->room * sizeof(*errors->ns));
		if (!errors->ns)
			die("out of memory");
	}
	errors->ns[errors->count++] = llabs(error_ns);
}

static int compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double quantile_us(const struct errors *errors, double q)
{
	size_t i = (size_t)((double)(errors->count - 1) * q);

	return (double)errors->ns[i] / 1000;
}

static double cpu_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void make_world(const struct world *world, struct ifp_sim *sim)
{
	if (ifp_sim_new(world->nodes * 31 + world->period_s, world->nodes, 1, sim))
		die("out of memory");
	for (uint32_t i = 0; i < world->nodes; i++) {
		struct ifp_sim_clock *clock = sim->clocks + i;

		clock->offset_ns =
			5000 * IFP_NS_PER_S + ifp_sim_random_within(sim, 5 * IFP_NS_PER_S);
		clock->drift_ppm = 40 * ifp_sim_random(sim) - 20;
		clock->wander_ppm = world->wander_ppm;
		clock->wander_period_s = 300;
		clock->wander_phase = 6.2831853 * ifp_sim_random(sim);
	}
	if (ifp_sim_walk(sim, 1e-3, SECONDS + 60))
		die("out of memory");
	sim->network = (struct ifp_sim_network){.floor_ns = world->tcp ? 4000 : 1000,
		.jitter_ns = world->tcp ? 400 : 100,
		.asymmetry_ns = world->tcp ? 200 : 50,
		.spike_share = 0.003,
		.spike_ns = 50 * IFP_NS_PER_US};
}

static uint32_t make_schedule(uint32_t period_s, ifp_true_ns *epochs)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < WARM_UP && warm_up_s[i] < period_s; i++)
		epochs[count++].ns = (int64_t)(warm_up_s[i] * (double)IFP_NS_PER_S);
	for (int64_t s = period_s; s <= SECONDS; s += period_s)
		epochs[count++].ns = s * IFP_NS_PER_S;
	return count;
}

static void look(const struct ifp_sim *sim, const struct ifp_contestant *contestant,
	ifp_true_ns moment, struct errors *errors)
{
	for (uint32_t i = 1; i < sim->node_count; i++)
		note(errors, ifp_contest_error_ns(sim, contestant, i, moment));
}

static void look_at_bounds(const struct ifp_sim *sim, const struct ifp_contestant *contestant,
	ifp_true_ns moment, struct outcome *outcome)
{
	for (uint32_t i = 1; contestant->ops->bound_ns && i < sim->node_count; i++) {
		ifp_local_ns local = {ifp_sim_raw(sim->clocks + i, moment)};
		int64_t bound_ns = contestant->ops->bound_ns(contestant->aligner, i, local);

		outcome->violations +=
			llabs(ifp_contest_error_ns(sim, contestant, i, moment)) > bound_ns;
		outcome->bound_sum_ns += bound_ns;
		outcome->bounds++;
	}
}

static ifp_true_ns probe(const ifp_true_ns *epochs, uint32_t e, int k)
{
	return (ifp_true_ns){
		epochs[e].ns + (epochs[e + 1].ns - epochs[e].ns) * k / PROBES - (k == PROBES)};
}

/* While the run is going on. Returns whether the method took part in this exchange. */
static bool step(const struct ifp_sim *sim, struct ifp_contestant *contestant,
	const ifp_true_ns *epochs, uint32_t e, uint32_t count, struct outcome *outcome)
{
	struct ifp_aligner_occasion occasion = {.epoch = e,
		.last = e + 1 == count,
		.since_ns = epochs[e].ns - epochs[0].ns,
		.period_ns = e + 1 < count ? epochs[e + 1].ns - epochs[e].ns : 0};
	uint64_t messages = contestant->messages;
	ifp_true_ns end;

	if (ifp_contest_exchange(sim, contestant, &occasion, epochs[e], &end))
		die("out of memory");
	if (e == 0) {
		outcome->settled = end;
		outcome->cost_ms = (double)(end.ns - epochs[e].ns) / 1e6;
		outcome->messages = (double)contestant->messages / sim->node_count;
		if (contestant->ops->when != IFP_ALIGNED_AFTERWARDS)
			look(sim, contestant, end, &outcome->after);
		end.ns += 10 * IFP_NS_PER_S;
		if (contestant->ops->when == IFP_ALIGNED_ONCE)
			look(sim, contestant, end, &outcome->online);
	}
	return contestant->messages > messages;
}

static void run(const struct ifp_sim *sim, const struct ifp_aligner_ops *ops, uint32_t period_s,
	struct outcome *outcome)
{
	IFP_CLEANUP_FREE ifp_true_ns *epochs = calloc(MAX_EPOCHS, sizeof(*epochs));
	struct ifp_contestant contestant;
	double cpu_s = cpu_now_s();
	uint32_t count, warm;

	if (!epochs || ifp_contestant_new(ops, sim->node_count, &contestant))
		die("out of memory");
	count = make_schedule(period_s, epochs);
	for (warm = 0; epochs[warm].ns < 10 * IFP_NS_PER_S; warm++)
		;
	for (uint32_t e = 0; e < count; e++) {
		bool exchanged = step(sim, &contestant, epochs, e, count, outcome);

		for (int k = 1; k <= PROBES && e + 1 < count; k++) {
			if (ops->when == IFP_ALIGNED_ALWAYS && e >= warm && exchanged)
				look(sim, &contestant, probe(epochs, e, k), &outcome->online);
		}
	}
	outcome->cpu_s = cpu_now_s() - cpu_s;
	if (ops->when == IFP_ALIGNED_AFTERWARDS)
		look(sim, &contestant, outcome->settled, &outcome->after);
	for (uint32_t e = 0; ops->when != IFP_ALIGNED_ALWAYS && e + 1 < count; e++) {
		for (int k = 1; k <= PROBES; k++) {
			look(sim, &contestant, probe(epochs, e, k), &outcome->whole);
			look_at_bounds(sim, &contestant, probe(epochs, e, k), outcome);
		}
	}
	ifp_contestant_free(&contestant);
}

/* What a row of a table says; NAN where a method has nothing to say. */
enum figure {
	COST,
	AFTER_P50,
	AFTER_P99,
	ONLINE_P50,
	ONLINE_P99,
	ONLINE_MAX,
	WHOLE_P50,
	WHOLE_P99,
	WHOLE_MAX,
	FIGURES,
};

static const char *const goals[FIGURES] = {
	[COST] = "exchange",
	[AFTER_P99] = "right after, p99",
	[ONLINE_P99] = "while it runs, p99",
	[WHOLE_P99] = "after the run, p99",
	[WHOLE_MAX] = "after the run, max",
};

static void take_errors(struct errors *errors, double *p50, double *p99, double *max)
{
	*p50 = *p99 = *max = NAN;
	if (errors->count) {
		qsort(errors->ns, errors->count, sizeof(*errors->ns), compare_int64);
		*p50 = quantile_us(errors, 0.5);
		*p99 = quantile_us(errors, 0.99);
		*max = quantile_us(errors, 1);
	}
	free(errors->ns);
}

static void take_figures(struct outcome *outcome, double figures[FIGURES])
{
	double unused;

	figures[COST] = outcome->cost_ms;
	take_errors(&outcome->after, figures + AFTER_P50, figures + AFTER_P99, &unused);
	take_errors(
		&outcome->online, figures + ONLINE_P50, figures + ONLINE_P99, figures + ONLINE_MAX);
	take_errors(&outcome->whole, figures + WHOLE_P50, figures + WHOLE_P99, figures + WHOLE_MAX);
}

static void print_row(const char *name, const struct outcome *outcome, const double *figures)
{
	printf("%-20s %9.3f %8.0f ", name, figures[COST], outcome->messages);
	for (int f = AFTER_P50; f < FIGURES; f++) {
		const char *gap = f == ONLINE_P50 || f == WHOLE_P50 ? "  " : " ";

		if (isnan(figures[f]))
			printf("%s%9s", gap, "-");
		else
			printf("%s%9.3f", gap, figures[f]);
	}
	printf(" %7.1f\n", outcome->cpu_s);
	if (outcome->bounds)
		printf("%-20s certified: the truth is outside the bound in %zu of %zu looks; mean "
		       "bound %.1f us\n",
			"", outcome->violations, outcome->bounds,
			(double)outcome->bound_sum_ns / (double)outcome->bounds / 1000);
	fflush(stdout);
}

static void print_head(const struct world *world)
{
	printf("\n%s: %u nodes, an exchange every %u s, wander %g ppm%s\n", world->title,
		world->nodes, world->period_s, world->wander_ppm, world->tcp ? ", like TCP" : "");
	printf("%-20s %9s %8s  %19s  %29s  %29s %7s\n", "", "exchange", "messages",
		"error right after", "until the next / 10 s after", "over 600 s, after the run",
		"cpu");
	printf("%-20s %9s %8s  %9s %9s  %9s %9s %9s  %9s %9s %9s %7s\n", "", "ms", "a node",
		"p50 us", "p99 us", "p50 us", "p99 us", "max us", "p50 us", "p99 us", "max us",
		"s");
}

/* Ours is the better of the first two rows; every other method beside it. */
static void print_ratios(double (*rows)[FIGURES], size_t count)
{
	printf("%-20s", "times ours");
	for (size_t i = 2; i < count; i++)
		printf(" %20s", ifp_peers_and_ours[i]->name);
	for (int f = 0; f < FIGURES; f++) {
		double ours = fmin(rows[0][f], rows[1][f]);

		if (!goals[f])
			continue;
		printf("\n%-20s", goals[f]);
		for (size_t i = 2; i < count; i++) {
			if (isnan(rows[i][f]))
				printf(" %20s", "-");
			else
				printf(" %20.1f", rows[i][f] / ours);
		}
	}
	printf("\n");
}

static void print_table(const struct world *world)
{
	IFP_CLEANUP(ifp_sim_free) struct ifp_sim sim;
	double rows[16][FIGURES];
	size_t count = 0;

	make_world(world, &sim);
	print_head(world);
	for (; ifp_peers_and_ours[count] && count < IFP_ARRAY_SIZE(rows); count++) {
		const struct ifp_aligner_ops *ops = ifp_peers_and_ours[count];
		struct outcome outcome = {0};

		run(&sim, ops, world->period_s, &outcome);
		take_figures(&outcome, rows[count]);
		print_row(ops->name, &outcome, rows[count]);
	}
	print_ratios(rows, count);
}

int main(int argc, char **argv)
{
	const struct world worlds[] = {
		{"usual", 1024, 10, 0.1, false},
		{"often", 256, 1, 0.1, false},
		{"seldom", 1024, 30, 0.1, false},
		{"large", 4096, 10, 0.1, false},
		{"warm", 256, 10, 1, false},
		{"TCP", 256, 10, 0.1, true},
	};

	if (argc >= 4) {
		struct world one = {"chosen", (uint32_t)atoi(argv[1]), (uint32_t)atoi(argv[2]),
			atof(argv[3]), argc > 4 && !strcmp(argv[4], "tcp")};

		if (one.nodes < 2 || one.period_s < 1 || one.period_s > SECONDS)
			die("NODES is at least 2, PERIOD_S 1 to 600");
		print_table(&one);
		return 0;
	}
	for (size_t i = 0; i < IFP_ARRAY_SIZE(worlds); i++)
		print_table(worlds + i);
	return 0;
}
