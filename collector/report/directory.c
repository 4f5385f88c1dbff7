/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/report.h"

#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Larger ones are no reports: one of a thousand ranks has a few megabytes. */
#define MAX_REPORT_BYTES (256u << 20)

static int join(char path[PATH_MAX], const char *directory, const char *name)
{
	if (snprintf(path, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
		return ifp_fail(-ENAMETOOLONG, "look for %s: the path is too long", name);
	return 0;
}

/* NULL when there is none, or something else. */
static cJSON *read_report(const char *path)
{
	IFP_CLEANUP_FILE FILE *file = fopen(path, "re");
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	char piece[16384];
	size_t bytes;

	while (file && text.len_bytes < MAX_REPORT_BYTES &&
		(bytes = fread(piece, 1, sizeof(piece), file)) > 0)
		ifp_buf_append(&text, piece, bytes);
	if (!file || text.failed || !text.len_bytes)
		return NULL;
	return cJSON_ParseWithLength((const char *)text.data, text.len_bytes);
}

static int compare(const struct ifp_run *run, const cJSON *found, const char *path)
{
	const cJSON *document = ifp_run_document(run);
	const char *ours = document ? ifp_document_get_text(document, "run_id") : NULL;
	const char *theirs = found ? ifp_document_get_text(found, "run_id") : NULL;

	if (!ours || !theirs || !strcmp(ours, theirs))
		return 0;
	return ifp_fail(-EEXIST, "%s is of another run: name another directory with -o", path);
}

int ifp_report_check_directory(const struct ifp_run *run, const char *directory)
{
	IFP_CLEANUP_DOCUMENT cJSON *report = NULL;
	IFP_CLEANUP(ifp_run_close) struct ifp_run *archive = NULL;
	char path[PATH_MAX];
	int err = join(path, directory, "report.json");

	if (err)
		return err;
	report = read_report(path);
	if (report)
		return compare(run, report, path);
	/* An archive alone, as of infprof merge --archive-only. */
	err = join(path, directory, "run.ifp");
	if (err || access(path, F_OK))
		return err;
	if (!ifp_run_open(path, &archive))
		return compare(run, ifp_run_document(archive), path);
	ifp_error_clear();
	return 0;
}

static int take_row(struct ifp_run *run, const cJSON *item,
	bool (*wanted)(const void *context, const struct ifp_ledger_row *row), const void *context)
{
	struct ifp_ledger_row row = {
		.rank = IFP_FRAME_NO_RANK,
		.what = ifp_document_get_text(item, "what"),
		.why = ifp_document_get_text(item, "why"),
	};
	int64_t rank;

	if (!row.what || !row.why || !ifp_document_get_int(item, "count", &row.count))
		return 0;
	if (ifp_document_get_int(item, "rank", &rank) && rank >= 0 && rank < IFP_FRAME_NO_RANK)
		row.rank = (uint32_t)rank;
	return wanted(context, &row) ? ifp_run_ledger_add(run, &row) : 0;
}

int ifp_report_take_rows(struct ifp_run *run, const char *directory,
	bool (*wanted)(const void *context, const struct ifp_ledger_row *row), const void *context)
{
	IFP_CLEANUP_DOCUMENT cJSON *report = NULL;
	const cJSON *item;
	char path[PATH_MAX];
	int err = join(path, directory, "report.json");

	if (err)
		return err;
	report = read_report(path);
	if (!ifp_document_get_text(report, "run_id") || compare(run, report, path)) {
		ifp_error_clear();
		return 0;
	}
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(report, "ledger"))
	{
		err = take_row(run, item, wanted, context);
		if (err)
			return err;
	}
	return 0;
}
