/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "agent/step_log.h"

#include <stdlib.h>

#define MS IFP_NS_PER_MS

static uint64_t passed_on;

static int count_event(void *context, const struct ifp_event *event)
{
	(void)context;
	(void)event;
	passed_on++;
	return 0;
}

static struct ifp_step_log *make_log(void)
{
	struct ifp_step_log *log = calloc(1, sizeof(*log));

	assert_non_null(log);
	log->next = (struct ifp_sink){.take = count_event};
	passed_on = 0;
	return log;
}

/* Marks stamped with REALTIME need no clock readings to be matched. */
static void add(struct ifp_step_log *log, enum ifp_event_source source, uint64_t number, int64_t at)
{
	const struct ifp_sink sink = ifp_step_log_sink(log);
	const struct ifp_event event = {.kind = IFP_EVENT_INSTANT,
		.source = source,
		.clock = IFP_CLOCK_REALTIME,
		.start = at,
		.correlation = number};

	assert_ok(ifp_sink_take(&sink, &event));
}

/* Steps 1 to count, 100 ms apart: the mark of step n is made at n x 100 ms. */
static void add_steps(struct ifp_step_log *log, uint64_t count)
{
	for (uint64_t n = 1; n <= count; n++) {
		add(log, IFP_SOURCE_NVTX, 0, (int64_t)n * 100 * MS - MS);
		add(log, IFP_SOURCE_STEP, n, (int64_t)n * 100 * MS);
	}
}

static void match(const struct ifp_step_log *log, const int64_t *ends, uint64_t count,
	uint64_t first, uint64_t last)
{
	struct ifp_rank_clocks *clocks = NULL;
	const struct ifp_rank_clocks_config config = {.rank = 0};
	uint64_t steps[2];

	assert_ok(ifp_rank_clocks_new(&config, &clocks));
	ifp_step_log_match(log, clocks, ends, count, steps);
	ifp_rank_clocks_free(&clocks);
	assert_int_equal(steps[0], first);
	assert_int_equal(steps[1], last);
}

static void test_every_event_goes_on(void **state)
{
	struct ifp_step_log *log = make_log();

	(void)state;
	add_steps(log, 3);
	assert_int_equal(passed_on, 6);
	assert_int_equal(log->count, 3);
	free(log);
}

static void test_the_mark_before_the_end_of_a_range_names_the_step(void **state)
{
	struct ifp_step_log *log = make_log();
	/*
	 * the ends of steps 4, 5 and 6: shortly after their marks, or long after on a busy machine
	 */
	const int64_t ends[] = {400 * MS + 1000, 500 * MS + 40 * MS, 600 * MS + 1};

	(void)state;
	add_steps(log, 10);
	match(log, ends, 3, 4, 6);
	free(log);
}

static void test_a_range_without_a_mark_of_its_own_is_left_out(void **state)
{
	struct ifp_step_log *log = make_log();
	/* a second optimizer ends its step 20 ms before the first: only that one makes the mark */
	const int64_t ends[] = {380 * MS, 400 * MS + 1000, 480 * MS, 500 * MS + 1000};

	(void)state;
	add_steps(log, 10);
	match(log, ends, 4, 4, 5);
	free(log);
}

static void test_no_step_is_found_where_there_is_none(void **state)
{
	struct ifp_step_log *log = make_log();
	const int64_t before[] = {50 * MS};

	(void)state;
	match(log, before, 1, 0, 0);
	add_steps(log, 3);
	match(log, before, 1, 0, 0);
	match(log, before, 0, 0, 0);
	free(log);
}

static void test_old_steps_are_forgotten(void **state)
{
	struct ifp_step_log *log = make_log();
	const int64_t first[] = {100 * MS}, last[] = {(IFP_STEP_LOG_STEPS + 5) * 100 * MS};

	(void)state;
	add_steps(log, IFP_STEP_LOG_STEPS + 5);
	match(log, first, 1, 0, 0);
	match(log, last, 1, IFP_STEP_LOG_STEPS + 5, IFP_STEP_LOG_STEPS + 5);
	free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_event_goes_on),
		cmocka_unit_test(test_the_mark_before_the_end_of_a_range_names_the_step),
		cmocka_unit_test(test_a_range_without_a_mark_of_its_own_is_left_out),
		cmocka_unit_test(test_no_step_is_found_where_there_is_none),
		cmocka_unit_test(test_old_steps_are_forgotten),
	};

	return RUN_TESTS(tests);
}
