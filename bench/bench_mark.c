/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of one mark, in nanoseconds: without an agent, and with one that empties the rings from
 * another thread. Processes with and without are run in turns and the best of their rounds is
 * taken, because other load only ever adds. Usage: bench_mark [LIBRARY]
 */
#include "agent/capture/marks.h"
#include "core/clock.h"
#include "core/error.h"
#include "infprof/mark.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 60
#define MARKS 2000 /* a round: less than a ring holds, so that none is dropped */
#define TURNS 5

enum what { EMPTY_LOOP, PUSH_POP, INSTANT, COUNTER, STAMP, WHAT_MAX };

static const char *const what_names[] = {
	[EMPTY_LOOP] = "empty loop",
	[PUSH_POP] = "range push or pop",
	[INSTANT] = "instant",
	[COUNTER] = "counter",
	[STAMP] = "reading the clock alone",
};

/* One call per mark: the loop's own cost is measured as EMPTY_LOOP. */
static void mark(enum what what, bool tsc)
{
	switch (what) {
	case PUSH_POP:
		for (int i = 0; i < MARKS / 2; i++) {
			infprof_range_push("forward pass");
			infprof_range_pop();
		}
		break;
	case INSTANT:
		for (int i = 0; i < MARKS; i++)
			infprof_instant("forward pass");
		break;
	case COUNTER:
		for (int i = 0; i < MARKS; i++)
			infprof_counter("forward pass", i);
		break;
	case STAMP:
		for (int i = 0; i < MARKS; i++) {
			uint64_t now = tsc ? ifp_clock_tsc() : (uint64_t)ifp_clock_raw_ns();

			__asm__ volatile("" : : "r"(now));
		}
		break;
	default:
		for (int i = 0; i < MARKS; i++)
			__asm__ volatile("" ::: "memory");
		break;
	}
}

/* A pipe of the bench's parent: each round begins when the rings are empty. */
struct turn {
	int to_child, from_child;
};

static void measure(double best_ns[WHAT_MAX], bool tsc, const struct turn *turn)
{
	char byte = 0;

	infprof_instant("opens the segment, claims a ring");
	for (int what = 0; what < WHAT_MAX; what++) {
		best_ns[what] = 1e9;
		for (int round = 0; round < ROUNDS; round++) {
			int64_t start_ns, end_ns;

			if (write(turn->from_child, &byte, 1) != 1 ||
				read(turn->to_child, &byte, 1) != 1)
				_exit(1);
			start_ns = ifp_clock_raw_ns();
			mark((enum what)what, tsc);
			end_ns = ifp_clock_raw_ns();
			if ((double)(end_ns - start_ns) / MARKS < best_ns[what])
				best_ns[what] = (double)(end_ns - start_ns) / MARKS;
		}
	}
}

static int ignore(void *context, const struct ifp_event *event)
{
	(void)event;
	++*(uint64_t *)context;
	return 0;
}
