/* SPDX-License-Identifier: Apache-2.0 */
/* The whole Kineto source against a client that speaks Kineto's side of the protocol. */
#include "agent/capture/kineto.h"

#include "core/cleanup.h"
#include "core/clock.h"
#include "core/segment.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct fixture {
	struct ifp_kineto *kineto;
	struct ifp_segment_header segment;
	struct ifp_environment environment;
	const char *directory;
	int client;
	char client_path[108];
	uint64_t taken; /* events */
};

static int take(void *context, const struct ifp_event *event)
{
	struct fixture *fixture = context;

	assert_int_equal(event->source, IFP_SOURCE_KINETO);
	assert_int_equal(event->clock, IFP_CLOCK_REALTIME);
	fixture->taken++;
	return 0;
}

static int set_up(void **state)
{
	/* the rings' headers ask for an alignment of their own */
	struct fixture *fixture = aligned_alloc(_Alignof(struct fixture), sizeof(*fixture));
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	assert_non_null(fixture);
	memset(fixture, 0, sizeof(*fixture));
	setenv("KINETO_CONFIG", "/nonexistent", 1);
	unsetenv("KINETO_LOG_LEVEL");
	setenv("PYTHONPATH", "/users/own", 1);
	assert_ok(ifp_environment_copy(&fixture->environment));
	assert_ok(ifp_kineto_new(&fixture->kineto));
	ifp_kineto_set_segment(fixture->kineto, &fixture->segment);
	assert_ok(
		ifp_kineto_environment(fixture->kineto, &fixture->environment, "/infprof/python"));
	fixture->directory = ifp_environment_get(&fixture->environment, "KINETO_IPC_SOCKET_DIR");

	/* The name is as long as Kineto's own: "dynoconfigclient" and a UUID. */
	snprintf(fixture->client_path, sizeof(fixture->client_path), "%s/dynoconfigclient%s",
		fixture->directory, "01234567-89ab-cdef-0123-456789abcdef");
	strcpy(address.sun_path, fixture->client_path);
	fixture->client = socket(AF_UNIX, SOCK_DGRAM, 0);
	assert_int_equal(bind(fixture->client, (struct sockaddr *)&address, sizeof(address)), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char directory[108];
	struct stat status;

	strcpy(directory, fixture->directory);
	close(fixture->client);
	ifp_kineto_free(&fixture->kineto);
	assert_null(fixture->kineto);
	assert_int_equal(stat(directory, &status), -1);
	ifp_environment_free(&fixture->environment);
	free(fixture);
	return 0;
}

/* Sends a datagram to the agent as it is. */
static void send_raw(struct fixture *fixture, const void *data, size_t bytes)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/dynolog", fixture->directory);
	assert_int_equal(sendto(fixture->client, data, bytes, 0, (struct sockaddr *)&address,
				 sizeof(address)),
		bytes);
}

/* Asks as Kineto of process pid does; gives the text of the one answer. */
static const char *ask(struct fixture *fixture, int32_t pid, int32_t wants, uint64_t steps)
{
	struct {
		uint64_t size;
		char type[32];
		int32_t wants, pid_count;
		int64_t job;
		int32_t pids[2];
	} request = {24, "req", wants, 2, 0, {pid, 1}};
	static char answer[4096];
	ssize_t bytes;

	send_raw(fixture, &request, sizeof(request));
	ifp_kineto_readable(fixture->kineto, steps);
	bytes = recv(fixture->client, answer, sizeof(answer) - 1, MSG_DONTWAIT);
	assert_true(bytes >= 40);
	assert_string_equal(answer + 8, "req");
	answer[bytes] = '\0';
	/* Exactly one answer. */
	assert_int_equal(recv(fixture->client, &(char){0}, 1, MSG_DONTWAIT), -1);
	return answer + 40;
}

static bool work(struct fixture *fixture, uint64_t steps, struct ifp_window_result *result)
{
	const struct ifp_sink sink = {.take = take, .context = fixture};
	bool done = false;

	while (ifp_kineto_work(fixture->kineto, &sink, steps, &done, result) > 0 && !done)
		;
	return done;
}

/* Writes what Kineto would for process pid: under the name with the pid, .tmp while incomplete. */
static void write_file(const char *config, int32_t pid, const char *text, bool complete)
{
	char path[300], final[256];
	IFP_CLEANUP_FILE FILE *file = NULL;

	assert_int_equal(sscanf(config, "ACTIVITIES_LOG_FILE=%200s", path), 1);
	assert_string_equal(path + strlen(path) - 5, ".json");
	snprintf(final, sizeof(final), "%.*s_%d.json", (int)strlen(path) - 5, path, pid);
	snprintf(path, sizeof(path), "%s.tmp", final);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fflush(file);
	if (complete)
		assert_int_equal(rename(path, final), 0);
}

static size_t files_in(const char *directory, const char *part)
{
	IFP_CLEANUP_DIR DIR *entries = opendir(directory);
	const struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(entries)))
		count += strstr(entry->d_name, part) != NULL;
	return count;
}

static const struct ifp_window steps_20_to_21 = {
	.number = 3, .attempt = 1, .kind = IFP_WINDOW_STEPS, .first_step = 20, .count = 2};

static const char two_steps[] =
	"{\"schemaVersion\": 1, \"baseTimeNanoseconds\": 1000000000,\n"
	"\"traceEvents\": [\n"
	"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"Optimizer.step#SGD.step\","
	" \"pid\": 7, \"tid\": 7, \"ts\": 300.000, \"dur\": 50.500},\n"
	"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"Optimizer.step#SGD.step\","
	" \"pid\": 7, \"tid\": 7, \"ts\": 200.000, \"dur\": 10.001},\n"
	"{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"Optimizer.step#SGD.step\","
	" \"pid\": 0, \"tid\": 7, \"ts\": 210.000, \"dur\": 10.000},\n"
	"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 7, \"tid\": 8,"
	" \"ts\": 100.250, \"dur\": 1.000},\n"
	"{\"ph\": \"X\", \"cat\": \"Trace\", \"name\": \"PyTorch Profiler (0)\","
	" \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\", \"ts\": 1.000, \"dur\": 900.000}\n"
	"]}\n";

static void the_program_gets_what_kineto_needs_and_no_more(void **state)
{
	struct fixture *fixture = *state;
	const struct ifp_environment *environment = &fixture->environment;
	const char *config = ifp_environment_get(environment, "KINETO_CONFIG");
	IFP_CLEANUP_FILE FILE *file = fopen(config, "re");
	char line[128];

	assert_string_equal(
		ifp_environment_get(environment, "PYTHONPATH"), "/infprof/python:/users/own");
	assert_string_equal(
		ifp_environment_get(environment, "KINETO_ONDEMAND_TRACE_DIR"), fixture->directory);
	assert_non_null(ifp_environment_get(environment, "KINETO_LOG_LEVEL"));
	/* It would initialise CUDA at "import torch". */
	assert_null(ifp_environment_get(environment, "KINETO_USE_DAEMON"));
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n");
}

static void without_a_window_answers_are_empty(void **state)
{
	struct fixture *fixture = *state;

	assert_false(ifp_kineto_polling(fixture->kineto));
	assert_string_equal(ask(fixture, 7, 3, 5), "");
	assert_string_equal(ask(fixture, 7, 0, 5), "");
	assert_true(ifp_kineto_polling(fixture->kineto));
}

static void what_is_no_request_gets_no_answer(void **state)
{
	struct fixture *fixture = *state;
	char byte;

	send_raw(fixture, "nonsense", 8);
	send_raw(fixture, "", 0);
	ifp_kineto_readable(fixture->kineto, 5);
	assert_int_equal(recv(fixture->client, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_string_equal(ask(fixture, 7, 3, 5), "");
}

static void a_window_is_recorded_and_its_file_removed(void **state)
{
	struct fixture *fixture = *state;
	struct ifp_window_result result;
	const char *config;

	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	assert_int_equal(ifp_kineto_start(fixture->kineto, &steps_20_to_21), -EBUSY);
	ifp_error_clear();
	assert_false(work(fixture, 5, &result));
	/* Busy: not yet. */
	assert_string_equal(ask(fixture, 7, 0, 5), "");
	config = ask(fixture, 7, 3, 6);
	assert_non_null(strstr(config, "PROFILE_START_ITERATION=18\nACTIVITIES_ITERATIONS=2\n"));
	write_file(config, 7, two_steps, false);
	assert_false(work(fixture, 21, &result));
	write_file(config, 7, two_steps, true);
	assert_true(work(fixture, 30, &result));

	assert_int_equal(result.outcome, IFP_WINDOW_RECORDED);
	assert_string_equal(result.reason, "");
	assert_int_equal(result.window.number, 3);
	assert_int_equal(result.window.attempt, 1);
	assert_int_equal(result.events, 5);
	assert_int_equal(fixture->taken, 5);
	/* In order of time, and not the GPU's copies. */
	assert_int_equal(result.optimizer_steps, 2);
	assert_int_equal(result.step_end_realtime_ns[0], 1000210001);
	assert_int_equal(result.step_end_realtime_ns[1], 1000350500);
	/* From the operator to the last step: the slice of the window itself does not count. */
	assert_int_equal(result.start_realtime_ns, 1000100250);
	assert_int_equal(result.end_realtime_ns, 1000350500);
	assert_int_equal(files_in(fixture->directory, "window"), 0);
	/* The next one may come. */
	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
}

/* The first of two steps is all that was asked for; its end is known from its mark. */
static bool find_step(void *context, uint64_t step, int64_t *realtime_ns)
{
	(void)context;
	*realtime_ns = 1000210000;
	return step == 20;
}

static const char steps_on_a_gpu[] =
	"{\"baseTimeNanoseconds\": 1000000000, \"traceEvents\": [\n"
	/* Kernels of both launches run behind the window. */
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"late\", \"pid\": 0, \"tid\": 7,"
	" \"ts\": 500, \"dur\": 5, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": "
	"12}},\n"
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"kept\", \"pid\": 0, \"tid\": 7,"
	" \"ts\": 400, \"dur\": 5, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": "
	"11}},\n"
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 7,"
	" \"tid\": 7, \"ts\": 250, \"dur\": 1, \"args\": {\"correlation\": 12}},\n"
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 7,"
	" \"tid\": 7, \"ts\": 150, \"dur\": 1, \"args\": {\"correlation\": 11}},\n"
	"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"Optimizer.step#SGD.step\","
	" \"pid\": 7, \"tid\": 7, \"ts\": 200, \"dur\": 12},\n"
	"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"Optimizer.step#SGD.step\","
	" \"pid\": 7, \"tid\": 7, \"ts\": 300, \"dur\": 12},\n"
	"{\"ph\": \"f\", \"id\": 11, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\", "
	"\"pid\": 0,"
	" \"tid\": 7, \"ts\": 400},\n"
	"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 7, \"tid\": 7, \"ts\": 300,"
	" \"args\": {\"name\": \"python\"}}\n"
	"]}\n";

static void what_began_behind_the_last_step_is_left_out(void **state)
{
	const struct ifp_window step_20 = {.kind = IFP_WINDOW_STEPS, .first_step = 20, .count = 1};
	struct fixture *fixture = *state;
	struct ifp_window_result result;

	ifp_kineto_set_step_lookup(fixture->kineto, (struct ifp_step_lookup){.find = find_step});
	assert_ok(ifp_kineto_start(fixture->kineto, &step_20));
	write_file(ask(fixture, 7, 3, 6), 7, steps_on_a_gpu, true);
	assert_true(work(fixture, 30, &result));
	assert_int_equal(result.outcome, IFP_WINDOW_RECORDED);
	/* The second step, its launch and the kernel of that launch. */
	assert_int_equal(result.left_out, 3);
	assert_int_equal(result.events, 5);
	assert_int_equal(result.optimizer_steps, 1);
	assert_int_equal(result.step_end_realtime_ns[0], 1000212000);
	assert_int_equal(result.end_realtime_ns, 1000405000);
}

static void only_one_process_gets_the_window(void **state)
{
	struct fixture *fixture = *state;

	assert_string_equal(ask(fixture, 7, 3, 5), "");
	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	assert_string_equal(ask(fixture, 8, 3, 5), "");
	assert_string_not_equal(ask(fixture, 7, 3, 5), "");
}

static void a_window_without_its_steps_is_empty(void **state)
{
	struct fixture *fixture = *state;
	struct ifp_window_result result;

	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	write_file(ask(fixture, 7, 3, 6), 7,
		"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": "
		"\"aten::uniform_\","
		" \"pid\": 7, \"tid\": 7, \"ts\": 1, \"dur\": 1}]}",
		true);
	assert_true(work(fixture, 30, &result));
	assert_int_equal(result.outcome, IFP_WINDOW_EMPTY);
	assert_string_equal(result.reason, "no optimizer step is in what was recorded");
	assert_int_equal(result.events, 1);
}

static void a_damaged_file_loses_the_window_with_its_place(void **state)
{
	struct fixture *fixture = *state;
	struct ifp_window_result result;

	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	write_file(ask(fixture, 7, 3, 6), 7, "{\"traceEvents\": [{\"ph\"", true);
	assert_true(work(fixture, 30, &result));
	assert_int_equal(result.outcome, IFP_WINDOW_LOST);
	assert_string_not_equal(result.reason, "");
	assert_int_equal(ifp_error_depth(), 0);
	assert_int_equal(files_in(fixture->directory, "window"), 0);
}

static void a_late_window_is_reported_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct ifp_window_result result;

	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	assert_string_equal(ask(fixture, 7, 3, 19), "");
	assert_true(work(fixture, 19, &result));
	assert_int_equal(result.outcome, IFP_WINDOW_LATE);
	assert_int_equal(result.events, 0);
}

static bool finish(struct fixture *fixture, struct ifp_window_result *result)
{
	const struct ifp_sink sink = {.take = take, .context = fixture};
	bool done = false;

	while (ifp_kineto_finish(fixture->kineto, &sink, &done, result) > 0 && !done)
		;
	return done;
}

static void the_end_of_the_program_ends_the_window(void **state)
{
	struct fixture *fixture = *state;
	struct ifp_window_result result;
	const char *config;

	assert_false(finish(fixture, &result)); /* none under way */
	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	assert_true(finish(fixture, &result));
	assert_int_equal(result.outcome, IFP_WINDOW_ENDED);
	assert_string_equal(result.reason, "the program ended before the window was over");

	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	config = ask(fixture, 7, 3, 6);
	write_file(config, 7, "{", false);
	assert_false(work(fixture, 21, &result));
	assert_true(finish(fixture, &result));
	assert_int_equal(result.outcome, IFP_WINDOW_ENDED);
	assert_non_null(strstr(result.reason, "the window was written"));
}

static void a_file_that_is_complete_at_the_end_is_read(void **state)
{
	struct fixture *fixture = *state;
	struct ifp_window_result result;

	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	write_file(ask(fixture, 7, 3, 6), 7, two_steps, true);
	assert_true(finish(fixture, &result));
	assert_int_equal(result.outcome, IFP_WINDOW_RECORDED);
	assert_int_equal(result.optimizer_steps, 2);
}

/* Until Kineto is idle again: it frees its memory after the file is complete. */
static void the_process_is_told_of_its_window(void **state)
{
	struct fixture *fixture = *state;
	struct ifp_segment_header *segment = &fixture->segment;
	struct ifp_window_result result;
	const char *config;

	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	assert_string_equal(ask(fixture, 7, 1, 5), "");
	assert_int_equal(segment->window_pid, 0);
	config = ask(fixture, 7, 3, 6);
	assert_int_equal(segment->window_pid, 7);
	assert_int_equal(segment->window_first_step, 20);
	assert_int_equal(segment->window_last_step, 21);
	write_file(config, 7, two_steps, true);
	/* Idle as long as the window is to come, busy in it. */
	ask(fixture, 7, 3, 7);
	ask(fixture, 7, 1, 20);
	assert_true(work(fixture, 30, &result));
	ask(fixture, 7, 1, 30);
	assert_int_equal(segment->window_pid, 7);
	ask(fixture, 7, 3, 31);
	assert_int_equal(segment->window_pid, 0);
}

/* The file of the first step of two: the hook has ended the window. */
static void what_was_recorded_before_the_program_ended_is_kept(void **state)
{
	struct fixture *fixture = *state;
	struct ifp_window_result result;
	const char *config;

	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	config = ask(fixture, 7, 3, 6);
	assert_false(work(fixture, 20, &result));
	fixture->segment.leaving_pid = 7;
	write_file(config, 7,
		"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\":"
		" \"Optimizer.step#SGD.step\", \"pid\": 7, \"tid\": 7, \"ts\": 1, \"dur\": 1}]}",
		true);
	assert_true(work(fixture, 20, &result));
	assert_int_equal(result.outcome, IFP_WINDOW_RECORDED);
	assert_true(result.cut);
	assert_int_equal(result.optimizer_steps, 1);
	assert_string_equal(result.reason, "the program ended inside the window");
}

static void a_program_that_ends_before_the_first_step_is_complete_has_ended(void **state)
{
	struct fixture *fixture = *state;
	struct ifp_window_result result;
	const char *config;

	assert_ok(ifp_kineto_start(fixture->kineto, &steps_20_to_21));
	config = ask(fixture, 7, 3, 6);
	fixture->segment.leaving_pid = 7;
	write_file(config, 7,
		"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\","
		" \"pid\": 7, \"tid\": 7, \"ts\": 1, \"dur\": 1}]}",
		true);
	assert_true(work(fixture, 19, &result));
	assert_int_equal(result.outcome, IFP_WINDOW_ENDED);
	assert_non_null(strstr(result.reason, "before a step of the window was complete"));
	assert_int_equal(result.events, 1);
}

#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(the_program_gets_what_kineto_needs_and_no_more),
		test(without_a_window_answers_are_empty),
		test(what_is_no_request_gets_no_answer),
		test(a_window_is_recorded_and_its_file_removed),
		test(what_began_behind_the_last_step_is_left_out),
		test(only_one_process_gets_the_window),
		test(a_window_without_its_steps_is_empty),
		test(a_damaged_file_loses_the_window_with_its_place),
		test(a_late_window_is_reported_at_once),
		test(the_end_of_the_program_ends_the_window),
		test(a_file_that_is_complete_at_the_end_is_read),
		test(the_process_is_told_of_its_window),
		test(what_was_recorded_before_the_program_ended_is_kept),
		test(a_program_that_ends_before_the_first_step_is_complete_has_ended),
	};

	return RUN_TESTS(tests);
}
