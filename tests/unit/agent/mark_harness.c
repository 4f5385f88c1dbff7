/* SPDX-License-Identifier: Apache-2.0 */
#include "mark_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int child_in = -1, child_out = -1;

static void copy_text(char *out, size_t size_bytes, struct ifp_str text)
{
	snprintf(out, size_bytes, IFP_STR_FORMAT, IFP_STR_ARGS(text));
}

static int take(void *context, const struct ifp_event *event)
{
	struct mark_test *test = context;
	struct seen *seen = &test->seen[test->count];

	if (ifp_str_is(event->name, "thread_name")) {
		test->thread_names++;
		return 0;
	}
	assert_true(test->count < SEEN_MAX);
	*seen = (struct seen){
		.kind = event->kind,
		.source = event->source,
		.clock = event->clock,
		.start = event->start,
		.dur = event->dur,
		.correlation = event->correlation,
		.pid = event->lane.pid,
		.tid = event->lane.tid,
	};
	copy_text(seen->name, sizeof(seen->name), event->name);
	copy_text(seen->category, sizeof(seen->category), event->category);
	copy_text(seen->args, sizeof(seen->args), event->args);
	test->count++;
	return 0;
}

void mark_test_begin(struct mark_test *test)
{
	*test = (struct mark_test){.to_child = -1, .from_child = -1};
	test->sink = (struct ifp_sink){take, test};
	test->seen = calloc(SEEN_MAX, sizeof(*test->seen));
	assert_non_null(test->seen);
	assert_ok(ifp_marks_new(&test->marks));
}

static void close_pipes(struct mark_test *test)
{
	if (test->to_child >= 0)
		close(test->to_child);
	if (test->from_child >= 0)
		close(test->from_child);
	test->to_child = test->from_child = -1;
}

void mark_test_end(struct mark_test *test)
{
	ifp_marks_free(&test->marks);
	free(test->seen);
	close_pipes(test);
}

static void become_program(const struct ifp_environment *environment, void (*body)(void))
{
	setenv("INFPROF_SEGMENT", ifp_environment_get(environment, "INFPROF_SEGMENT"), 1);
	setenv("INFPROF_LIBRARY", ifp_environment_get(environment, "INFPROF_LIBRARY"), 1);
	setenv("NVTX_INJECTION64_PATH", ifp_environment_get(environment, "INFPROF_LIBRARY"), 1);
	body();
	_exit(0);
}

void mark_test_start(struct mark_test *test, void (*body)(void))
{
	struct ifp_environment environment = {0};
	int to_child[2], from_child[2];

	close_pipes(test);
	assert_ok(ifp_marks_environment(test->marks, &environment, INFPROF_LIBRARY_PATH));
	assert_int_equal(pipe(to_child), 0);
	assert_int_equal(pipe(from_child), 0);
	test->child = fork();
	assert_true(test->child >= 0);
	if (test->child == 0) {
		child_in = to_child[0];
		child_out = from_child[1];
		close(to_child[1]);
		close(from_child[0]);
		become_program(&environment, body);
	}
	close(to_child[0]);
	close(from_child[1]);
	test->to_child = to_child[1];
	test->from_child = from_child[0];
	ifp_environment_free(&environment);
}

int mark_test_wait(struct mark_test *test)
{
	int status;

	assert_int_equal(waitpid(test->child, &status, 0), test->child);
	return status;
}

int mark_test_run(struct mark_test *test, void (*body)(void))
{
	mark_test_start(test, body);
	return mark_test_wait(test);
}

static void send_byte(int fd)
{
	char byte = 0;

	if (write(fd, &byte, 1) != 1)
		abort();
}

/* An end of file means that the other side has died: the test fails, and does not hang. */
static void await_byte(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		abort();
}

void program_pause(void)
{
	send_byte(child_out);
	await_byte(child_in);
}

void mark_test_await_pause(struct mark_test *test)
{
	await_byte(test->from_child);
}

void mark_test_resume(struct mark_test *test)
{
	send_byte(test->to_child);
}

void mark_test_drain(struct mark_test *test)
{
	assert_ok(ifp_marks_drain(test->marks, &test->sink));
}

void mark_test_finish(struct mark_test *test)
{
	assert_ok(ifp_marks_finish(test->marks, &test->sink));
}

const struct seen *find_event(const struct mark_test *test, const char *name)
{
	const struct seen *found = NULL;

	for (size_t i = 0; i < test->count; i++) {
		if (strcmp(test->seen[i].name, name) != 0)
			continue;
		if (found)
			fail_msg("more than one event is named \"%s\"", name);
		found = &test->seen[i];
	}
	if (!found)
		fail_msg("no event is named \"%s\"", name);
	return found;
}
