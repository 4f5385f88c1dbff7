/* SPDX-License-Identifier: Apache-2.0 */
/* Rings: turning over, full, more threads than rings, forks, and deaths of all kinds. */
#include "mark_harness.h"

#include "core/cleanup.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Marks "from" to "to - 1" with names of different length, so that ends of the ring fall anywhere.
 */
static void mark_numbers(int from, int to)
{
	char name[64];

	for (int i = from; i < to; i++) {
		snprintf(name, sizeof(name), "%d%.*s", i, i % 40,
			"-----------------------------------------");
		infprof_instant(name);
	}
}

static void assert_numbers(const struct mark_test *test, int from, int to)
{
	assert_int_equal(test->count, to - from);
	for (int i = from; i < to; i++) {
		assert_int_equal(atoi(test->seen[i - from].name), i);
		assert_int_equal(strspn(test->seen[i - from].name, "0123456789") + (size_t)i % 40,
			strlen(test->seen[i - from].name));
	}
}

#define ROUNDS 10
#define PER_ROUND 1500 /* 72 KB of the ring's 128 */

static void mark_in_rounds(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		mark_numbers(round * PER_ROUND, (round + 1) * PER_ROUND);
		program_pause();
	}
}

static void a_ring_that_is_read_in_time_turns_over_without_loss(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	mark_test_start(&test, mark_in_rounds);
	for (int round = 0; round < ROUNDS; round++) {
		mark_test_await_pause(&test);
		mark_test_drain(&test);
		mark_test_resume(&test);
	}
	assert_int_equal(mark_test_wait(&test), 0);
	mark_test_drain(&test);
	assert_numbers(&test, 0, ROUNDS * PER_ROUND);
	assert_int_equal(ifp_marks_counters(test.marks).dropped_full, 0);
	mark_test_end(&test);
}

#define TOO_MANY 10000

static void mark_too_many(void)
{
	mark_numbers(0, TOO_MANY);
	program_pause();
	infprof_instant("room again");
}

static void a_full_ring_keeps_what_it_has_and_counts_the_rest(void **state)
{
	struct mark_test test;
	size_t kept;

	(void)state;
	mark_test_begin(&test);
	mark_test_start(&test, mark_too_many);
	mark_test_await_pause(&test);
	mark_test_drain(&test);
	kept = test.count;
	assert_true(kept > 2000);
	assert_int_equal(kept + ifp_marks_counters(test.marks).dropped_full, TOO_MANY);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(atoi(test.seen[i].name), i);
	mark_test_resume(&test);
	assert_int_equal(mark_test_wait(&test), 0);
	mark_test_drain(&test);
	find_event(&test, "room again");
	assert_int_equal(kept + ifp_marks_counters(test.marks).dropped_full, TOO_MANY);
	mark_test_end(&test);
}

/* With the smallest marks there are: nothing fits behind them. */
static void fill_up(void)
{
	for (size_t i = 0; i < IFP_RING_BYTES / sizeof(struct ifp_mark_record); i++)
		infprof_instant("");
}

static void push_into_a_full_ring(void)
{
	infprof_range_push("kept");
	fill_up();
	infprof_range_push("lost push");
	program_pause();
	infprof_range_push("inner");
	infprof_range_pop();
	infprof_range_pop(); /* of "lost push" */
	infprof_range_push("lost pop");
	fill_up();
	infprof_range_pop(); /* does not fit */
	program_pause();
	infprof_range_push("second");
	infprof_range_pop();
	infprof_range_pop(); /* of "kept" */
}

static void a_dropped_push_or_pop_does_not_shift_the_others(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	mark_test_start(&test, push_into_a_full_ring);
	for (int i = 0; i < 2; i++) {
		mark_test_await_pause(&test);
		mark_test_drain(&test);
		mark_test_resume(&test);
	}
	assert_int_equal(mark_test_wait(&test), 0);
	mark_test_drain(&test);
	assert_string_equal(find_event(&test, "inner")->args, "");
	assert_string_equal(find_event(&test, "second")->args, "");
	assert_string_equal(find_event(&test, "kept")->args, "");
	assert_true(find_event(&test, "kept")->dur > find_event(&test, "second")->dur);
	assert_string_equal(find_event(&test, "lost pop")->args, "{\"unfinished\":true}");
	assert_int_equal(ifp_marks_counters(test.marks).pops_unmatched, 1);
	assert_int_equal(ifp_marks_counters(test.marks).ranges_open, 1);
	mark_test_end(&test);
}

static void *mark_once(void *name)
{
	infprof_instant(name);
	return NULL;
}

static void churn_threads(void)
{
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < IFP_SEGMENT_RINGS; i++) {
			pthread_t thread;
			char name[16];

			snprintf(name, sizeof(name), "%d", round * IFP_SEGMENT_RINGS + i);
			pthread_create(&thread, NULL, mark_once, name);
			pthread_join(thread, NULL);
		}
		program_pause();
	}
}

static void rings_of_ended_threads_are_used_again(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	mark_test_start(&test, churn_threads);
	for (int round = 0; round < 4; round++) {
		mark_test_await_pause(&test);
		mark_test_drain(&test);
		mark_test_resume(&test);
	}
	assert_int_equal(mark_test_wait(&test), 0);
	assert_int_equal(test.count, 4 * IFP_SEGMENT_RINGS);
	for (size_t i = 0; i < test.count; i++)
		assert_int_equal(atoi(test.seen[i].name), i);
	assert_int_not_equal(test.seen[0].tid, test.seen[1].tid);
	assert_int_equal(ifp_marks_counters(test.marks).dropped_no_ring, 0);
	mark_test_end(&test);
}

#define CROWD 40

static pthread_barrier_t crowd;

static void *mark_in_crowd(void *unused)
{
	(void)unused;
	infprof_instant("here");
	pthread_barrier_wait(&crowd); /* all have marked before the first ring is closed */
	return NULL;
}

static void mark_as_crowd(void)
{
	pthread_t threads[CROWD];

	pthread_barrier_init(&crowd, NULL, CROWD);
	for (int i = 0; i < CROWD; i++)
		pthread_create(&threads[i], NULL, mark_in_crowd, NULL);
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
}

static void threads_that_find_no_ring_are_counted(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, mark_as_crowd), 0);
	mark_test_drain(&test);
	assert_int_equal(test.count, IFP_SEGMENT_RINGS);
	assert_int_equal(ifp_marks_counters(test.marks).dropped_no_ring, CROWD - IFP_SEGMENT_RINGS);
	mark_test_end(&test);
}

static void fork_within_a_range(void)
{
	pid_t child;

	infprof_range_push("parent");
	child = fork();
	if (child == 0) {
		infprof_range_pop(); /* nothing is open in this process */
		infprof_range_push("child");
		infprof_range_pop();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	infprof_range_pop();
}

static void a_forked_child_starts_from_nothing(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, fork_within_a_range), 0);
	mark_test_drain(&test);
	assert_int_equal(test.count, 2);
	assert_int_equal(find_event(&test, "parent")->pid, test.child);
	assert_string_equal(find_event(&test, "parent")->args, "");
	assert_int_not_equal(find_event(&test, "child")->pid, test.child);
	assert_int_not_equal(find_event(&test, "child")->tid, test.child);
	assert_int_equal(ifp_marks_counters(test.marks).pops_unmatched, 1);
	mark_test_end(&test);
}

static void mark_and_die(void)
{
	infprof_range_push("until death");
	mark_numbers(0, 1000);
	kill(getpid(), SIGKILL);
}

static void a_killed_program_loses_nothing_that_it_has_marked(void **state)
{
	const struct seen *open;
	struct mark_test test;
	int status;

	(void)state;
	mark_test_begin(&test);
	status = mark_test_run(&test, mark_and_die);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	mark_test_drain(&test);
	assert_int_equal(test.count, 1001);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(atoi(test.seen[i].name), i);
	open = find_event(&test, "until death");
	assert_string_equal(open->args, "{\"unfinished\":true}");
	assert_int_equal(open->start + open->dur, test.seen[999].start);
	/* Its ring is free for the next. */
	assert_int_equal(ifp_marks_segment(test.marks)->ring[0].state, IFP_RING_FREE);
	mark_test_end(&test);
}

static void exit_at_once(void)
{
}

static void a_ring_whose_claimer_died_on_the_way_is_free_again(void **state)
{
	struct ifp_segment_header *segment;
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, exit_at_once), 0);
	segment = ifp_marks_segment(test.marks);
	segment->ring[0].pid = (uint32_t)test.child;
	segment->ring[1].pid = (uint32_t)getpid();
	segment->ring[0].state = segment->ring[1].state = IFP_RING_CLAIMED;
	mark_test_drain(&test);
	assert_int_equal(segment->ring[0].state, IFP_RING_FREE);
	assert_int_equal(segment->ring[1].state, IFP_RING_CLAIMED);
	mark_test_end(&test);
}

static void what_the_program_scribbles_over_a_ring_is_skipped(void **state)
{
	struct ifp_segment_header *segment;
	struct ifp_mark_record good = {
		.size_bytes = 32, .kind = IFP_MARK_INSTANT, .name_bytes = 4, .stamp = 5};
	struct ifp_mark_record bad[] = {
		{.size_bytes = 0},
		{.size_bytes = 28, .kind = IFP_MARK_INSTANT},
		{.size_bytes = 16, .kind = IFP_MARK_INSTANT},
		{.size_bytes = 32, .kind = IFP_MARK_INSTANT, .name_bytes = 9},
		{.size_bytes = 4096, .kind = IFP_MARK_INSTANT},
		{.size_bytes = 24, .kind = IFP_MARK_KIND_MAX},
	};
	struct mark_test test;
	unsigned char *data;

	(void)state;
	mark_test_begin(&test);
	segment = ifp_marks_segment(test.marks);
	data = ifp_segment_ring_data(segment, 0);
	segment->ring[0].pid = (uint32_t)getpid();
	segment->ring[0].tid = (uint32_t)gettid();
	segment->ring[0].state = IFP_RING_LIVE;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(bad); i++) {
		memcpy(data, &good, sizeof(good));
		memcpy(data + sizeof(good), "good", 4);
		memcpy(data + good.size_bytes, &bad[i], sizeof(bad[i]));
		segment->ring[0].tail_bytes = i * IFP_RING_BYTES;
		segment->ring[0].head_bytes = i * IFP_RING_BYTES + 32 + 24;
		mark_test_drain(&test);
		assert_int_equal(test.count, i + 1);
		assert_string_equal(test.seen[i].name, "good");
		assert_int_equal(ifp_marks_counters(test.marks).damaged, i + 1);
		assert_int_equal(segment->ring[0].tail_bytes, segment->ring[0].head_bytes);
	}
	segment->ring[0].head_bytes += 2 * IFP_RING_BYTES;
	mark_test_drain(&test);
	assert_int_equal(ifp_marks_counters(test.marks).damaged, IFP_ARRAY_SIZE(bad) + 1);
	mark_test_end(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_that_is_read_in_time_turns_over_without_loss),
		cmocka_unit_test(a_full_ring_keeps_what_it_has_and_counts_the_rest),
		cmocka_unit_test(a_dropped_push_or_pop_does_not_shift_the_others),
		cmocka_unit_test(rings_of_ended_threads_are_used_again),
		cmocka_unit_test(threads_that_find_no_ring_are_counted),
		cmocka_unit_test(a_forked_child_starts_from_nothing),
		cmocka_unit_test(a_killed_program_loses_nothing_that_it_has_marked),
		cmocka_unit_test(a_ring_whose_claimer_died_on_the_way_is_free_again),
		cmocka_unit_test(what_the_program_scribbles_over_a_ring_is_skipped),
	};

	return RUN_TESTS(tests);
}
