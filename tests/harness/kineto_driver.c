/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one program with marks and windows as the agent would, without launcher, collector and
 * clocks, and prints what was recorded as one JSON object: for tests of the start-up hook and of
 * the Kineto source.
 *
 *	kineto_driver [--steps COUNT [--ahead N] | --time MS] [--windows N] LIBRARY PYTHON_PATH
 *		-- PROGRAM ARGS...
 *
 * --steps: windows of COUNT steps that begin N (default 40) steps after the counter, once 3 steps
 * have been counted. --time: windows of MS milliseconds, 4 s ahead, once Kineto asks.
 */
#include "agent/capture/kineto.h"
#include "agent/capture/marks.h"
#include "agent/launch/child.h"
#include "core/clock.h"
#include "core/error.h"

#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MARKS 100000
#define MAX_WINDOWS 8
#define POLL_MS 50

struct options {
	struct ifp_window window; /* kind, count, duration */
	uint64_t ahead;
	uint32_t windows;
	char *library, *python_path;
	char **argv;
};

struct step_mark {
	int64_t stamp; /* of the marks' clock */
	uint64_t number;
};

struct driver {
	struct options options;
	struct ifp_marks *marks;
	struct ifp_kineto *kineto;
	struct ifp_child child;
	struct step_mark mark[MAX_MARKS];
	size_t mark_count;
	uint64_t operators;
	bool stamp_is_tsc;
	struct ifp_clock_tuple start;
	bool window_open;
	uint32_t windows_asked;
	/*
	 * Windows are printed at the end: their steps are found by the clocks' course until then.
	 */
	struct ifp_window_result result[MAX_WINDOWS];
	int64_t *step_ends[MAX_WINDOWS];
	uint64_t operators_of[MAX_WINDOWS];
	size_t result_count;
};

static int take(void *context, const struct ifp_event *event)
{
	struct driver *driver = context;

	if (event->source == IFP_SOURCE_STEP && driver->mark_count < MAX_MARKS)
		driver->mark[driver->mark_count++] =
			(struct step_mark){.stamp = event->start, .number = event->correlation};
	if (event->source == IFP_SOURCE_KINETO && ifp_str_is(event->category, "cpu_op"))
		driver->operators++;
	return 0;
}

static uint64_t steps_now(const struct driver *driver)
{
	return atomic_load(&ifp_marks_segment(driver->marks)->step_count);
}

static void ask_for_window(struct driver *driver)
{
	struct ifp_window window = driver->options.window;
	uint64_t steps = steps_now(driver);

	if (driver->window_open || driver->windows_asked == driver->options.windows)
		return;
	if (window.kind == IFP_WINDOW_STEPS && steps < 3)
		return;
	if (window.kind == IFP_WINDOW_TIME && !ifp_kineto_polling(driver->kineto))
		return;
	window.number = driver->windows_asked;
	window.first_step = steps + driver->options.ahead;
	window.start_realtime_ms = ifp_clock_realtime_ns() / IFP_NS_PER_MS + 4000;
	if (ifp_kineto_start(driver->kineto, &window) < 0) {
		char text[512];

		fprintf(stderr, "kineto_driver: %s\n", ifp_error_text(text, sizeof(text)));
		exit(2);
	}
	driver->windows_asked++;
	driver->window_open = true;
}

static void keep_result(struct driver *driver, const struct ifp_window_result *result)
{
	size_t bytes = result->optimizer_steps * sizeof(int64_t);
	int64_t *ends = malloc(bytes + 1);

	if (!ends)
		exit(2);
	if (bytes)
		memcpy(ends, result->step_end_realtime_ns, bytes);
	driver->result[driver->result_count] = *result;
	driver->step_ends[driver->result_count] = ends;
	driver->operators_of[driver->result_count] = driver->operators;
	driver->operators = 0;
	driver->result_count++;
	driver->window_open = false;
}

static void run(struct driver *driver)
{
	const struct ifp_sink sink = {.take = take, .context = driver};
	struct ifp_window_result result;
	int more = 0;
	bool done;

	while (!ifp_child_poll(&driver->child)) {
		struct pollfd wait = {.fd = ifp_kineto_fd(driver->kineto), .events = POLLIN};

		if (poll(&wait, 1, more ? 0 : POLL_MS) > 0)
			ifp_kineto_readable(driver->kineto, steps_now(driver));
		ifp_marks_drain(driver->marks, &sink);
		ask_for_window(driver);
		more = ifp_kineto_work(driver->kineto, &sink, steps_now(driver), &done, &result);
		if (done)
			keep_result(driver, &result);
	}
	ifp_marks_finish(driver->marks, &sink);
	do {
		more = ifp_kineto_finish(driver->kineto, &sink, &done, &result);
		if (done)
			keep_result(driver, &result);
	} while (more > 0);
}

/* ---- what was recorded ---------------------------------------------------------------------- */

/* REALTIME of a mark, by the straight line between the readings at start and end. */
static int64_t realtime_of(
	const struct driver *driver, const struct ifp_clock_tuple *end, int64_t stamp)
{
	const struct ifp_clock_tuple *start = &driver->start;
	double from = driver->stamp_is_tsc ? (double)start->tsc_ticks : (double)start->raw_ns;
	double to = driver->stamp_is_tsc ? (double)end->tsc_ticks : (double)end->raw_ns;
	double passed = ((double)stamp - from) / (to - from);

	return start->realtime_ns +
	       (int64_t)(passed * (double)(end->realtime_ns - start->realtime_ns));
}

static bool find_step(void *context, uint64_t step, int64_t *realtime_ns)
{
	const struct driver *driver = context;
	struct ifp_clock_tuple now = ifp_clock_tuple_read();

	if (!step || step > driver->mark_count || driver->mark[step - 1].number != step)
		return false;
	*realtime_ns = realtime_of(driver, &now, driver->mark[step - 1].stamp);
	return true;
}

/* The hook runs inside the optimizer's range: the last mark before the range's end; 0 = none. */
static uint64_t step_that_ended_at(
	const struct driver *driver, const struct ifp_clock_tuple *end, int64_t range_end_ns)
{
	uint64_t number = 0;

	for (size_t i = 0; i < driver->mark_count; i++) {
		int64_t mark_ns = realtime_of(driver, end, driver->mark[i].stamp);

		if (mark_ns <= range_end_ns && mark_ns > range_end_ns - 100 * IFP_NS_PER_MS)
			number = driver->mark[i].number;
	}
	return number;
}

static void print_window(const struct driver *driver, size_t i, const struct ifp_clock_tuple *end)
{
	static const char *const outcomes[] = {"recorded", "late", "lost", "empty", "ended"};
	const struct ifp_window_result *result = &driver->result[i];

	printf("%s\n  {\"outcome\": \"%s\", \"reason\": \"%s\", \"first_step\": %" PRIu64
	       ", \"count\": %" PRIu64 ", \"events\": %" PRIu64 ", \"left_out\": %" PRIu64
	       ", \"cut\": %s, \"operators\": %" PRIu64 ", \"duration_ns\": %" PRId64 ", \"steps\": [",
		i ? "," : "", outcomes[result->outcome], result->reason, result->window.first_step,
		result->window.count, result->events, result->left_out,
		result->cut ? "true" : "false", driver->operators_of[i],
		result->end_realtime_ns - result->start_realtime_ns);
	for (size_t k = 0; k < result->optimizer_steps; k++)
		printf("%s%" PRIu64, k ? ", " : "",
			step_that_ended_at(driver, end, driver->step_ends[i][k]));
	printf("]}");
}

/* Whether the step marks are 1, 2, 3, ... */
static bool marks_in_order(const struct driver *driver)
{
	for (size_t i = 0; i < driver->mark_count; i++) {
		if (driver->mark[i].number != i + 1)
			return false;
	}
	return true;
}

static void print_all(const struct driver *driver)
{
	struct ifp_clock_tuple end = ifp_clock_tuple_read();
	struct ifp_segment_header *segment = ifp_marks_segment(driver->marks);

	printf("{\"wait_status\": %d, \"hook_bits\": %" PRIu32 ", \"step_count\": %" PRIu64
	       ", \"claim_pid\": %" PRIu32 ", \"program_pid\": %d"
	       ",\n \"marks\": %zu, \"marks_in_order\": %s,\n \"windows\": [",
		driver->child.wait_status, atomic_load(&segment->hook_bits), steps_now(driver),
		atomic_load(&segment->step_claim_pid), (int)driver->child.pid, driver->mark_count,
		marks_in_order(driver) ? "true" : "false");
	for (size_t i = 0; i < driver->result_count; i++)
		print_window(driver, i, &end);
	printf("]}\n");
}

/* ---- start ---------------------------------------------------------------------------------- */

static int parse(int argc, char **argv, struct options *options)
{
	static const struct option names[] = {{"steps", required_argument, NULL, 's'},
		{"ahead", required_argument, NULL, 'a'}, {"time", required_argument, NULL, 't'},
		{"windows", required_argument, NULL, 'w'}, {0}};
	int option;

	*options = (struct options){.ahead = 40};
	while ((option = getopt_long(argc, argv, "+", names, NULL)) != -1) {
		uint64_t value = optarg ? strtoull(optarg, NULL, 10) : 0;

		if (option == 'a')
			options->ahead = value;
		else if (option == 'w')
			options->windows = (uint32_t)value;
		else if (option == 's')
			options->window =
				(struct ifp_window){.kind = IFP_WINDOW_STEPS, .count = value};
		else if (option == 't')
			options->window = (struct ifp_window){
				.kind = IFP_WINDOW_TIME, .duration_ms = (int64_t)value};
		else
			return -1;
		if ((option == 's' || option == 't') && !options->windows)
			options->windows = 1;
	}
	if (argc - optind < 4 || strcmp(argv[optind + 2], "--") || options->windows > MAX_WINDOWS)
		return -1;
	options->library = argv[optind];
	options->python_path = argv[optind + 1];
	options->argv = argv + optind + 3;
	return 0;
}

static int start(struct driver *driver)
{
	struct ifp_environment environment = {0};
	sigset_t mask;
	int err;

	sigemptyset(&mask);
	err = ifp_environment_copy(&environment);
	if (!err)
		err = ifp_marks_new(&driver->marks);
	if (!err)
		err = ifp_kineto_new(&driver->kineto);
	if (!err)
		err = ifp_marks_environment(driver->marks, &environment, driver->options.library);
	if (!err)
		err = ifp_kineto_environment(
			driver->kineto, &environment, driver->options.python_path);
	if (err < 0)
		return err;
	ifp_kineto_set_step_lookup(
		driver->kineto, (struct ifp_step_lookup){.find = find_step, .context = driver});
	ifp_kineto_set_segment(driver->kineto, ifp_marks_segment(driver->marks));
	driver->stamp_is_tsc = ifp_marks_segment(driver->marks)->stamp_is_tsc;
	atomic_store(&ifp_marks_segment(driver->marks)->may_arm, driver->options.windows > 0);
	driver->start = ifp_clock_tuple_read();
	err = ifp_child_start(driver->options.argv, &environment, &mask, &driver->child);
	ifp_environment_free(&environment);
	return err;
}

int main(int argc, char **argv)
{
	static struct driver driver;
	char text[512];

	if (parse(argc, argv, &driver.options) < 0) {
		fprintf(stderr, "kineto_driver: wrong arguments\n");
		return 2;
	}
	if (start(&driver) < 0) {
		fprintf(stderr, "kineto_driver: %s\n", ifp_error_text(text, sizeof(text)));
		return 2;
	}
	run(&driver);
	print_all(&driver);
	for (size_t i = 0; i < driver.result_count; i++)
		free(driver.step_ends[i]);
	ifp_kineto_free(&driver.kineto);
	ifp_marks_free(&driver.marks);
	return 0;
}
