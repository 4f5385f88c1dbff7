/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of one mark, in nanoseconds: without an agent, and with one whose rings are emptied by
 * another thread between rounds. Both are measured in processes of their own, in turns, and the
 * best round of all is taken, because what else runs on the machine only ever adds.
 */
#include "agent/capture/marks.h"
#include "core/clock.h"
#include "core/error.h"
#include "infprof/mark.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 5
#define ROUNDS 50
#define MARKS 2000 /* a round: fits into a ring, so none is dropped */

/* The loops that are measured. */

static void empty_loop(void)
{
	for (int i = 0; i < MARKS; i++)
		__asm__ volatile("" ::: "memory");
}

static void read_clock(void)
{
	bool tsc = ifp_clock_tsc_usable();

	for (int i = 0; i < MARKS; i++) {
		uint64_t now = tsc ? ifp_clock_tsc() : (uint64_t)ifp_clock_raw_ns();

		__asm__ volatile("" : : "r"(now));
	}
}

static void push_and_pop(void)
{
	for (int i = 0; i < MARKS / 2; i++) {
		infprof_range_push("forward pass");
		infprof_range_pop();
	}
}

static void instant(void)
{
	for (int i = 0; i < MARKS; i++)
		infprof_instant("forward pass");
}

static void counter(void)
{
	for (int i = 0; i < MARKS; i++)
		infprof_counter("forward pass", i);
}

static const struct {
	const char *name;
	void (*loop)(void);
} cases[] = {
	{"empty loop", empty_loop},
	{"reading the clock", read_clock},
	{"range push or pop", push_and_pop},
	{"instant", instant},
	{"counter", counter},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

/* The agent: a thread that empties the rings when asked. */

struct agent {
	struct ifp_marks *marks;
	uint64_t events;
	sem_t asked, done;
};

static int count_event(void *context, const struct ifp_event *event)
{
	(void)event;
	++*(uint64_t *)context;
	return 0;
}

static void *drain_when_asked(void *context)
{
	struct agent *agent = context;
	struct ifp_sink sink = {count_event, &agent->events};

	for (;;) {
		sem_wait(&agent->asked);
		ifp_marks_drain(agent->marks, &sink);
		sem_post(&agent->done);
	}
	return NULL;
}

static void start_agent(struct agent *agent, const char *library)
{
	struct ifp_environment environment = {0};
	pthread_t thread;
	char text[1024];

	if (ifp_marks_new(&agent->marks) != 0 ||
		ifp_marks_environment(agent->marks, &environment, library) != 0) {
		fprintf(stderr, "bench_mark: %s\n", ifp_error_text(text, sizeof(text)));
		_exit(1);
	}
	setenv("INFPROF_SEGMENT", ifp_environment_get(&environment, "INFPROF_SEGMENT"), 1);
	setenv("INFPROF_LIBRARY", library, 1);
	sem_init(&agent->asked, 0, 0);
	sem_init(&agent->done, 0, 0);
	pthread_create(&thread, NULL, drain_when_asked, agent);
}

static void measure(double ns[CASES], struct agent *agent)
{
	for (size_t i = 0; i < CASES; i++) {
		for (int round = 0; round < ROUNDS; round++) {
			int64_t start_ns, end_ns;
			double mark_ns;

			if (agent) {
				sem_post(&agent->asked);
				sem_wait(&agent->done);
			}
			start_ns = ifp_clock_raw_fenced_ns();
			cases[i].loop();
			end_ns = ifp_clock_raw_fenced_ns();
			mark_ns = (double)(end_ns - start_ns) / MARKS;
			if (!round || mark_ns < ns[i])
				ns[i] = mark_ns;
		}
	}
}

/* Fails when marks were dropped or not recorded: the figures would be of something else. */
static bool is_valid(const struct agent *agent)
{
	struct ifp_marks_counters counters;

	if (!agent)
		return !infprof_active();
	counters = ifp_marks_counters(agent->marks);
	return infprof_active() && !counters.dropped_full && !counters.dropped_no_ring &&
	       agent->events > 0;
}

static int run_child(const char *library, int out)
{
	struct agent agent = {0};
	double ns[CASES];

	unsetenv("INFPROF_LIBRARY");
	if (library)
		start_agent(&agent, library);
	measure(ns, library ? &agent : NULL);
	if (!is_valid(library ? &agent : NULL))
		return 1;
	return write(out, ns, sizeof(ns)) == sizeof(ns) ? 0 : 1;
}

/* Keeps the smaller of best and what a child measures; false when it failed. */
static bool take_turn(const char *library, double best[CASES])
{
	double ns[CASES];
	bool complete;
	int ends[2], status;
	pid_t child;

	if (pipe(ends) != 0)
		return false;
	child = fork();
	if (child == 0)
		_exit(run_child(library, ends[1]));
	close(ends[1]);
	complete = child > 0 && read(ends[0], ns, sizeof(ns)) == sizeof(ns);
	close(ends[0]);
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || !complete)
		return false;
	for (size_t i = 0; i < CASES; i++) {
		if (best[i] <= 0 || ns[i] < best[i])
			best[i] = ns[i];
	}
	return true;
}

int main(int argc, char **argv)
{
	const char *library = argc > 1 ? argv[1] : INFPROF_LIBRARY_PATH;
	double off[CASES] = {0}, on[CASES] = {0};

	for (int turn = 0; turn < TURNS; turn++) {
		if (!take_turn(NULL, off) || !take_turn(library, on)) {
			fprintf(stderr, "bench_mark: marks were lost, or %s does not record\n",
				library);
			return 1;
		}
	}
	printf("%-20s %14s %14s   (stamps: %s)\n", "ns per mark", "without agent", "with agent",
		ifp_clock_tsc_usable() ? "TSC" : "CLOCK_MONOTONIC_RAW");
	for (size_t i = 0; i < CASES; i++)
		printf("%-20s %14.2f %14.2f\n", cases[i].name, off[i], on[i]);
	return 0;
}
