/* SPDX-License-Identifier: Apache-2.0 */
/* infprof merge: traces that exist already, one per rank, as one run. */
#include "cli/verb.h"

#include "cli/merge_progress.h"
#include "cli/merge_result.h"
#include "collector/import/import.h"
#include "collector/import/team.h"
#include "collector/outputs.h"
#include "collector/timeline/timeline.h"
#include "core/buf.h"
#include "core/error.h"
#include "core/identity.h"
#include "core/log.h"
#include "core/time.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Launchers take their time on many hosts. */
#define PATIENCE_NS (60 * IFP_NS_PER_S)

struct values {
	const char *output;
	const char *rank_from;
	bool in_order;
	bool archive_only;
	bool strict;
	bool json;
	struct ifp_timeline_limits limits;
	bool alone;
};

static const struct values defaults = {.limits = IFP_TIMELINE_LIMITS_DEFAULT};

static const struct ifp_option options[] = {
	{.name = "output",
		.letter = 'o',
		.argument = "DIR",
		.environment = "",
		.doc = "The directory to write to; it is made when there is none. The output of an "
		       "earlier run is never written over.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, output)},
	{.name = "archive-only",
		.environment = "",
		.doc = "Write the archive, draw nothing.",
		.type = IFP_OPTION_FLAG,
		.offset = offsetof(struct values, archive_only)},
	{.name = "rank-from",
		.argument = "REGEX",
		.environment = "",
		.doc = "Take the rank of a file from its path: REGEX is a POSIX extended "
		       "expression, and what its first group matches is the rank.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, rank_from)},
	{.name = "in-order",
		.environment = "",
		.doc = "The first FILE is rank 0, the next is rank 1, and so on.",
		.type = IFP_OPTION_FLAG,
		.offset = offsetof(struct values, in_order)},
	{.name = "strict",
		.environment = "",
		.doc = "Stop with status 2, and write nothing, when a file is damaged, a rank is "
		       "missing, or it is not certain which file is which rank.",
		.type = IFP_OPTION_FLAG,
		.offset = offsetof(struct values, strict)},
	IFP_TIMELINE_FORMATS_OPTION(struct values, limits, IFP_TIMELINE_NO_VARIABLE),
	IFP_TIMELINE_OPTIONS(struct values, limits, IFP_TIMELINE_NO_VARIABLE),
	{.name = "json",
		.environment = "",
		.doc = "Print the result as one JSON object.",
		.type = IFP_OPTION_FLAG,
		.offset = offsetof(struct values, json)},
	{.name = "alone",
		.environment = "",
		.doc = "Do all of it in this process, also when a launcher has started it as one "
		       "of several: for a call from within a job.",
		.type = IFP_OPTION_FLAG,
		.offset = offsetof(struct values, alone)},
};

static const struct ifp_command_section sections[] = {
	{"WHICH FILE IS WHICH RANK",
		"With --in-order or --rank-from as they say. Else by what the traces state "
		"(distributedInfo), when all of them do and no two claim one rank; else by "
		"\"rank\" and a number in the file names or those of their directories; else by "
		"the order of the file names, which is told. A file without a rank beside others "
		"that have one is numbered behind them.\n"},
	{"SEVERAL PROCESSES",
		"Started by mpirun, srun or torchrun, on one host or on several that share a file "
		"system, the processes read an equal part of the files each, and process 0 puts "
		"the parts together: the result is, byte by byte, that of one process. All have "
		"to have the same arguments; all end with the status of process 0, and only that "
		"prints. They meet in DIR/.merge, which is removed at the end.\n"},
	{"EXIT STATUS",
		"0 also when something of the files could not be read: what it was is printed and "
		"stands in the ledger of the report. 1 when the command failed, also where the "
		"archive and the report were written but the timeline could not be drawn. 2 when "
		"it was used in a wrong way, or when --strict found a fault.\n"},
	{"EXAMPLES", "\tinfprof merge traces/ -o merged\n"
		     "\ttensorboard --logdir merged\n\n"
		     "With two hosts for many or large files:\n\n"
		     "\tmpirun --host a,b infprof merge traces/ -o merged\n\n"
		     "Ranks from names like worker-003.json.gz:\n\n"
		     "\tinfprof merge --rank-from 'worker-([0-9]+)' traces/ -o merged\n"},
};

static const struct ifp_command command = {
	.name = "infprof merge",
	.synopsis = "FILE|DIR... -o DIR",
	.summary = "put traces that exist already together to one run",
	.description =
		"Reads traces of torch.profiler and other Chrome traces (JSON, plain or packed "
		"with gzip or zstd), "
		"one file for each rank, puts all of their events into one archive, and draws the "
		"same timeline and report from it as for a run under infprof-agent(1). A DIR is "
		"searched, with all below it, for names that end in .json, .json.gz or .json.zst. "
		"The ranks "
		"are placed by the wall-clock time in their files; since nothing has measured "
		"their clocks against each other, no rank is called late.",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.sections = sections,
	.section_count = IFP_ARRAY_SIZE(sections),
	.options_anywhere = true,
};

static int join(char path[PATH_MAX], const char *directory, const char *name)
{
	if (snprintf(path, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
		return ifp_fail(-ENAMETOOLONG, "the path %.60s... is too long", directory);
	return 0;
}

static int fail_archive(const char *output, const char *archive)
{
	IFP_CLEANUP_BUF struct ifp_buf word = {0};
	int err;

	ifp_buf_append_shell_word(&word, output);
	ifp_buf_append_u8(&word, 0);
	err = ifp_buf_status(&word);
	if (err)
		return err;
	return ifp_fail(-EEXIST,
		"%s is there already: name another directory with -o, or draw what it holds with: "
		"infprof timeline %s -o %s",
		archive, (const char *)word.data, (const char *)word.data);
}

/* -EEXIST when an earlier run, or somebody else, has written there. archive: its path. */
static int check_output(const struct values *v, char archive[PATH_MAX])
{
	static const char *const taken[] = {
		"report.txt", "report.json", "merged", "perfetto", "ranks"};
	char path[PATH_MAX];
	int err = join(archive, v->output, "run.ifp");

	if (!err && access(archive, F_OK) == 0)
		err = fail_archive(v->output, archive);
	/* An archive alone writes over no report. */
	for (size_t i = v->archive_only ? 2 : 0; i < IFP_ARRAY_SIZE(taken) && !err; i++) {
		err = join(path, v->output, taken[i]);
		if (!err && access(path, F_OK) == 0)
			err = ifp_fail(-EEXIST,
				"%s is there already: name another directory with -o", path);
	}
	return err;
}

/* What one process works with. */
struct work {
	const struct values *values;
	const struct ifp_arguments *arguments;
	struct ifp_team *team;
	uint32_t threads; /* 0 = one for each core */
	struct ifp_merge_progress progress;
};

static int tell_progress(void *context, const struct ifp_import_progress *progress)
{
	struct work *work = context;

	ifp_merge_progress_show(&work->progress, progress);
	return ifp_team_look_around(work->team);
}

static struct ifp_import_options import_options(struct work *work)
{
	return (struct ifp_import_options){.output_dir = work->values->output,
		.rank_from = work->values->rank_from,
		.in_order = work->values->in_order,
		.threads = work->threads,
		.progress = tell_progress,
		.context = work};
}

/* All files, with what they are found to hold, whoever reads them. */
static int read_sources(struct work *work, struct ifp_import *import)
{
	const struct ifp_import_options how = import_options(work);
	int err =
		ifp_import_find_files(import, &how, work->arguments->items, work->arguments->count);

	if (!err)
		err = ifp_team_share(work->team, import);
	if (err)
		return err;
	ifp_merge_progress_start(&work->progress);
	err = ifp_import_read_files(import, &how);
	if (!err)
		err = ifp_team_collect(work->team, import, &how);
	ifp_merge_progress_end(&work->progress);
	return err ? err : ifp_import_identify(import, &how);
}

static int write_run(struct work *work, struct ifp_import *import, const char *archive)
{
	const struct values *v = work->values;
	IFP_CLEANUP_DOCUMENT cJSON *result = cJSON_CreateObject();
	IFP_CLEANUP_FREE char *unfinished = ifp_team_unfinished_path(work->team);
	int err = unfinished ? ifp_import_write(import, unfinished, archive)
			     : ifp_fail(-ENOMEM, "no memory for a path");

	if (err)
		return err;
	cJSON_AddStringToObject(result, "archive", archive);
	if (!v->archive_only)
		err = ifp_outputs_draw(archive, v->output, &v->limits, result);
	if (!err)
		err = ifp_merge_print(import, result, v->json);
	if (!err && ifp_document_is_true(result, "undrawn"))
		return IFP_EXIT_FAILED; /* why has been printed */
	return err;
}

/* The whole, as process 0: an exit status or a negative errno. */
static int merge(struct work *work)
{
	const struct values *v = work->values;
	IFP_CLEANUP_IMPORT struct ifp_import import = IFP_IMPORT_EMPTY;
	char archive[PATH_MAX];
	int err = check_output(v, archive);

	if (!err)
		err = read_sources(work, &import);
	if (err)
		return err;
	ifp_merge_warn(&import);
	if (v->strict && ifp_import_has_faults(&import)) {
		ifp_log_error("nothing was written: --strict");
		return IFP_EXIT_USAGE;
	}
	return write_run(work, &import, archive);
}

/* The part of another process than number 0. */
static int read_part(struct work *work)
{
	IFP_CLEANUP_IMPORT struct ifp_import import = IFP_IMPORT_EMPTY;
	IFP_CLEANUP_FREE char *spill_path = ifp_team_spill_path(work->team);
	struct ifp_import_options how = import_options(work);
	int err = spill_path ? ifp_team_receive(work->team, &import)
			     : ifp_fail(-ENOMEM, "no memory for a path");

	how.spill_path = spill_path;
	if (!err)
		err = ifp_import_read_files(&import, &how);
	return err ? err : ifp_team_deliver(work->team, &import);
}

static void tell_option(
	const struct values *v, const struct ifp_option *option, struct ifp_buf *text)
{
	const char *place = (const char *)v + option->offset;
	const char *word;

	ifp_buf_printf(text, "--%s ", option->name);
	switch (option->type) {
	case IFP_OPTION_FLAG:
		ifp_buf_printf(text, "%d\n", *(const bool *)place);
		break;
	case IFP_OPTION_TEXT:
		word = *(const char *const *)place;
		ifp_buf_printf(text, "%s\n", word ? word : "");
		break;
	default:
		ifp_buf_printf(text, "%" PRId64 "\n", *(const int64_t *)place);
	}
}

/* What has to be the same in all processes, as one text: a directory may have several names. */
static int tell_arguments(const struct work *work, struct ifp_buf *text)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(options); i++)
		if (options[i].offset != offsetof(struct values, output))
			tell_option(work->values, &options[i], text);
	for (size_t i = 0; i < work->arguments->count; i++)
		ifp_buf_printf(text, "%s\n", work->arguments->items[i]);
	ifp_buf_append_u8(text, '\0');
	return ifp_buf_status(text);
}

/* Others wait for the exit status: what is wrong is printed before they have it. */
static int lead(struct work *work, const struct ifp_team_wish *wish)
{
	int status = ifp_team_lead(wish, &work->team);

	if (status) {
		ifp_merge_print_failure(work->values->json);
		return status;
	}
	status = merge(work);
	if (status < 0) {
		ifp_merge_print_failure(work->values->json);
		ifp_log_chain(IFP_LOG_ERROR);
		status = IFP_EXIT_FAILED;
	}
	if (!status && (fflush(stdout) || ferror(stdout)))
		status = IFP_EXIT_FAILED; /* the caller prints it */
	ifp_team_end(&work->team, status);
	return status;
}

static int follow(struct work *work, const struct ifp_team_wish *wish)
{
	char name[32];
	int err;

	snprintf(name, sizeof(name), "infprof[%u]", wish->identity->rank);
	ifp_log_setup(IFP_LOG_INFO, name);
	err = ifp_team_join(wish, &work->team);
	return err ? err : ifp_team_follow(&work->team, read_part(work));
}

static int meet(struct work *work, const struct ifp_identity *identity)
{
	IFP_CLEANUP_BUF struct ifp_buf arguments = {0};
	struct ifp_team_wish wish = {.identity = identity,
		.output_dir = work->values->output,
		.patience_ns = PATIENCE_NS};
	int err = tell_arguments(work, &arguments);

	if (!err)
		err = ifp_verb_make_directory(wish.output_dir, &wish.made_output);
	if (err && !identity->rank)
		ifp_merge_print_failure(work->values->json);
	if (err)
		return err;
	wish.arguments = (const char *)arguments.data;
	work->threads = identity->world > 1 ? ifp_team_threads_here(identity) : 0;
	err = identity->rank ? follow(work, &wish) : lead(work, &wish);
	if (err && wish.made_output)
		rmdir(wish.output_dir); /* stays where something is in it */
	return err;
}

/* What is wrong with the use, for people; NULL when nothing is. */
static const char *find_misuse(const struct values *v, char *text, size_t size_bytes)
{
	if (!v->output)
		return "-o DIR is missing";
	if (v->in_order && v->rank_from)
		return "--in-order and --rank-from exclude each other";
	if ((v->rank_from && ifp_import_check_rank_from(v->rank_from)) ||
		ifp_timeline_check(&v->limits))
		return ifp_error_text(text, size_bytes);
	return NULL;
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	struct work work = {.values = values, .arguments = arguments};
	struct ifp_identity identity = {.launcher = "none", .world = 1, .job = "alone"};
	char text[512];
	const char *misuse = find_misuse(values, text, sizeof(text));

	if (misuse)
		return ifp_verb_usage(&ifp_verb_merge, "%s", misuse);
	if (!work.values->alone && ifp_identity_read(environ, &identity))
		return ifp_fail(-EINVAL, "which process of a job this is (--alone: of none)");
	return meet(&work, &identity);
}

const struct ifp_verb ifp_verb_merge = {
	.command = &command,
	.values_bytes = sizeof(struct values),
	.defaults = &defaults,
	.min_arguments = 1,
	.max_arguments = SIZE_MAX,
	.run = run,
};
