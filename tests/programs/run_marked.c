/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent that does nothing but marks, for tests of programs that mark:
 *
 *	run_marked EVENTS LIBRARY PROGRAM [ARGS...]
 *
 * runs PROGRAM with LIBRARY as libinfprof.so, writes each event to EVENTS as one JSON object a
 * line, then the counters as the last, and exits with PROGRAM's status (128 + a signal's number).
 */
#include "agent/capture/marks.h"
#include "core/error.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRAIN_INTERVAL_MS 5

static const char *const kind_names[] = {
	[IFP_EVENT_SLICE] = "slice",
	[IFP_EVENT_INSTANT] = "instant",
	[IFP_EVENT_COUNTER] = "counter",
	[IFP_EVENT_META] = "meta",
};

static const char *const source_names[] = {
	[IFP_SOURCE_MARK] = "mark",
	[IFP_SOURCE_NVTX] = "nvtx",
	[IFP_SOURCE_STEP] = "step",
};

static int write_event(void *context, const struct ifp_event *event)
{
	bool has_args = event->args.len_bytes != 0;

	fprintf(context,
		"{\"kind\":\"%s\",\"source\":\"%s\",\"category\":\"" IFP_STR_FORMAT
		"\",\"name\":\"" IFP_STR_FORMAT "\",\"start\":%" PRId64 ",\"dur\":%" PRId64
		",\"correlation\":%" PRIu64 ",\"pid\":%" PRId64 ",\"tid\":%" PRId64
		",\"args\":" IFP_STR_FORMAT "}\n",
		kind_names[event->kind], source_names[event->source], IFP_STR_ARGS(event->category),
		IFP_STR_ARGS(event->name), event->start, event->dur, event->correlation,
		event->lane.pid, event->lane.tid, has_args ? (int)event->args.len_bytes : 2,
		has_args ? event->args.ptr : "{}");
	return 0;
}

static void write_counters(FILE *out, const struct ifp_marks_counters *counters)
{
	fprintf(out,
		"{\"kind\":\"counters\",\"events\":%" PRIu64 ",\"dropped_full\":%" PRIu64
		",\"dropped_no_ring\":%" PRIu64 ",\"ranges_open\":%" PRIu64
		",\"pops_unmatched\":%" PRIu64 ",\"damaged\":%" PRIu64 "}\n",
		counters->events, counters->dropped_full, counters->dropped_no_ring,
		counters->ranges_open, counters->pops_unmatched, counters->damaged);
}

static int start(struct ifp_marks *marks, const char *library, char **argv, pid_t *child)
{
	struct ifp_environment environment = {0};
	int result = ifp_environment_copy(&environment);

	if (result == 0)
		result = ifp_marks_environment(marks, &environment, library);
	if (result != 0)
		return result;
	*child = fork();
	if (*child == 0) {
		execvpe(argv[0], argv, environment.variables);
		perror(argv[0]);
		_exit(127);
	}
	ifp_environment_free(&environment);
	return *child < 0 ? ifp_fail_errno("fork") : 0;
}

/* Drains until the program has ended; gives its wait status. */
static int watch(struct ifp_marks *marks, const struct ifp_sink *sink, pid_t child, int *status)
{
	struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
	int result = 0;

	if (ended.fd < 0)
		return ifp_fail_errno("watch the program");
	while (result == 0 && poll(&ended, 1, DRAIN_INTERVAL_MS) == 0)
		result = ifp_marks_drain(marks, sink);
	close(ended.fd);
	if (result == 0 && waitpid(child, status, 0) != child)
		result = ifp_fail_errno("wait for the program");
	return result == 0 ? ifp_marks_finish(marks, sink) : result;
}

static int run(FILE *out, const char *library, char **argv, int *status)
{
	struct ifp_sink sink = {write_event, out};
	struct ifp_marks_counters counters;
	struct ifp_marks *marks = NULL;
	pid_t child;
	int result = ifp_marks_new(&marks);

	if (result == 0)
		result = start(marks, library, argv, &child);
	if (result == 0)
		result = watch(marks, &sink, child, status);
	if (result == 0) {
		counters = ifp_marks_counters(marks);
		write_counters(out, &counters);
	}
	ifp_marks_free(&marks);
	return result;
}

int main(int argc, char **argv)
{
	char text[1024];
	int status = 0;
	FILE *out;

	if (argc < 4) {
		fprintf(stderr, "usage: run_marked EVENTS LIBRARY PROGRAM [ARGS...]\n");
		return 2;
	}
	out = fopen(argv[1], "we");
	if (!out) {
		perror(argv[1]);
		return 2;
	}
	if (run(out, argv[2], argv + 3, &status) != 0) {
		fprintf(stderr, "run_marked: %s\n", ifp_error_text(text, sizeof(text)));
		fclose(out);
		return 2;
	}
	fclose(out);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
