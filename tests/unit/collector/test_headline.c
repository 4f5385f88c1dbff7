/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/headline.h"

#include "core/cleanup.h"
#include "core/time.h"

#include "test.h"

#define MS IFP_NS_PER_MS

static const struct ifp_job one_host = {.ranks = 8, .world = 8, .hosts = 1, .one_clock = true};

static void assert_headline(
	const struct ifp_job *job, const struct ifp_verdict *verdict, const char *expected)
{
	IFP_CLEANUP_BUF struct ifp_buf line = {0};

	ifp_headline(job, verdict, &line);
	ifp_buf_append_u8(&line, 0);
	assert_ok(ifp_buf_status(&line));
	assert_string_equal((const char *)line.data, expected);
}

static void a_late_rank(void **state)
{
	const struct ifp_verdict verdict = {.kind = IFP_VERDICT_LATE,
		.ranks = 8,
		.steps = 5,
		.rank = 3,
		.late_ns = 312 * MS,
		.steps_late = 5,
		.at = "all_reduce"};

	(void)state;
	assert_headline(&one_host, &verdict,
		"8 of 8 ranks, 5 steps, one host, one clock; "
		"rank 3 is late: 312 ms at all_reduce in 5 of 5 steps");
}

static void several_hosts_say_how_well_their_clocks_are_aligned(void **state)
{
	const struct ifp_job hosts = {.ranks = 16, .world = 16, .hosts = 2, .bound_ns = 4200};
	struct ifp_verdict verdict = {.kind = IFP_VERDICT_LATE,
		.ranks = 15,
		.steps = 25,
		.rank = 9,
		.late_ns = 100 * MS,
		.steps_late = 24,
		.aligned_ns = 4100,
		.from_marks = true};

	(void)state;
	assert_headline(&hosts, &verdict,
		"16 of 16 ranks, 15 with collectives, 25 steps, 2 hosts, clocks aligned to 4.20 "
		"us; "
		"rank 9 is late: 100 ms at the end of 24 of 25 steps");
	verdict.aligned_ns = 1700;
	assert_headline(&hosts, &verdict,
		"16 of 16 ranks, 15 with collectives, 25 steps, 2 hosts, clocks aligned to 1.70 us "
		"where compared (4.20 us over the run); rank 9 is late: 100 ms at the end of 24 of "
		"25 steps");
	/* nothing was compared */
	verdict = (struct ifp_verdict){
		.kind = IFP_VERDICT_UNKNOWN, .reason = IFP_REASON_NO_STEPS, .ranks = 16};
	assert_headline(&hosts, &verdict,
		"16 of 16 ranks, no step compared, 2 hosts, clocks aligned to 4.20 us; cannot tell "
		"whether a rank is late: collectives were recorded, but no step was marked");
}

static void assert_bound(const struct ifp_verdict *verdict, const char *expected)
{
	IFP_CLEANUP_BUF struct ifp_buf out = {0};

	ifp_headline_bound(verdict, &out);
	ifp_buf_append_u8(&out, 0);
	assert_ok(ifp_buf_status(&out));
	assert_string_equal((const char *)out.data, expected);
}

static void what_has_to_be_exceeded_is_said_in_parts(void **state)
{
	struct ifp_verdict verdict = {.steps = 5,
		.rank = 1,
		.bound_ns = 77300,
		.bound = {.clocks_ns = 57800, .gpus_ns = 19000, .stamps_ns = 500}};

	(void)state;
	assert_bound(&verdict, "A lateness of rank 1 is certain beyond 77.3 us: 57.8 us of clocks, "
			       "19.0 us of GPUs, 500 ns of stamps.");
	/* one clock, and no GPU */
	verdict.bound_ns = 500;
	verdict.bound = (struct ifp_verdict_bound){.stamps_ns = 500};
	assert_bound(&verdict, "A lateness of rank 1 is certain beyond 500 ns: 500 ns of stamps.");
	verdict.steps = 0;
	assert_bound(&verdict, "");
}

static void noise(void **state)
{
	struct ifp_verdict verdict = {.kind = IFP_VERDICT_NOBODY,
		.reason = IFP_REASON_NOISE,
		.ranks = 8,
		.steps = 5,
		.most_last = 2,
		.spread_min_ns = 30 * MS,
		.spread_max_ns = 115 * MS,
		.another_each_time = true};

	(void)state;
	assert_headline(&one_host, &verdict,
		"8 of 8 ranks, 5 steps, one host, one clock; "
		"no rank is late: spread 30.0 to 115 ms, no rank was the last twice in a row");
	verdict.another_each_time = false;
	assert_headline(&one_host, &verdict,
		"8 of 8 ranks, 5 steps, one host, one clock; "
		"no rank is late: spread 30.0 to 115 ms, none last in more than 2 of 5 steps");
	verdict.rank = 3;
	verdict.steps_late = verdict.most_last = 4;
	verdict.more_steps_tell = true;
	assert_headline(&one_host, &verdict,
		"8 of 8 ranks, 5 steps, one host, one clock; "
		"no rank is late: spread 30.0 to 115 ms, rank 3 is last in 4 of 5 steps, but not "
		"clearly enough: more steps would tell");
	verdict.more_steps_tell = false;
	verdict.gap_ns = 12 * MS;
	verdict.deviation_ns = 9 * MS;
	verdict.others_ns = 40 * MS;
	assert_headline(&one_host, &verdict,
		"8 of 8 ranks, 5 steps, one host, one clock; "
		"no rank is late: spread 30.0 to 115 ms, rank 3 is last in 4 of 5 steps, but not "
		"clearly enough: 12.0 ms +- 9.00 ms behind the second last, the others within "
		"40.0 ms");
}

#define CANNOT                                                                                     \
	"8 of 8 ranks, no step compared, one host, one clock; cannot tell whether a rank is "      \
	"late: "

static void every_reason_not_to_tell_has_its_words(void **state)
{
	static const struct {
		enum ifp_verdict_reason reason;
		const char *text;
	} cases[] = {
		{IFP_REASON_ONE_RANK, CANNOT "there is only one"},
		{IFP_REASON_NO_COLLECTIVES, CANNOT "no collectives of two ranks were recorded"},
		{IFP_REASON_NO_STEPS, CANNOT "collectives were recorded, but no step was marked"},
		{IFP_REASON_OTHER_COLLECTIVES,
			CANNOT "the ranks did other collectives in each step"},
		{IFP_REASON_CLOCKS, CANNOT "their clocks are not aligned"},
	};

	(void)state;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(cases); i++) {
		const struct ifp_verdict verdict = {
			.kind = IFP_VERDICT_UNKNOWN, .reason = cases[i].reason, .ranks = 8};

		assert_headline(&one_host, &verdict, cases[i].text);
	}
}

static void traces_without_steps_say_what_would_mark_them(void **state)
{
	struct ifp_job traces = one_host;
	const struct ifp_verdict verdict = {
		.kind = IFP_VERDICT_UNKNOWN, .reason = IFP_REASON_NO_STEPS, .ranks = 8};

	(void)state;
	traces.imported = true;
	assert_headline(&traces, &verdict,
		CANNOT "the traces have collectives, but no ProfilerStep#N: the program has to "
		       "call prof.step() after each step");
}

static void a_lateness_within_the_bound_says_both(void **state)
{
	const struct ifp_job hosts = {.ranks = 4, .world = 4, .hosts = 4, .bound_ns = INT64_MAX};
	const struct ifp_verdict verdict = {.kind = IFP_VERDICT_UNKNOWN,
		.reason = IFP_REASON_BOUND,
		.ranks = 4,
		.steps = 9,
		.rank = 1,
		.steps_late = 8,
		.late_ns = 3000,
		.bound_ns = 5500};

	(void)state;
	assert_headline(&hosts, &verdict,
		"4 of 4 ranks, 9 steps, 4 hosts, clocks not aligned; "
		"cannot tell whether a rank is late: rank 1 is last in 8 of 9 steps by 3.00 us, "
		"which the clocks cannot tell from 0 (bound 5.50 us)");
}

static void where_the_time_goes_is_said_of_late_ranks_only(void **state)
{
	IFP_CLEANUP_BUF struct ifp_buf out = {0};
	struct ifp_verdict verdict = {.kind = IFP_VERDICT_NOBODY, .rank = 3, .at = "all_reduce"};

	(void)state;
	ifp_headline_where(&verdict, &out);
	assert_int_equal(out.len_bytes, 0);
	verdict.kind = IFP_VERDICT_LATE;
	verdict.late_before_step = true;
	ifp_headline_where(&verdict, &out);
	ifp_buf_append_u8(&out, 0);
	assert_string_equal((const char *)out.data,
		"Rank 3 loses the time between the last collective of a step and the step's end.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_rank),
		cmocka_unit_test(several_hosts_say_how_well_their_clocks_are_aligned),
		cmocka_unit_test(what_has_to_be_exceeded_is_said_in_parts),
		cmocka_unit_test(noise),
		cmocka_unit_test(every_reason_not_to_tell_has_its_words),
		cmocka_unit_test(traces_without_steps_say_what_would_mark_them),
		cmocka_unit_test(a_lateness_within_the_bound_says_both),
		cmocka_unit_test(where_the_time_goes_is_said_of_late_ranks_only),
	};

	return RUN_TESTS(tests);
}
