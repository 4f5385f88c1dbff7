/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a trace: stamps, durations and the base that they count from, to the nanosecond. */
#include "trace/chrome/reader.h"

#include "chrome_fixture.h"
#include "core/cleanup.h"

#include <stdio.h>

/* The edges of what int64_t holds of stamps and bases; a base beyond 2^53 is no double. */
static void times_are_exact_to_the_edge_of_64_bits(void **state)
{
	static const struct {
		const char *base, *ts;
		int64_t start_ns;
	} cases[] = {
		{"1796083199999999999", "0.001", INT64_C(1796083200000000000)},
		{"9007199254740993", "0", INT64_C(9007199254740993)},
		{"9007199254740993", "9007199254740.993", INT64_C(18014398509481986)},
		{"9223372036854775807", "0", INT64_MAX},
		{"9223372036854775807", "-9223372036854775.807", 0},
		{"-9223372036854775808", "0", INT64_MIN},
		{"-1", "9223372036854775.807", INT64_MAX - 1},
		{"0", "-9223372036854775.808", INT64_MIN},
		{"7", "1.5e-3", 9},
		{"7", "-0.0004", 7},
		{"7", "-0.0005", 6},
		{"7", "12e2", 1200007},
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		char text[256];
		struct fixture f;

		for (int behind = 0; behind < 2; behind++) {
			snprintf(text, sizeof(text),
				behind ? "{\"traceEvents\":[" OP "\"ts\":%2$s,\"dur\":0}],"
					 "\"baseTimeNanoseconds\":%1$s}"
				       : "{\"baseTimeNanoseconds\":%1$s,\"traceEvents\":[" OP
					 "\"ts\":%2$s,\"dur\":0}]}",
				cases[i].base, cases[i].ts);
			open_text(&f, text);
			next_event(&f);
			assert_true(f.event.start == cases[i].start_ns);
			no_more_events(&f);
			close_all(&f);
		}
	}
}

/* One more than the edge, from either side: not placed, not wrapped around. */
static void times_beyond_64_bits_are_set_aside(void **state)
{
	static const struct {
		const char *base, *ts;
	} cases[] = {
		{"9223372036854775807", "0.001"},
		{"-9223372036854775808", "-0.001"},
		{"1", "9223372036854775.807"},
		{"-1", "-9223372036854775.808"},
		{"0", "9223372036854775.808"},
		{"0", "18446744073709551.615"},
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		char text[256];
		struct fixture f;

		snprintf(text, sizeof(text),
			"{\"baseTimeNanoseconds\":%s,\"traceEvents\":[" OP "\"ts\":%s,\"dur\":0}]}",
			cases[i].base, cases[i].ts);
		open_text(&f, text);
		no_more_events(&f);
		assert_int_equal(ifp_chrome_reader_counts(f.reader).set_aside, 1);
		close_all(&f);
	}
}

static void an_end_before_its_start_stays(void **state)
{
	struct fixture f;

	(void)state;
	open_text(&f, "{\"traceEvents\":[" OP "\"ts\":5,\"dur\":-7.25}," OP
		      "\"ts\":-9223372036854775.807,\"dur\":-0.001}]}");
	next_event(&f);
	assert_int_equal(f.event.start, 5000);
	assert_int_equal(f.event.dur, -7250);
	next_event(&f);
	assert_int_equal(f.event.dur, -1);
	no_more_events(&f);
	assert_int_equal(ifp_chrome_reader_counts(f.reader).repaired, 0);
	close_all(&f);
}

/* Of two bases the first counts, wherever they stand; what does not count is kept. */
static void a_base_that_does_not_count_is_kept(void **state)
{
	static const struct {
		const char *text;
		int64_t start_ns;
		const char *others;
	} cases[] = {
		{"{\"baseTimeNanoseconds\":5000,\"baseTimeNanoseconds\":6000,\"traceEvents\":[" OP
		 "\"ts\":1,\"dur\":1}]}",
			6000, "{\"baseTimeNanoseconds\":6000}"},
		{"{\"baseTimeNanoseconds\":5000,\"traceEvents\":[" OP
		 "\"ts\":1,\"dur\":1}],\"baseTimeNanoseconds\":6000}",
			6000, "{\"baseTimeNanoseconds\":6000}"},
		{"{\"baseTimeNanoseconds\":5000,\"traceEvents\":[" OP
		 "\"ts\":1,\"dur\":1}],\"baseTimeNanoseconds\":5000}",
			6000, ""},
		{"{\"traceEvents\":[" OP
		 "\"ts\":1,\"dur\":1}],\"baseTimeNanoseconds\":9223372036854775808}",
			1000, "{\"baseTimeNanoseconds\":9223372036854775808}"},
		{"{\"baseTimeNanoseconds\":\"5000\",\"traceEvents\":[" OP "\"ts\":1,\"dur\":1}]}",
			1000, "{\"baseTimeNanoseconds\":\"5000\"}"},
		{"{\"baseTimeNanoseconds\":1.5e3,\"traceEvents\":[" OP
		 "\"ts\":1,\"dur\":1}],\"baseTimeNanoseconds\":7}",
			1007, "{\"baseTimeNanoseconds\":1.5e3}"},
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		struct fixture f;

		open_text(&f, cases[i].text);
		next_event(&f);
		assert_int_equal(f.event.start, cases[i].start_ns);
		no_more_events(&f);
		assert_int_equal(
			ifp_chrome_reader_header(f.reader).base_time_ns, cases[i].start_ns - 1000);
		assert_str(ifp_chrome_reader_header(f.reader).others, cases[i].others);
		close_all(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_exact_to_the_edge_of_64_bits),
		cmocka_unit_test(times_beyond_64_bits_are_set_aside),
		cmocka_unit_test(an_end_before_its_start_stays),
		cmocka_unit_test(a_base_that_does_not_count_is_kept),
	};

	return RUN_TESTS(tests);
}
