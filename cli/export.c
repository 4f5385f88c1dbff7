/* SPDX-License-Identifier: Apache-2.0 */
/* infprof export: the events of an archive, all of them, in another format. */
#include "cli/verb.h"

#include "cli/export_chrome.h"
#include "cli/excerpt_words.h"
#include "cli/output_format.h"
#include "cli/rank_options.h"
#include "collector/timeline/excerpt.h"
#include "collector/timeline/sink_perfetto.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"
#include "trace/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct values {
	const char *output;
	int format;
	struct ifp_rank_options ranks;
};

static const char *const formats[] = {"chrome", "perfetto", NULL};

static const struct ifp_option options[] = {
	{.name = "output",
		.letter = 'o',
		.argument = "FILE",
		.environment = "",
		.doc = "The file to write; compressed when its name ends in .gz. - is the standard "
		       "output.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, output)},
	{.name = "format",
		.argument = "FORMAT",
		.environment = "",
		.doc = "The format to write. Default: by the name of FILE, perfetto for "
		       ".pftrace and chrome for all others.",
		.type = IFP_OPTION_CHOICE,
		.offset = offsetof(struct values, format),
		.choices = formats},
	IFP_RANK_OPTIONS(struct values, ranks),
};

static const struct ifp_command command = {
	.name = "infprof export",
	.synopsis = "ARCHIVE|DIR [--format FORMAT] [--ranks LIST] -o FILE",
	.summary = "write the events of an archive in another format",
	.description =
		"Writes every event that the archive holds, none left out, with times of the whole "
		"job that start at 0. chrome is plain Chrome JSON, for chrome://tracing, Perfetto "
		"and other readers of it. Of one rank alone, processes and flows have the numbers "
		"that were "
		"recorded there, and an imported trace keeps the times that it had; of several, "
		"processes get new numbers, so that those of two ranks never meet, are named by "
		"their rank, and stand in the order of the ranks. perfetto is the form of Perfetto "
		"(ui.perfetto.dev), smaller and exact "
		"to the nanosecond, with the lanes of the merged timeline. To look at a run in "
		"TensorBoard, use infprof-timeline(1); for a part of a run infprof-slice(1).",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.options_anywhere = true,
};

/* In Perfetto's form: what a slice of the whole run is. */
static int export_perfetto(struct ifp_run *run, const struct ifp_ranges *ranks, const char *path,
	struct ifp_exported *result)
{
	IFP_CLEANUP(ifp_timeline_result_free) struct ifp_timeline_result files = {0};
	const struct ifp_excerpt excerpt = {.ranks = ranks, .stretch = IFP_STRETCH_ALL};
	struct ifp_excerpt_result drawn;
	struct ifp_sink *sink;
	int err = ifp_sink_perfetto_open(run, path, &(struct ifp_budget){0}, &sink);

	if (err)
		return err;
	err = ifp_excerpt_draw(run, &excerpt, sink, &drawn);
	if (err) {
		sink->ops->abandon(sink);
		return err;
	}
	*result = (struct ifp_exported){.events = drawn.events};
	err = sink->ops->close(sink, &files);
	if (!err)
		ifp_excerpt_warn(&drawn, "");
	return err;
}

/* By format. */
static int (*const exporters[])(struct ifp_run *run, const struct ifp_ranges *ranks,
	const char *path, struct ifp_exported *result) = {
	[IFP_OUTPUT_CHROME] = ifp_export_chrome,
	[IFP_OUTPUT_PERFETTO] = export_perfetto,
};

static int export_run(const struct values *v, enum ifp_output_format format,
	const struct ifp_ranges *ranks, struct ifp_run *run, struct ifp_exported *result)
{
	int err;

	if (!ifp_run_rank_count(run))
		return ifp_fail(-ENOENT, "the archive holds no rank");
	err = ifp_stretch_check_ranks(run, ranks);
	return err ? err : exporters[format](run, ranks, v->output, result);
}

/* What is asked for, and what the name of the file says: *format. -EINVAL when they differ. */
static int choose_format(const struct values *v, enum ifp_output_format *format)
{
	enum ifp_output_format named = ifp_output_format_of(v->output);

	if (v->format == IFP_OUTPUT_UNKNOWN)
		*format = named == IFP_OUTPUT_UNKNOWN ? IFP_OUTPUT_CHROME : named;
	else if (named == IFP_OUTPUT_UNKNOWN || (int)named == v->format)
		*format = (enum ifp_output_format)v->format;
	else
		return ifp_fail(-EINVAL,
			"--format %s, but the name %s is one of %s: leave one of them out",
			formats[v->format], v->output, formats[named]);
	return 0;
}

/* Not between the events, where these go to the standard output. */
static void print_summary(const struct ifp_exported *exported, const char *output)
{
	if (strcmp(output, IFP_OUTPUT_STANDARD) != 0)
		printf("%s: %" PRIu64 " event%s\n", output, exported->events,
			exported->events == 1 ? "" : "s");
	if (exported->left_out)
		ifp_log_warn("%" PRIu64 " events that the format has no place for were left out",
			exported->left_out);
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	IFP_CLEANUP(ifp_run_close) struct ifp_run *archive = NULL;
	IFP_CLEANUP_RANGES struct ifp_ranges ranks = {0};
	enum ifp_output_format format = IFP_OUTPUT_CHROME;
	struct ifp_exported exported = {0};
	char path[PATH_MAX];
	int err;

	if (!v->output)
		return ifp_verb_usage(&ifp_verb_export, "-o FILE is missing");
	if (choose_format(v, &format) || ifp_rank_options_read(&v->ranks, &ranks))
		return ifp_verb_usage(&ifp_verb_export, "%s", ifp_error_cause(0));
	err = ifp_verb_archive(arguments->items[0], path);
	if (!err)
		err = ifp_verb_check_output(v->output, path);
	if (!err)
		err = ifp_run_open(path, &archive);
	if (!err)
		err = export_run(v, format, ifp_rank_options_wanted(&ranks), archive, &exported);
	if (err < 0)
		return err;
	print_summary(&exported, v->output);
	return IFP_EXIT_OK;
}

static const struct values defaults = {.format = IFP_OUTPUT_UNKNOWN};

const struct ifp_verb ifp_verb_export = {
	.command = &command,
	.defaults = &defaults,
	.values_bytes = sizeof(struct values),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run,
};
