/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of marks: the test is the agent, a forked child the program that marks through mark.h
 * and the real libinfprof.so. The two take turns over a pair of pipes, never by time.
 */
#pragma once

#include "test.h"

#include "agent/capture/marks.h"
#include "infprof/mark.h"

#include <stdbool.h>
#include <sys/types.h>

#define SEEN_MAX 20000

/* A copy of an event that the sink was given. */
struct seen {
	enum ifp_event_kind kind;
	enum ifp_event_source source;
	enum ifp_clock_domain clock;
	int64_t start, dur;
	uint64_t correlation;
	int64_t pid, tid;
	char name[512], category[16], args[64];
};

struct mark_test {
	struct ifp_marks *marks;
	struct ifp_sink sink;
	struct seen *seen;
	size_t count;	     /* of seen, names of threads left out */
	size_t thread_names; /* events that name a thread */
	int to_child, from_child;
	pid_t child;
};

void mark_test_begin(struct mark_test *test);
void mark_test_end(struct mark_test *test);

/* Starts the program in a child: body runs there, then it exits. */
void mark_test_start(struct mark_test *test, void (*body)(void));
/* Starts it and waits until it has ended; gives its wait status. */
int mark_test_run(struct mark_test *test, void (*body)(void));
int mark_test_wait(struct mark_test *test);

/* In the child: lets the agent have its turn, and goes on when it has called mark_test_resume(). */
void program_pause(void);
/* In the test: waits until the child has paused; lets it go on. */
void mark_test_await_pause(struct mark_test *test);
void mark_test_resume(struct mark_test *test);

void mark_test_drain(struct mark_test *test);
void mark_test_finish(struct mark_test *test);

/* The only event with that name; fails when there is none or more than one. */
const struct seen *find_event(const struct mark_test *test, const char *name);
