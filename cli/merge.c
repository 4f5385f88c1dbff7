/* SPDX-License-Identifier: Apache-2.0 */
/* infprof merge: traces that exist already, one per rank, as one run. */
#include "cli/verb.h"

#include "cli/merge_progress.h"
#include "collector/import/import.h"
#include "collector/outputs.h"
#include "trace/wire/document.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINES 20u /* of faults; the report has them all */

struct values {
	const char *output;
	const char *rank_from;
	bool in_order;
	bool archive_only;
	bool strict;
	bool json;
	struct ifp_timeline_limits limits;
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
	IFP_TIMELINE_OPTIONS(struct values, limits, IFP_TIMELINE_NO_VARIABLE),
	{.name = "json",
		.environment = "",
		.doc = "Print the result as one JSON object.",
		.type = IFP_OPTION_FLAG,
		.offset = offsetof(struct values, json)},
};

static const struct ifp_command_section sections[] = {
	{"WHICH FILE IS WHICH RANK",
		"With --in-order or --rank-from as they say. Else by what the traces state "
		"(distributedInfo), when all of them do and no two claim one rank; else by "
		"\"rank\" and a number in the file names or those of their directories; else by "
		"the order of the file names, which is told. A file without a rank beside others "
		"that have one is numbered behind them.\n"},
	{"EXIT STATUS",
		"0 also when something of the files could not be read: what it was is printed and "
		"stands in the ledger of the report. 1 when the command failed. 2 when it was used "
		"in a wrong way, or when --strict found a fault.\n"},
	{"EXAMPLES", "\tinfprof merge traces/ -o merged\n"
		     "\ttensorboard --logdir merged\n\n"
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

/* Makes the directory; -EEXIST when an earlier run has written there. */
static int open_output(const char *output, char archive[PATH_MAX], bool *made)
{
	static const char *const taken[] = {"merged", "ranks", "run.ifp"};
	int err = 0;

	for (size_t i = 0; i < IFP_ARRAY_SIZE(taken) && !err; i++) {
		err = join(archive, output, taken[i]);
		if (!err && access(archive, F_OK) == 0)
			err = ifp_fail(-EEXIST,
				"%s is there already: name another directory with -o", archive);
	}
	return err ? err : ifp_verb_make_directory(output, made);
}

/* The notes that are faults, by what they are about. */
static uint32_t warn_faults(const struct ifp_import_notes *notes, const char *name, uint32_t told)
{
	for (uint32_t i = 0; i < notes->count; i++) {
		const struct ifp_import_note *note = &notes->items[i];

		if (!note->fault || told++ >= MAX_LINES)
			continue;
		if (note->count && note->what)
			ifp_log_warn("%s%s%" PRId64 " %s", name, *name ? ": " : "", note->count,
				note->why);
		else
			ifp_log_warn("%s%s%s", name, *name ? ": " : "", note->why);
	}
	return told;
}

static void warn_all(const struct ifp_import *import)
{
	uint32_t told = warn_faults(&import->notes, "", 0);

	for (uint32_t i = 0; i < import->file_count; i++)
		told = warn_faults(&import->files[i].notes, import->files[i].label, told);
	if (told > MAX_LINES)
		ifp_log_warn("%" PRIu32 " more are in the ledger of the report", told - MAX_LINES);
}

static void add_notes(cJSON *array, const struct ifp_import_notes *notes, const char *file)
{
	for (uint32_t i = 0; i < notes->count; i++) {
		cJSON *item = cJSON_CreateObject();

		if (file)
			cJSON_AddStringToObject(item, "file", file);
		if (notes->items[i].what)
			cJSON_AddStringToObject(item, "what", notes->items[i].what);
		cJSON_AddNumberToObject(item, "count", (double)notes->items[i].count);
		cJSON_AddBoolToObject(item, "fault", notes->items[i].fault);
		cJSON_AddStringToObject(item, "why", notes->items[i].why);
		cJSON_AddItemToArray(array, item);
	}
}

static void add_sources(cJSON *result, const struct ifp_import *import)
{
	cJSON *sources = cJSON_AddArrayToObject(result, "sources");
	cJSON *notes = cJSON_AddArrayToObject(result, "notes");

	cJSON_AddNumberToObject(result, "world", import->world);
	add_notes(notes, &import->notes, NULL);
	for (uint32_t i = 0; i < import->file_count; i++) {
		const struct ifp_import_file *file = &import->files[i];
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "path", file->utf8_path);
		if (file->rank != IFP_FRAME_NO_RANK)
			cJSON_AddNumberToObject(item, "rank", file->rank);
		cJSON_AddNumberToObject(item, "elements", (double)file->elements);
		cJSON_AddNumberToObject(item, "events", (double)file->events);
		cJSON_AddNumberToObject(item, "left_out", (double)file->left_out);
		cJSON_AddNumberToObject(item, "json_bytes", (double)file->json_bytes);
		cJSON_AddNumberToObject(item, "lost_bytes", (double)file->lost_bytes);
		cJSON_AddNumberToObject(item, "unread_bytes", (double)file->unread_bytes);
		cJSON_AddItemToArray(sources, item);
		add_notes(notes, &file->notes, file->utf8_path);
	}
}

static void print_text(const struct ifp_import *import, const cJSON *result)
{
	const char *text = ifp_document_get_text(result, "text");
	const char *next = ifp_document_get_text(result, "command");
	uint64_t events = 0;
	const cJSON *item;
	uint32_t ranks = 0;

	for (uint32_t i = 0; i < import->file_count; i++) {
		events += import->files[i].events;
		ranks += import->files[i].rank != IFP_FRAME_NO_RANK;
	}
	printf("%" PRIu64 " events of %" PRIu32 " rank%s\n", events, ranks, ranks == 1 ? "" : "s");
	if (text)
		puts(text);
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(result, "files"))
	{
		printf("%s  %" PRIu64 " bytes\n", ifp_document_get_text(item, "path"),
			ifp_document_get_count(item, "bytes"));
	}
	if (next)
		puts(next);
}

static int print_json(const cJSON *result)
{
	char *text = cJSON_Print(result);

	if (!text)
		return ifp_fail(-ENOMEM, "no memory for the result");
	puts(text);
	cJSON_free(text);
	return 0;
}

static int read_sources(
	const struct values *v, const struct ifp_arguments *arguments, struct ifp_import *import)
{
	struct ifp_merge_progress progress;
	const struct ifp_import_options import_options = {.output_dir = v->output,
		.rank_from = v->rank_from,
		.in_order = v->in_order,
		.progress = ifp_merge_progress_show,
		.context = &progress};
	int err =
		ifp_import_find_files(import, &import_options, arguments->items, arguments->count);

	if (err)
		return err;
	ifp_merge_progress_start(&progress);
	err = ifp_import_read_files(import, &import_options);
	ifp_merge_progress_end(&progress);
	return err ? err : ifp_import_identify(import, &import_options);
}

static int write_run(const struct values *v, struct ifp_import *import, const char *archive)
{
	IFP_CLEANUP_DOCUMENT cJSON *result = cJSON_CreateObject();
	int err = ifp_import_write(import, archive);

	if (err)
		return err;
	cJSON_AddStringToObject(result, "archive", archive);
	if (!v->archive_only)
		err = ifp_outputs_draw(archive, v->output, &v->limits, result);
	if (err)
		return err;
	add_sources(result, import);
	if (v->json)
		return print_json(result);
	print_text(import, result);
	return 0;
}

/* The import; an exit status or a negative errno. */
static int merge(const struct values *v, const struct ifp_arguments *arguments, bool *made)
{
	IFP_CLEANUP_IMPORT struct ifp_import import = {0};
	char archive[PATH_MAX];
	int err = open_output(v->output, archive, made);

	if (!err)
		err = read_sources(v, arguments, &import);
	if (err)
		return err;
	warn_all(&import);
	if (v->strict && ifp_import_has_faults(&import)) {
		ifp_log_error("nothing was written: --strict");
		return IFP_EXIT_USAGE;
	}
	return write_run(v, &import, archive);
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	bool made = false;
	char text[512];
	int err;

	if (!v->output)
		return ifp_verb_usage(&ifp_verb_merge, "-o DIR is missing");
	if (v->in_order && v->rank_from)
		return ifp_verb_usage(
			&ifp_verb_merge, "--in-order and --rank-from exclude each other");
	if (v->rank_from && ifp_import_check_rank_from(v->rank_from))
		return ifp_verb_usage(
			&ifp_verb_merge, "%s", ifp_error_text(text, sizeof(text)));
	err = merge(v, arguments, &made);
	if (err && made)
		rmdir(v->output); /* stays where something is in it */
	return err;
}

const struct ifp_verb ifp_verb_merge = {
	.command = &command,
	.values_bytes = sizeof(struct values),
	.defaults = &defaults,
	.min_arguments = 1,
	.max_arguments = SIZE_MAX,
	.run = run,
};
