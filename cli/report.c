/* SPDX-License-Identifier: Apache-2.0 */
/* infprof report: the verdict and the facts behind it. */
#include "cli/verb.h"

#include "collector/report/report.h"
#include "collector/timeline/timeline.h"
#include "core/cleanup.h"

#include <stdio.h>
#include <string.h>

struct values {
	bool json;
};

static const struct ifp_option options[] = {
	{.name = "json",
		.environment = "",
		.doc = "Print report.json instead of the text.",
		.type = IFP_OPTION_FLAG,
		.offset = offsetof(struct values, json)},
};

static const struct ifp_command command = {
	.name = "infprof report",
	.synopsis = "[--json] DIR|ARCHIVE",
	.summary = "say which rank is late, and what was recorded",
	.description =
		"Reads an archive and prints one line with the verdict, then every rank with its "
		"steps, its end and its clock, the recorded windows, and the ledger of what did "
		"not arrive. DIR is the output directory of a run and means DIR/run.ifp. Nothing "
		"is written.",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.options_anywhere = true,
};

static bool is_of_files(const void *context, const struct ifp_ledger_row *row)
{
	(void)context;
	return ifp_timeline_has_row(NULL, row);
}

/* What the files beside an archive do not hold is no part of it: only their report tells. */
static int take_rows(struct ifp_run *run, const char *argument, const char *archive)
{
	return strcmp(argument, archive) ? ifp_report_take_rows(run, argument, is_of_files, NULL)
					 : 0;
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	IFP_CLEANUP(ifp_run_close) struct ifp_run *archive = NULL;
	IFP_CLEANUP_REPORT struct ifp_report report = {0};
	IFP_CLEANUP_BUF struct ifp_buf out = {0};
	char path[PATH_MAX];
	int err = ifp_verb_archive(arguments->items[0], path);

	if (!err)
		err = ifp_run_open(path, &archive);
	if (!err)
		err = ifp_report_make(archive, &report);
	if (!err)
		err = take_rows(archive, arguments->items[0], path);
	if (err < 0)
		return err;
	if (v->json)
		ifp_report_json(&report, &out);
	else
		ifp_report_text(&report, &out);
	err = ifp_buf_status(&out);
	if (err < 0)
		return err;
	fwrite(out.data, 1, out.len_bytes, stdout);
	return IFP_EXIT_OK;
}

const struct ifp_verb ifp_verb_report = {
	.command = &command,
	.values_bytes = sizeof(struct values),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run,
};
