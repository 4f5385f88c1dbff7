/* SPDX-License-Identifier: Apache-2.0 */
/* infprof timeline: draws a run for TensorBoard again, from its archive alone. */
#include "cli/verb.h"

#include "collector/report/report.h"
#include "collector/timeline/timeline.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct values {
	const char *output;
	struct ifp_timeline_limits limits;
};

static const struct values defaults = {.limits = IFP_TIMELINE_LIMITS_DEFAULT};

static const struct ifp_option options[] = {
	{.name = "output",
		.letter = 'o',
		.argument = "DIR",
		.environment = "",
		.doc = "The directory to write to; it is made when there is none. "
		       "One that holds another run is refused.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, output)},
	IFP_TIMELINE_FORMATS_OPTION(struct values, limits, IFP_TIMELINE_NO_VARIABLE),
	IFP_TIMELINE_OPTIONS(struct values, limits, IFP_TIMELINE_NO_VARIABLE),
};

static const struct ifp_command_section sections[] = {
	{"FILES", "merged/\n\tall ranks on one time axis, to look at\n\n"
		  "plugins/profile/START/\n\tone file for each rank, for TensorBoard's xprof "
		  "plug-in; a new directory for each drawing\n\n"
		  "ranks/\n\tone file for each rank, for the analyses of TensorBoard's plug-in\n\n"
		  "report.txt, report.json\n\tthe verdict and the facts behind it\n"},
};

static const struct ifp_command command = {
	.name = "infprof timeline",
	.synopsis = "ARCHIVE|DIR -o DIR",
	.summary = "draw the timeline of a run for TensorBoard",
	.description =
		"Draws what the archive holds, also when the run or its collector was killed, and "
		"writes the reports beside it. Files of the same names are replaced; the archive "
		"is not changed.",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.sections = sections,
	.section_count = IFP_ARRAY_SIZE(sections),
	.options_anywhere = true,
};

static int print_command(const char *output)
{
	IFP_CLEANUP_BUF struct ifp_buf word = {0};

	ifp_buf_append_shell_word(&word, output);
	ifp_buf_append_u8(&word, '\0');
	if (!word.failed)
		printf("tensorboard --logdir %s\n", (const char *)word.data);
	return ifp_buf_status(&word);
}

/*
 * What of the run the files do not hold for their limits, and slices that no budget brings back.
 * count: of the first rows, those that are not of an earlier drawing.
 */
static void print_reduced(const struct ifp_run *run, uint32_t count)
{
	IFP_CLEANUP_BUF struct ifp_buf line = {0};
	const struct ifp_ledger_row *row;
	uint32_t next = 0;

	while ((row = ifp_report_ledger_group(run, &next, &line)) && next <= count) {
		ifp_buf_append_u8(&line, 0);
		if (!strcmp(row->what, "ranks-reduced"))
			printf("%s: %s\n", row->what, row->why);
		else if (strstr(row->why, IFP_TIMELINE_CROWDED) && !line.failed)
			puts((const char *)line.data);
		ifp_buf_clear(&line);
	}
}

static void print_files(const struct ifp_timeline_result *result)
{
	for (uint32_t i = 0; i < result->count; i++)
		printf("%s  %" PRIu64 " bytes, %" PRIu64 " event%s\n", result->files[i].path,
			result->files[i].bytes, result->files[i].events,
			result->files[i].events == 1 ? "" : "s");
	for (uint32_t i = 0; i < result->count; i++)
		if (result->files[i].shown.text[0])
			printf("%s: %s\n", result->files[i].label, result->files[i].shown.text);
}

/* Says what was drawn, and what was not: an exit status. */
static int conclude(const char *output, const struct ifp_run *archive, uint32_t rows,
	const struct ifp_report *report, const struct ifp_timeline_result *result)
{
	int err = 0;

	puts(report->headline);
	print_reduced(archive, rows);
	print_files(result);
	if (ifp_timeline_for_tensorboard(result))
		err = print_command(output);
	if (err < 0 || !result->refused)
		return err < 0 ? err : IFP_EXIT_OK;
	ifp_log_error("%s", result->refused);
	return IFP_EXIT_FAILED;
}

/* Of files that stay as they are, the report keeps what it says. */
static bool is_of_other_files(const void *limits, const struct ifp_ledger_row *row)
{
	return ifp_timeline_has_row(NULL, row) && !ifp_timeline_has_row(limits, row);
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	IFP_CLEANUP(ifp_timeline_result_free) struct ifp_timeline_result result = {0};
	IFP_CLEANUP(ifp_run_close) struct ifp_run *archive = NULL;
	IFP_CLEANUP_REPORT struct ifp_report report = {0};
	struct ifp_timeline_wish wish = {.limits = v->limits};
	char path[PATH_MAX];
	bool made = false;
	uint32_t rows = 0;
	int err;

	if (!v->output)
		return ifp_verb_usage(&ifp_verb_timeline, "-o DIR is missing");
	if (ifp_timeline_check(&v->limits))
		return ifp_verb_usage(&ifp_verb_timeline, "%s", ifp_error_cause(0));
	err = ifp_verb_archive(arguments->items[0], path);
	if (!err)
		err = ifp_run_open(path, &archive);
	if (!err)
		err = ifp_verb_make_directory(v->output, &made);
	if (!err && !made)
		err = ifp_report_check_directory(archive, v->output);
	if (!err)
		err = ifp_report_make(archive, &report);
	wish.first_ranks = report.first_ranks;
	wish.first_rank_count = report.first_rank_count;
	if (!err)
		err = ifp_timeline_draw(archive, v->output, &wish, &result);
	rows = archive ? ifp_run_ledger_count(archive) : 0;
	if (!err && !made)
		err = ifp_report_take_rows(archive, v->output, is_of_other_files, &v->limits);
	if (!err)
		err = ifp_report_write(&report, v->output);
	if (err < 0) {
		if (made)
			rmdir(v->output); /* stays where something is in it */
		return err;
	}
	return conclude(v->output, archive, rows, &report, &result);
}

const struct ifp_verb ifp_verb_timeline = {
	.command = &command,
	.values_bytes = sizeof(struct values),
	.defaults = &defaults,
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run,
};
