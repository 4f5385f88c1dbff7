/* SPDX-License-Identifier: Apache-2.0 */
/* infprof slice: every event of a stretch of time, as a timeline of its own. */
#include "cli/verb.h"

#include "cli/excerpt_words.h"
#include "cli/output_format.h"
#include "cli/rank_options.h"
#include "collector/timeline/excerpt.h"
#include "collector/timeline/sink_chrome.h"
#include "collector/timeline/sink_perfetto.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NOT_GIVEN (-1)

struct values {
	const char *output;
	const char *step, *steps;
	struct ifp_rank_options ranks;
	int64_t from_ns, to_ns;
};

static const struct ifp_option options[] = {
	{.name = "output",
		.letter = 'o',
		.argument = "FILE",
		.environment = "",
		.doc = "The file to write: .json or, for Perfetto alone, .pftrace; packed when .gz "
		       "stands behind. - is the standard output, as JSON.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, output)},
	{.name = "step",
		.argument = "N[-M]",
		.environment = "",
		.doc = "Step N, or steps N to M: from the first rank's start of N to the last "
		       "rank's end of M.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, step)},
	{.name = "steps",
		.argument = "N[-M]",
		.environment = "",
		.doc = "The same.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, steps)},
	IFP_RANK_OPTIONS(struct values, ranks),
	{.name = "from",
		.argument = "TIME",
		.environment = "",
		.doc = "Where it begins (10ms, 1.5s), counted from the start of the step or, "
		       "without --step, of the run.",
		.type = IFP_OPTION_DURATION,
		.offset = offsetof(struct values, from_ns)},
	{.name = "to",
		.argument = "TIME",
		.environment = "",
		.doc = "Where it ends, counted in the same way.",
		.type = IFP_OPTION_DURATION,
		.offset = offsetof(struct values, to_ns)},
};

static const struct ifp_command_section sections[] = {
	{"EXAMPLES", "All that happened in step 12, on all ranks:\n\n"
		     "\tinfprof slice OUT --step 12 -o step12.pt.trace.json.gz\n\n"
		     "Four milliseconds of it, on two ranks:\n\n"
		     "\tinfprof slice OUT --step 12 --from 10ms --to 14ms --ranks 0,3 -o x.json\n"},
};

static const struct ifp_command command = {
	.name = "infprof slice",
	.synopsis = "ARCHIVE|DIR [--step N[-M]] [--ranks LIST] [--from TIME] [--to TIME] -o FILE",
	.summary = "write every event of a stretch of time as a timeline",
	.description =
		"Writes all that the archive holds of a step, or of any stretch of time: every "
		"event, with all its args, on the lanes and the time axis of the merged timeline. "
		"An event that reaches into the stretch is in it, whole. A timeline of a long run "
		"shows short events folded together; this shows them. TensorBoard finds the file "
		"below its --logdir when its name ends in .pt.trace.json.gz; Perfetto "
		"(ui.perfetto.dev) and chrome://tracing open it under any name.",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.sections = sections,
	.section_count = IFP_ARRAY_SIZE(sections),
	.options_anywhere = true,
};

/* A moment of the run, to the microsecond. */
static void append_moment(struct ifp_buf *text, const char *before, int64_t ns)
{
	int64_t us = ns / IFP_NS_PER_US, s = us / 1000000;

	ifp_buf_printf(text, "%s%s%" PRId64 ".%06" PRId64 " s", before, us < 0 ? "-" : "",
		us < 0 ? -s : s, (us < 0 ? -us : us) % 1000000);
}

static const char *text_of(struct ifp_buf *text)
{
	ifp_buf_append_u8(text, 0);
	return text->failed ? "" : (const char *)text->data;
}

/* What was asked for, of which some may be wrong in a way that the archive need not be read for. */
struct request {
	struct ifp_ranges ranks, steps;
};

static void request_free(struct request *request)
{
	ifp_ranges_free(&request->ranks);
	ifp_ranges_free(&request->steps);
}

static int read_request(const struct values *v, struct request *request)
{
	const char *option = v->step ? "--step" : "--steps", *step = v->step ? v->step : v->steps;
	int err = ifp_rank_options_read(&v->ranks, &request->ranks);

	if (!err && v->step && v->steps)
		err = ifp_fail(-EINVAL, "--step and --steps are the same: give one of them");
	if (!err && step)
		err = ifp_ranges_parse(step, option, &request->steps);
	if (!err && request->steps.count > 1)
		err = ifp_fail(-EINVAL, "%s: \"%s\" is more than one stretch: give N or N-M",
			option, step);
	if (!err && v->to_ns != NOT_GIVEN && v->to_ns <= (v->from_ns == NOT_GIVEN ? 0 : v->from_ns))
		err = ifp_fail(-EINVAL, "--to is not behind --from");
	return err;
}

/* The stretch in the run's time. */
static int find_stretch(const struct values *v, const struct request *request, struct ifp_run *run,
	struct ifp_stretch *out)
{
	struct ifp_stretch stretch = IFP_STRETCH_ALL;
	int64_t start_ns = 0;
	int err = 0;

	if (request->steps.count)
		err = ifp_stretch_of_steps(run, ifp_rank_options_wanted(&request->ranks),
			&request->steps.items[0], &stretch);
	if (err)
		return err;
	if (request->steps.count)
		start_ns = stretch.from_ns;
	if (v->from_ns != NOT_GIVEN &&
		__builtin_add_overflow(start_ns, v->from_ns, &stretch.from_ns))
		stretch.from_ns = INT64_MAX;
	if (v->to_ns != NOT_GIVEN && __builtin_add_overflow(start_ns, v->to_ns, &stretch.to_ns))
		stretch.to_ns = INT64_MAX;
	if (stretch.from_ns >= stretch.to_ns)
		return ifp_fail(-EINVAL, "--from lies behind the end of the step");
	*out = stretch;
	return 0;
}

static int fail_empty(const struct ifp_stretch *stretch, const struct ifp_excerpt_result *result)
{
	IFP_CLEANUP_BUF struct ifp_buf asked = {0}, first = {0}, last = {0};

	if (result->of.from_ns > result->of.to_ns)
		return ifp_fail(-ENOENT, "nothing was recorded on these ranks");
	if (stretch->from_ns != INT64_MIN)
		append_moment(&asked, " from ", stretch->from_ns);
	if (stretch->to_ns != INT64_MAX)
		append_moment(&asked, " to ", stretch->to_ns);
	append_moment(&first, "", result->of.from_ns);
	append_moment(&last, "", result->of.to_ns);
	return ifp_fail(-ENOENT,
		"nothing was recorded%s of the run: there are events from %s to %s",
		text_of(&asked), text_of(&first), text_of(&last));
}

static void print_summary(
	const struct ifp_timeline_result *files, const struct ifp_excerpt_result *result)
{
	printf("%s  %" PRIu64 " bytes, %" PRIu64 " %s of %" PRIu32 " %s\n", files->files[0].path,
		files->files[0].bytes, result->events, result->events == 1 ? "event" : "events",
		result->ranks, result->ranks == 1 ? "rank" : "ranks");
	if (result->leading_out)
		printf("%" PRIu64 " %s out of it and %s not drawn\n", result->leading_out,
			result->leading_out == 1 ? "arrow leads" : "arrows lead",
			result->leading_out == 1 ? "is" : "are");
}

/* Which format is meant by the name of the file. */
static enum ifp_output_format format_of(const char *output)
{
	return !strcmp(output, "-") ? IFP_OUTPUT_CHROME : ifp_output_format_of(output);
}

static int open_sink(const struct ifp_run *run, const char *output, struct ifp_sink **sink)
{
	const struct ifp_budget none = {0};

	if (format_of(output) == IFP_OUTPUT_PERFETTO)
		return ifp_sink_perfetto_open(run, output, &none, sink);
	return ifp_sink_chrome_open(output, run, &none, sink);
}

/* Draws, and closes the sink or gives it up. */
static int draw(struct ifp_run *run, const struct ifp_excerpt *excerpt, struct ifp_sink *sink,
	struct ifp_excerpt_result *result, struct ifp_timeline_result *files)
{
	int err = ifp_excerpt_draw(run, excerpt, sink, result);

	if (!err && !result->events)
		err = fail_empty(&excerpt->stretch, result);
	if (!err)
		return sink->ops->close(sink, files);
	sink->ops->abandon(sink);
	return err;
}

/* The steps of a window; false where it holds none. */
static bool steps_of(const struct ifp_run *run, uint32_t i, struct ifp_range *steps)
{
	const cJSON *window = ifp_run_window(run, i)->document;
	const char *outcome = ifp_document_get_text(window, "outcome");

	steps->first = (int64_t)ifp_document_get_count(window, "first_step");
	steps->last = (int64_t)ifp_document_get_count(window, "last_step");
	return steps->first && outcome && !strcmp(outcome, "recorded");
}

/* Each once, whatever number of ranks have it. */
static void append_windows(struct ifp_buf *text, const struct ifp_run *run)
{
	struct ifp_range steps, told = {0};

	for (uint32_t i = 0; i < ifp_run_window_count(run); i++) {
		if (!steps_of(run, i, &steps) || steps.first <= told.last)
			continue;
		ifp_buf_printf(text, "%s%" PRId64 " to %" PRId64, told.last ? ", " : " ",
			steps.first, steps.last);
		told = steps;
	}
	if (!told.last)
		ifp_buf_append_text(text, " none");
}

/* Steps are marked all the time, operators recorded only in windows. */
static void warn_no_operators(const struct request *request, const struct ifp_run *run,
	const struct ifp_excerpt_result *result)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};

	if (!request->steps.count || result->operators || !ifp_run_window_count(run))
		return;
	append_windows(&text, run);
	ifp_log_warn("it has no operators of PyTorch: they are recorded in windows, which hold of "
		     "the steps%s",
		text_of(&text));
}

static int slice(const struct values *v, const struct request *request, struct ifp_run *run)
{
	IFP_CLEANUP(ifp_timeline_result_free) struct ifp_timeline_result files = {0};
	struct ifp_excerpt excerpt = {.ranks = ifp_rank_options_wanted(&request->ranks)};
	struct ifp_excerpt_result result;
	struct ifp_sink *sink;
	int err = ifp_stretch_check_ranks(run, excerpt.ranks);

	if (!err)
		err = find_stretch(v, request, run, &excerpt.stretch);
	if (!err)
		err = open_sink(run, v->output, &sink);
	if (!err)
		err = draw(run, &excerpt, sink, &result, &files);
	if (err)
		return err;
	if (strcmp(v->output, "-") != 0)
		print_summary(&files, &result);
	ifp_excerpt_warn(&result, "infprof export writes them");
	warn_no_operators(request, run, &result);
	return 0;
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	IFP_CLEANUP(request_free) struct request request = {0};
	IFP_CLEANUP(ifp_run_close) struct ifp_run *archive = NULL;
	char path[PATH_MAX], text[512];
	int err;

	if (!v->output)
		return ifp_verb_usage(&ifp_verb_slice, "-o FILE is missing");
	if (format_of(v->output) == IFP_OUTPUT_UNKNOWN)
		return ifp_verb_usage(&ifp_verb_slice,
			"-o %s: the name says no format: end it in .json or .pftrace, with .gz "
			"behind or not",
			v->output);
	if (read_request(v, &request))
		return ifp_verb_usage(&ifp_verb_slice, "%s", ifp_error_text(text, sizeof(text)));
	err = ifp_verb_archive(arguments->items[0], path);
	if (!err)
		err = ifp_verb_check_output(v->output, path);
	if (!err)
		err = ifp_run_open(path, &archive);
	if (!err)
		err = slice(v, &request, archive);
	return err < 0 ? err : IFP_EXIT_OK;
}

static const struct values defaults = {.from_ns = NOT_GIVEN, .to_ns = NOT_GIVEN};

const struct ifp_verb ifp_verb_slice = {
	.command = &command,
	.defaults = &defaults,
	.values_bytes = sizeof(struct values),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run,
};
