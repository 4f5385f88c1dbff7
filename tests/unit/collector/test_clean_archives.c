/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives of twenty clean jobs, noisy as jobs are on few cores: whoever reads their reports must
 * find no name in any. And twenty in which one rank stands out: always the right name.
 */
#include "collector/report/report.h"
#include "core/cleanup.h"

#include "make_archive.h"
#include "noise.h"
#include "test.h"

#include <stdio.h>
#include <unistd.h>

#define JOBS 20
#define RANKS 8u
#define STEPS 5u
#define START_NS IFP_NS_PER_S
#define STEP_NS (3 * IFP_NS_PER_S)	    /* longer than any noise */
#define NOISE_STEP_NS (500 * IFP_NS_PER_MS) /* what arrivals of noise.h are apart by */
#define WIRE_NS (IFP_NS_PER_MS / 2)

static void write_job(const char *path, const struct noise *noise)
{
	struct archive_maker maker;

	archive_maker_open(&maker, path, RANKS);
	for (uint32_t step = 0; step < STEPS; step++) {
		int64_t start_ns = START_NS + step * STEP_NS, arrival_ns[RANKS];

		for (uint32_t rank = 0; rank < RANKS; rank++)
			arrival_ns[rank] = start_ns + STEP_NS / 2 + noise->arrival_ns[step][rank] -
					   step * NOISE_STEP_NS;
		archive_maker_collective(&maker, "gloo:all_reduce", arrival_ns, WIRE_NS);
		archive_maker_steps(&maker, step + 1, start_ns + STEP_NS - 1);
	}
	archive_maker_close(&maker);
}

/* The verdict on the archive of a job with these arrivals. */
static struct ifp_verdict judge(const struct noise *noise)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP_REPORT struct ifp_report report = {0};
	char path[64];

	snprintf(path, sizeof(path), "/tmp/infprof-test-clean-%d.ifp", getpid());
	unlink(path);
	write_job(path, noise);
	assert_ok(ifp_run_open(path, &run));
	unlink(path);
	assert_ok(ifp_report_make(run, &report));
	assert_int_equal(report.verdict.steps, STEPS);
	return report.verdict;
}

static void no_rank_of_a_clean_job_is_named(void **state)
{
	struct noise noise;

	(void)state;
	for (uint32_t job = 0; job < JOBS; job++) {
		noise_make(&noise, (enum noise_kind)(job % NOISE_KINDS), 100 + job, RANKS, STEPS);
		assert_int_equal(judge(&noise).kind, IFP_VERDICT_NOBODY);
	}
}

static void the_rank_that_stands_out_is_named(void **state)
{
	struct noise noise;

	(void)state;
	for (uint32_t job = 0; job < JOBS; job++) {
		struct ifp_verdict verdict;

		noise_make(&noise, (enum noise_kind)(job % NOISE_KINDS), 100 + job, RANKS, STEPS);
		noise_delay(&noise, job % RANKS, 6 * noise_spread_ns(&noise));
		verdict = judge(&noise);
		assert_int_equal(verdict.kind, IFP_VERDICT_LATE);
		assert_int_equal(verdict.rank, job % RANKS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_rank_of_a_clean_job_is_named),
		cmocka_unit_test(the_rank_that_stands_out_is_named),
	};

	return RUN_TESTS(tests);
}
