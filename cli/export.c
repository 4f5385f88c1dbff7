/* SPDX-License-Identifier: Apache-2.0 */
/* infprof export: the events of an archive, all of them, in another format. */
#include "cli/verb.h"

#include "cli/export_chrome.h"
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
	int64_t rank;
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
		.doc = "The format to write.",
		.type = IFP_OPTION_CHOICE,
		.offset = offsetof(struct values, format),
		.choices = formats},
	{.name = "rank",
		.argument = "R",
		.environment = "",
		.doc = "Only the events of this rank; in chrome, with processes and flows numbered "
		       "as they were recorded. An imported trace keeps the times that it had.",
		.type = IFP_OPTION_INT,
		.offset = offsetof(struct values, rank),
		.max = UINT32_MAX},
};

static const struct ifp_command command = {
	.name = "infprof export",
	.synopsis = "ARCHIVE|DIR [--format FORMAT] [--rank R] -o FILE",
	.summary = "write the events of an archive in another format",
	.description =
		"Writes every event that the archive holds, none left out, with times of the whole "
		"job that start at 0. chrome is plain Chrome JSON, for chrome://tracing, Perfetto "
		"and other readers of it. Without --rank, processes get new numbers there, so that "
		"those of two ranks never meet, are named by their rank, and stand in the order of "
		"the ranks. perfetto is the form of Perfetto (ui.perfetto.dev), smaller and exact "
		"to the nanosecond, with the lanes of the merged timeline. To look at a run in "
		"TensorBoard, use infprof-timeline(1); for a part of a run infprof-slice(1).",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.options_anywhere = true,
};

/* In Perfetto's form: what a slice of the whole run is. */
static int export_perfetto(
	struct ifp_run *run, int64_t rank, const char *path, struct ifp_exported *result)
{
	IFP_CLEANUP(ifp_timeline_result_free) struct ifp_timeline_result files = {0};
	IFP_CLEANUP_RANGES struct ifp_ranges ranks = {0};
	struct ifp_excerpt excerpt = {.stretch = IFP_STRETCH_ALL};
	struct ifp_excerpt_result drawn;
	struct ifp_sink *sink;
	int err = 0;

	if (rank != IFP_EXPORT_ALL_RANKS) {
		err = ifp_ranges_add(&ranks, rank);
		excerpt.ranks = &ranks;
	}
	if (!err)
		err = ifp_sink_perfetto_open(run, path, &(struct ifp_budget){0}, &sink);
	if (err)
		return err;
	err = ifp_excerpt_draw(run, &excerpt, sink, &drawn);
	if (err) {
		sink->ops->abandon(sink);
		return err;
	}
	if (drawn.unaligned)
		ifp_log_warn("%" PRIu32 " ranks have no clock readings: their events are left out",
			drawn.unaligned);
	*result = (struct ifp_exported){.events = drawn.events, .left_out = drawn.left_out};
	return sink->ops->close(sink, &files);
}

/* By format. */
static int (*const exporters[])(
	struct ifp_run *run, int64_t rank, const char *path, struct ifp_exported *result) = {
	ifp_export_chrome,
	export_perfetto,
};

static int export_run(const struct values *v, struct ifp_run *run, struct ifp_exported *result)
{
	IFP_CLEANUP_RANGES struct ifp_ranges wanted = {0};
	int err = v->rank == IFP_EXPORT_ALL_RANKS ? 0 : ifp_ranges_add(&wanted, v->rank);

	if (!err && !ifp_run_rank_count(run))
		err = ifp_fail(-ENOENT, "the archive holds no rank");
	if (!err)
		err = ifp_stretch_check_ranks(run, &wanted);
	if (err)
		return err;
	return exporters[v->format](run, v->rank, v->output, result);
}

/* Not between the events, where these go to the standard output. */
static void print_summary(const struct ifp_exported *exported, const char *output)
{
	if (strcmp(output, IFP_OUTPUT_STANDARD) != 0)
		printf("%s: %" PRIu64 " events\n", output, exported->events);
	if (exported->left_out)
		ifp_log_warn("%" PRIu64 " events that the format has no place for were left out",
			exported->left_out);
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	IFP_CLEANUP(ifp_run_close) struct ifp_run *archive = NULL;
	struct ifp_exported exported = {0};
	char path[PATH_MAX];
	int err;

	if (!v->output)
		return ifp_verb_usage(&ifp_verb_export, "-o FILE is missing");
	err = ifp_verb_archive(arguments->items[0], path);
	if (!err)
		err = ifp_verb_check_output(v->output, path);
	if (!err)
		err = ifp_run_open(path, &archive);
	if (!err)
		err = export_run(v, archive, &exported);
	if (err < 0)
		return err;
	print_summary(&exported, v->output);
	return IFP_EXIT_OK;
}

static const struct values defaults = {.rank = IFP_EXPORT_ALL_RANKS};

const struct ifp_verb ifp_verb_export = {
	.command = &command,
	.defaults = &defaults,
	.values_bytes = sizeof(struct values),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run,
};
