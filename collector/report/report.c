/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/report.h"

#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static int write_all(int fd, const struct ifp_buf *content, const char *path)
{
	size_t done = 0;

	while (done < content->len_bytes) {
		ssize_t n = write(fd, content->data + done, content->len_bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ifp_fail_errno("write %s", path);
		done += (size_t)n;
	}
	return 0;
}

/* By a temporary name and a rename: a reader never sees half a report. */
static int write_file(const char *directory, const char *name, const struct ifp_buf *content)
{
	char path[PATH_MAX], temporary[PATH_MAX];
	IFP_CLEANUP_FD int fd = -1;
	int err = ifp_buf_status(content);

	if (err < 0)
		return err;
	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path) ||
		snprintf(temporary, sizeof(temporary), "%s/.%s.tmp", directory, name) >=
			(int)sizeof(temporary))
		return ifp_fail(-ENAMETOOLONG, "write %s: the path is too long", name);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return ifp_fail_errno("create %s", temporary);
	err = write_all(fd, content, path);
	if (!err && rename(temporary, path) < 0)
		err = ifp_fail_errno("rename %s to %s", temporary, name);
	if (err < 0)
		unlink(temporary);
	return err;
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
