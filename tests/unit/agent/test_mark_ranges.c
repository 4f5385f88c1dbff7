/* SPDX-License-Identifier: Apache-2.0 */
/* What is marked arrives as the right events: names, nesting, stamps, lanes. */
#include "mark_harness.h"

#include "core/clock.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static void assert_inside(const struct seen *inner, const struct seen *outer)
{
	assert_true(inner->start >= outer->start);
	assert_true(inner->start + inner->dur <= outer->start + outer->dur);
}

static void mark_nested(void)
{
	infprof_range_push("outer");
	infprof_range_push("inner");
	infprof_instant("moment");
	infprof_range_pop();
	infprof_range_pop();
}

static void pushes_and_pops_become_nested_slices(void **state)
{
	const struct seen *outer, *inner, *moment;
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, mark_nested), 0);
	mark_test_drain(&test);
	outer = find_event(&test, "outer");
	inner = find_event(&test, "inner");
	moment = find_event(&test, "moment");
	assert_int_equal(outer->kind, IFP_EVENT_SLICE);
	assert_int_equal(outer->source, IFP_SOURCE_MARK);
	assert_string_equal(outer->category, "mark");
	assert_string_equal(outer->args, "");
	assert_int_equal(outer->pid, test.child);
	assert_int_equal(outer->tid, test.child);
	assert_true(inner->dur > 0);
	assert_inside(inner, outer);
	assert_int_equal(moment->kind, IFP_EVENT_INSTANT);
	assert_inside(moment, inner);
	assert_int_equal(test.thread_names, 1);
	assert_int_equal(ifp_marks_counters(test.marks).events, 4);
	mark_test_end(&test);
}

static void stamps_lie_between_readings_of_the_clock_that_the_segment_says(void **state)
{
	const struct seen *outer;
	struct mark_test test;
	int64_t before, after;
	bool tsc;

	(void)state;
	mark_test_begin(&test);
	tsc = ifp_marks_segment(test.marks)->stamp_is_tsc;
	before = tsc ? (int64_t)ifp_clock_tsc() : ifp_clock_raw_ns();
	assert_int_equal(mark_test_run(&test, mark_nested), 0);
	after = tsc ? (int64_t)ifp_clock_tsc() : ifp_clock_raw_ns();
	mark_test_drain(&test);
	outer = find_event(&test, "outer");
	assert_int_equal(outer->clock, tsc ? IFP_CLOCK_TSC : IFP_CLOCK_RAW);
	assert_true(outer->start > before);
	assert_true(outer->start + outer->dur < after);
	mark_test_end(&test);
}

static void mark_odd_names(void)
{
	char accents[601];

	for (size_t i = 0; i < 600; i += 2)
		memcpy(accents + i, "\xc3\xa9", 2);
	accents[600] = '\0';
	infprof_instant(accents + 1); /* begins within a character */
	infprof_instant(accents);
	infprof_instant("say \"hi\"\n");
	infprof_instant("");
	infprof_instant(NULL);
}

static void names_are_cut_between_characters_and_escaped(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, mark_odd_names), 0);
	mark_test_drain(&test);
	assert_int_equal(test.count, 5);
	/* One stray byte, replaced; then whole characters of two bytes up to 479 bytes. */
	assert_memory_equal(test.seen[0].name, "\xef\xbf\xbd\xc3\xa9", 5);
	assert_int_equal(strlen(test.seen[0].name), 3 + 478);
	assert_int_equal(strlen(test.seen[1].name), 480);
	assert_string_equal(test.seen[2].name, "say \\\"hi\\\"\\n");
	assert_string_equal(test.seen[3].name, "");
	assert_string_equal(test.seen[4].name, "");
	assert_int_equal(ifp_marks_counters(test.marks).names_cut, 2);
	mark_test_end(&test);
}

static void mark_counters(void)
{
	infprof_counter("loss", 0.1);
	infprof_counter("third", 1.0 / 3.0);
	infprof_counter("diverged", (double)INFINITY);
}

static void counters_keep_their_value_to_the_last_bit(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, mark_counters), 0);
	mark_test_drain(&test);
	assert_int_equal(find_event(&test, "loss")->kind, IFP_EVENT_COUNTER);
	assert_string_equal(find_event(&test, "loss")->args, "{\"value\":0.1}");
	assert_string_equal(find_event(&test, "third")->args, "{\"value\":0.3333333333333333}");
	assert_string_equal(find_event(&test, "diverged")->args, "{\"value\":\"Infinity\"}");
	mark_test_end(&test);
}

static void *end_range(void *id)
{
	infprof_range_end(*(uint64_t *)id);
	return NULL;
}

static void mark_across_threads(void)
{
	uint64_t first = infprof_range_start("first");
	uint64_t second = infprof_range_start("second");
	pthread_t thread;

	pthread_create(&thread, NULL, end_range, &first);
	pthread_join(thread, NULL);
	infprof_range_end(second);
	infprof_range_end(0);
}

static void started_ranges_may_overlap_and_end_on_another_thread(void **state)
{
	const struct seen *first, *second;
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, mark_across_threads), 0);
	mark_test_drain(&test);
	first = find_event(&test, "first");
	second = find_event(&test, "second");
	assert_int_equal(first->tid, test.child);
	assert_true(first->start < second->start);
	assert_true(first->start + first->dur < second->start + second->dur);
	assert_true(first->start + first->dur > second->start);
	assert_int_equal(ifp_marks_counters(test.marks).pops_unmatched, 0);
	mark_test_end(&test);
}

/* Writes one record into a ring, as a thread of the program would. */
static void write_record(struct ifp_segment_header *segment, uint32_t index,
	const struct ifp_mark_record *record, const char *name)
{
	struct ifp_ring_header *ring = &segment->ring[index];
	unsigned char *data = ifp_segment_ring_data(segment, index) + ring->head_bytes;

	ring->pid = (uint32_t)getpid();
	ring->tid = (uint32_t)gettid();
	memcpy(data, record, sizeof(*record));
	memcpy(data + sizeof(*record), name, record->name_bytes);
	ring->head_bytes += record->size_bytes;
	ring->state = IFP_RING_LIVE;
}

/*
 * Rings are read one after the other: both may be written between the reading of one and the next.
 */
static void an_end_that_is_read_before_its_start_waits_for_it(void **state)
{
	const struct ifp_mark_record start = {
		.size_bytes = 32, .kind = IFP_MARK_START, .name_bytes = 8, .stamp = 10, .value = 1};
	const struct ifp_mark_record end = {
		.size_bytes = 24, .kind = IFP_MARK_END, .stamp = 15, .value = 1};
	const struct ifp_mark_record orphan = {
		.size_bytes = 24, .kind = IFP_MARK_END, .stamp = 16, .value = 2};
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	write_record(ifp_marks_segment(test.marks), 0, &end, "");
	write_record(ifp_marks_segment(test.marks), 0, &orphan, "");
	mark_test_drain(&test);
	assert_int_equal(test.count, 0);
	write_record(ifp_marks_segment(test.marks), 1, &start, "transfer");
	mark_test_drain(&test);
	assert_int_equal(find_event(&test, "transfer")->start, 10);
	assert_int_equal(find_event(&test, "transfer")->dur, 5);
	assert_int_equal(ifp_marks_counters(test.marks).pops_unmatched, 0);
	mark_test_drain(&test); /* the other end has waited long enough now */
	assert_int_equal(ifp_marks_counters(test.marks).pops_unmatched, 1);
	mark_test_end(&test);
}

static void leave_ranges_open(void)
{
	infprof_range_push("left open");
	infprof_range_start("started");
	infprof_step_begin(7);
	infprof_instant("last");
	infprof_range_pop();
	infprof_range_pop(); /* one too many */
	infprof_range_push("open at the end");
	infprof_instant("very last");
	program_pause();
}

static void ranges_left_open_are_closed_at_the_last_stamp_and_counted(void **state)
{
	const struct seen *open, *started, *last;
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	mark_test_start(&test, leave_ranges_open);
	mark_test_await_pause(&test);
	mark_test_finish(&test);
	open = find_event(&test, "open at the end");
	started = find_event(&test, "started");
	last = find_event(&test, "very last");
	assert_string_equal(find_event(&test, "left open")->args, "");
	assert_string_equal(open->args, "{\"unfinished\":true}");
	assert_int_equal(open->start + open->dur, last->start);
	assert_string_equal(started->args, "{\"unfinished\":true}");
	assert_int_equal(started->start + started->dur, last->start);
	assert_string_equal(find_event(&test, "step 7")->args, "{\"unfinished\":true}");
	assert_int_equal(ifp_marks_counters(test.marks).ranges_open, 3);
	assert_int_equal(ifp_marks_counters(test.marks).pops_unmatched, 1);
	mark_test_resume(&test);
	assert_int_equal(mark_test_wait(&test), 0);
	mark_test_end(&test);
}

static void push_without_end(void)
{
	for (int i = 0; i < 1100; i++)
		infprof_range_push("deep");
	for (int i = 0; i < 1100; i++)
		infprof_range_pop();
	infprof_range_push("afterwards");
	infprof_range_pop();
}

static void a_thousand_ranges_nest_and_deeper_ones_are_counted(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, push_without_end), 0);
	mark_test_drain(&test);
	assert_int_equal(test.count, 1024 + 1);
	assert_int_equal(ifp_marks_counters(test.marks).ranges_too_deep, 1100 - 1024);
	assert_int_equal(ifp_marks_counters(test.marks).pops_unmatched, 1100 - 1024);
	assert_string_equal(find_event(&test, "afterwards")->args, "");
	mark_test_end(&test);
}

static void check_errno(void)
{
	errno = EXDEV;
	infprof_instant("first mark opens the segment");
	if (errno != EXDEV)
		_exit(1);
}

static void marks_leave_errno_alone(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, check_errno), 0);
	mark_test_end(&test);
}

static char *closed_page;

/* Runs in the middle of a mark: while its name is being read. */
static void mark_and_open_page(int signal)
{
	(void)signal;
	infprof_instant("from the handler");
	mprotect(closed_page, 4096, PROT_READ | PROT_WRITE);
	strcpy(closed_page, "interrupted");
}

static void interrupt_a_mark(void)
{
	struct sigaction action = {.sa_handler = mark_and_open_page};

	sigaction(SIGSEGV, &action, NULL);
	closed_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	infprof_instant("before");
	infprof_instant(closed_page);
	infprof_instant("after");
}

static void a_mark_that_interrupts_a_mark_of_its_thread_is_dropped_and_counted(void **state)
{
	struct mark_test test;

	(void)state;
	mark_test_begin(&test);
	assert_int_equal(mark_test_run(&test, interrupt_a_mark), 0);
	mark_test_drain(&test);
	assert_int_equal(test.count, 3);
	assert_string_equal(test.seen[1].name, "interrupted");
	assert_string_equal(test.seen[2].name, "after");
	assert_int_equal(ifp_marks_counters(test.marks).dropped_full, 1);
	mark_test_end(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes_and_pops_become_nested_slices),
		cmocka_unit_test(stamps_lie_between_readings_of_the_clock_that_the_segment_says),
		cmocka_unit_test(names_are_cut_between_characters_and_escaped),
		cmocka_unit_test(counters_keep_their_value_to_the_last_bit),
		cmocka_unit_test(started_ranges_may_overlap_and_end_on_another_thread),
		cmocka_unit_test(an_end_that_is_read_before_its_start_waits_for_it),
		cmocka_unit_test(ranges_left_open_are_closed_at_the_last_stamp_and_counted),
		cmocka_unit_test(a_thousand_ranges_nest_and_deeper_ones_are_counted),
		cmocka_unit_test(marks_leave_errno_alone),
		cmocka_unit_test(
			a_mark_that_interrupts_a_mark_of_its_thread_is_dropped_and_counted),
	};

	return RUN_TESTS(tests);
}
