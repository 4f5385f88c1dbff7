/* SPDX-License-Identifier: Apache-2.0 */
/* From an archive on disk to the text and the JSON of its report. */
#include "collector/report/report.h"

#include "core/cleanup.h"
#include "core/time.h"

#include "sample_job.h"
#include "test.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct fixture {
	char directory[64];
	char archive[128];
	struct ifp_run *run;
	struct ifp_report report;
};

static void open_job(struct fixture *f, struct sample_job job)
{
	job.only_rank = SAMPLE_ALL_RANKS;
	job.job = "job-1";
	assert_ok(sample_job_write(f->archive, &job));
	assert_ok(ifp_run_open(f->archive, &f->run));
	assert_ok(ifp_report_make(f->run, &f->report));
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	snprintf(f->directory, sizeof(f->directory), "/tmp/infprof-test-XXXXXX");
	if (!mkdtemp(f->directory))
		return -1;
	snprintf(f->archive, sizeof(f->archive), "%s/run.ifp", f->directory);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char path[128];

	ifp_report_free(&f->report);
	ifp_run_close(&f->run);
	unlink(f->archive);
	snprintf(path, sizeof(path), "%s/report.txt", f->directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/report.json", f->directory);
	unlink(path);
	rmdir(f->directory);
	free(f);
	return 0;
}

static void the_headline_names_the_slow_rank(void **state)
{
	struct fixture *f = *state;

	open_job(
		f, (struct sample_job){
			   .ranks = 8, .steps = 5, .slow_rank = 3, .slow_ns = 300 * IFP_NS_PER_MS});
	assert_int_equal(
		strncmp(f->report.headline,
			"8 of 8 ranks, 5 steps, one host, one clock; rank 3 is late: 30", 62),
		0);
	assert_non_null(strstr(f->report.headline, " ms at all_reduce in 5 of 5 steps"));
}

static void the_headline_of_a_clean_run_names_nobody(void **state)
{
	struct fixture *f = *state;

	open_job(f, (struct sample_job){.ranks = 8, .steps = 6});
	assert_non_null(strstr(f->report.headline, "; no rank is late: spread "));
}

static double number(const cJSON *object, const char *name)
{
	return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static void json_holds_what_its_schema_says(void **state)
{
	struct fixture *f = *state;
	IFP_CLEANUP_BUF struct ifp_buf out = {0};
	const cJSON *verdict, *rank, *row;
	cJSON *json;

	open_job(
		f, (struct sample_job){
			   .ranks = 8, .steps = 5, .slow_rank = 3, .slow_ns = 300 * IFP_NS_PER_MS});
	ifp_report_json(&f->report, &out);
	assert_ok(ifp_buf_status(&out));
	json = cJSON_ParseWithLength((const char *)out.data, out.len_bytes);
	assert_non_null(json);
	assert_true(number(json, "schema") == 1);
	assert_true(number(json, "ranks") == 8);
	assert_true(number(json, "steps") == 5);

	verdict = cJSON_GetObjectItem(json, "verdict");
	assert_true(number(verdict, "rank") == 3);
	assert_true(number(verdict, "steps_late") == 5);
	assert_true(number(verdict, "bound_ns") == 2 * IFP_KINETO_BIAS_NS);
	assert_true(number(cJSON_GetObjectItem(verdict, "bound"), "stamps_ns") ==
		    2 * IFP_KINETO_BIAS_NS);
	assert_true(number(cJSON_GetObjectItem(json, "aligned"), "compared_ns") == 0);
	assert_true(number(cJSON_GetObjectItem(json, "aligned"), "run_ns") == 0);
	assert_true(number(verdict, "late_ns") == (double)f->report.verdict.late_ns);

	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "clocks")), 8);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "windows")), 8);
	rank = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "per_rank"), 7);
	assert_true(number(rank, "rank") == 7);
	assert_true(number(rank, "events") == 20);
	assert_true(number(rank, "steps") == 5);
	/* a step takes 200 ms and what the slow rank loses */
	assert_true(number(rank, "step_mean_ns") > 499e6 && number(rank, "step_mean_ns") < 501e6);
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(rank, "end"), "how")),
		"exited");
	row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "ledger"), 0);
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(row, "what")), "marks-dropped");
	assert_true(number(row, "count") == 1);
	cJSON_Delete(json);
}

static void nobody_is_null_in_json(void **state)
{
	struct fixture *f = *state;
	IFP_CLEANUP_BUF struct ifp_buf out = {0};

	open_job(f, (struct sample_job){.ranks = 4, .steps = 6});
	ifp_report_json(&f->report, &out);
	ifp_buf_append_u8(&out, 0);
	assert_non_null(strstr((const char *)out.data,
		"\"verdict\":{\"rank\":null,\"late_ns\":0,\"steps_late\":0,\"steps\":6,"));
}

static void text_lists_ranks_windows_and_ledger(void **state)
{
	struct fixture *f = *state;
	IFP_CLEANUP_BUF struct ifp_buf out = {0};
	const char *text;

	open_job(
		f, (struct sample_job){
			   .ranks = 4, .steps = 6, .slow_rank = 2, .slow_ns = 100 * IFP_NS_PER_MS});
	ifp_report_text(&f->report, &out);
	ifp_buf_append_u8(&out, 0);
	assert_ok(ifp_buf_status(&out));
	text = (const char *)out.data;
	assert_int_equal(strncmp(text, f->report.headline, strlen(f->report.headline)), 0);
	assert_non_null(strstr(text, "Rank 2 loses the time between the start of a step and its "
				     "all_reduce.\n"));
	assert_non_null(strstr(text, "Program: train.py\nRun: sample-1\n"));
	assert_non_null(strstr(text, "\n   3  node1                6  300 ms    "));
	assert_non_null(strstr(text, "  shared                    exited 0\n"));
	assert_non_null(strstr(text, "   0  attempt 1: steps 1 to 6, 72 events of 4 ranks\n"));
	assert_non_null(strstr(text, "      marks-dropped 1, rank 0: a ring was full\n"));
}

static void a_window_that_nobody_recorded_says_what_to_do(void **state)
{
	struct fixture *f = *state;
	IFP_CLEANUP_BUF struct ifp_buf out = {0};

	open_job(f, (struct sample_job){.ranks = 2, .steps = 6, .ended_early = true});
	ifp_report_text(&f->report, &out);
	ifp_buf_append_u8(&out, 0);
	assert_non_null(strstr((const char *)out.data,
		"   0  attempt 1: no rank has recorded it\n"
		"      ranks 0, 1: ended: the program ended (--warmup 0 and fewer --steps let a "
		"window begin and end earlier)\n"));
}

static void equal_rows_of_the_ledger_become_one_line(void **state)
{
	static const struct ifp_ledger_row rows[] = {
		{0, "names-cut", 5, "names were long"},
		{1, "names-cut", 6, "names were long"},
		{2, "names-cut", 7, "names were long"},
		{3, "names-cut", 1, "another reason"},
		{5, "names-cut", 2, "names were long"},
		{4, "names-cut", 3, "another reason"},
		{2, "names-cut", 1, "another reason"},
		{IFP_FRAME_NO_RANK, "archive-damaged", 0, "the end is missing"},
	};
	struct fixture *f = *state;
	IFP_CLEANUP_BUF struct ifp_buf out = {0};

	open_job(f, (struct sample_job){.ranks = 6, .steps = 3});
	for (size_t i = 0; i < IFP_ARRAY_SIZE(rows); i++)
		assert_ok(ifp_run_ledger_add(f->run, &rows[i]));
	ifp_report_ledger_text(f->run, &out);
	ifp_buf_append_u8(&out, 0);
	assert_ok(ifp_buf_status(&out));
	assert_string_equal((const char *)out.data,
		"\nLedger: what did not arrive, or was changed on its way\n"
		"      marks-dropped 1, rank 0: a ring was full\n"
		"      names-cut 20, ranks 0 to 2, 5: names were long\n"
		"      names-cut 5, ranks 2 to 4: another reason\n"
		"      archive-damaged: the end is missing\n");
}

static void both_reports_are_written_whole(void **state)
{
	struct fixture *f = *state;
	char path[128], start[16] = {0};
	IFP_CLEANUP_FILE FILE *file = NULL;

	open_job(f, (struct sample_job){.ranks = 2, .steps = 3});
	assert_ok(ifp_report_write(&f->report, f->directory));
	snprintf(path, sizeof(path), "%s/report.txt", f->directory);
	assert_int_equal(access(path, R_OK), 0);
	snprintf(path, sizeof(path), "%s/report.json", f->directory);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fread(start, 1, 11, file), 11);
	assert_string_equal(start, "{\"schema\":1");
	assert_true(ifp_report_write(&f->report, "/nowhere") < 0);
	ifp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_headline_names_the_slow_rank, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_headline_of_a_clean_run_names_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(json_holds_what_its_schema_says, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_is_null_in_json, setup, teardown),
		cmocka_unit_test_setup_teardown(
			text_lists_ranks_windows_and_ledger, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_window_that_nobody_recorded_says_what_to_do, setup, teardown),
		cmocka_unit_test_setup_teardown(
			equal_rows_of_the_ledger_become_one_line, setup, teardown),
		cmocka_unit_test_setup_teardown(both_reports_are_written_whole, setup, teardown),
	};

	return RUN_TESTS(tests);
}
