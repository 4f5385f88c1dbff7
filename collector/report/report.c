/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/report.h"

#include "core/error.h"
#include "trace/output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void name_first_ranks(struct ifp_report *report)
{
	const struct ifp_verdict *verdict = &report->verdict;

	if (verdict->kind != IFP_VERDICT_LATE)
		return;
	report->first_ranks[0] = verdict->rank;
	report->first_ranks[1] = verdict->earliest;
	report->first_ranks[2] = verdict->middle;
	report->first_rank_count = 3;
}

int ifp_report_make(struct ifp_run *run, struct ifp_report *out)
{
	IFP_CLEANUP_REPORT struct ifp_report report = {.run = run, .job = ifp_job_of(run)};
	IFP_CLEANUP_BUF struct ifp_buf line = {0};
	int err = ifp_activity_collect(run, &report.activity);

	if (!err)
		err = ifp_verdict_reach(&report.activity, &report.verdict);
	if (err < 0)
		return ifp_fail(err, "analyse the run");
	name_first_ranks(&report);
	ifp_headline(&report.job, &report.verdict, &line);
	err = ifp_buf_status(&line);
	if (err < 0)
		return err;
	snprintf(report.headline, sizeof(report.headline), "%.*s", (int)line.len_bytes,
		(const char *)line.data);
	*out = report;
	report = (struct ifp_report){0};
	return 0;
}

void ifp_report_free(struct ifp_report *report)
{
	ifp_activity_free(&report->activity);
	*report = (struct ifp_report){0};
}

static int write_file(const char *directory, const char *name, const struct ifp_buf *content)
{
	IFP_CLEANUP(ifp_output_abandon) struct ifp_output *output = NULL;
	char path[PATH_MAX];
	int err;

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return ifp_fail(-ENAMETOOLONG, "write %s: the path is too long", name);
	err = ifp_output_open(path, 0, &output);
	if (err < 0)
		return err;
	ifp_output_write(output, content);
	return ifp_output_close(&output);
}

int ifp_report_write(const struct ifp_report *report, const char *directory)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	IFP_CLEANUP_BUF struct ifp_buf json = {0};
	int err;

	ifp_report_text(report, &text);
	ifp_report_json(report, &json);
	err = write_file(directory, "report.txt", &text);
	return err < 0 ? err : write_file(directory, "report.json", &json);
}
