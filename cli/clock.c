/* SPDX-License-Identifier: Apache-2.0 */
/* infprof clock: how the clocks of a run were aligned, and how sure that is. */
#include "cli/verb.h"

#include "collector/report/clocks.h"
#include "core/cleanup.h"
#include "trace/output.h"

#include <stdio.h>
#include <unistd.h>

/* Of a page whose name ends in .gz. */
#define GZIP_LEVEL 6

struct values {
	bool epochs, json;
	const char *html;
};

static const struct ifp_option options[] = {
	{.name = "epochs",
		.environment = "",
		.doc = "Below the table, a line for each exchange of each clock.",
		.type = IFP_OPTION_FLAG,
		.offset = offsetof(struct values, epochs)},
	{.name = "json",
		.environment = "",
		.doc = "Print JSON instead of the table, with every exchange.",
		.type = IFP_OPTION_FLAG,
		.offset = offsetof(struct values, json)},
	{.name = "html",
		.argument = "FILE",
		.environment = "",
		.doc = "Write a page with the table and a plot of each clock to FILE; nothing is "
		       "printed.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, html)},
};

static const struct ifp_command command = {
	.name = "infprof clock",
	.synopsis = "[--epochs | --json | --html FILE] DIR|ARCHIVE",
	.summary = "say how the clocks of the ranks were aligned, and how sure that is",
	.description =
		"Reads an archive and prints for every rank which clock it read, how that was "
		"tied to the time of the job, its offset and drift, the estimated standard "
		"deviation (sigma) and the certified bound. The bound holds as long as no clock "
		"drifts faster than the assumption that is printed beside it. Below, for every GPU "
		"and window: what its times are moved by, and between which limits that is, by "
		"launches and by calls that waited. DIR is the output "
		"directory of a run and means DIR/run.ifp.",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.options_anywhere = true,
};

static void write_report(const struct values *v, const struct ifp_run *run, struct ifp_buf *out)
{
	if (v->html)
		ifp_clocks_page(run, out);
	else if (v->json)
		ifp_clocks_json(run, out);
	else
		ifp_clocks_text(run, isatty(STDOUT_FILENO) ? IFP_CLOCKS_TERMINAL : IFP_CLOCKS_PLAIN,
			v->epochs, out);
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	IFP_CLEANUP(ifp_run_close) struct ifp_run *archive = NULL;
	IFP_CLEANUP(ifp_output_abandon) struct ifp_output *output = NULL;
	IFP_CLEANUP_BUF struct ifp_buf out = {0};
	char path[PATH_MAX];
	int err;

	if (v->epochs + v->json + (v->html != NULL) > 1)
		return ifp_verb_usage(
			&ifp_verb_clock, "--epochs, --json and --html exclude each other");
	err = ifp_verb_archive(arguments->items[0], path);
	if (!err && v->html)
		err = ifp_verb_check_output(v->html, path);
	if (!err)
		err = ifp_run_open(path, &archive);
	for (uint32_t i = 0; !err && i < ifp_run_rank_count(archive); i++)
		err = ifp_run_look_for_gpus(archive, i);
	if (!err)
		err = ifp_output_open(v->html ? v->html : IFP_OUTPUT_STANDARD, GZIP_LEVEL, &output);
	if (err < 0)
		return err;
	write_report(v, archive, &out);
	ifp_output_write(output, &out);
	return ifp_output_close(&output);
}

const struct ifp_verb ifp_verb_clock = {
	.command = &command,
	.values_bytes = sizeof(struct values),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run,
};
