/* SPDX-License-Identifier: Apache-2.0 */
/* infprof check: reads files whole and says what is wrong with them. */
#include "cli/verb.h"

#include "cli/check_archive.h"
#include "cli/merge_progress.h"
#include "collector/import/import.h"
#include "core/error.h"
#include "core/log.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct values {
	bool json;
};

static const struct ifp_option options[] = {
	{.name = "json",
		.environment = "",
		.doc = "Print the result as one JSON object.",
		.type = IFP_OPTION_FLAG,
		.offset = offsetof(struct values, json)},
};

static const struct ifp_command_section sections[] = {
	{"EXIT STATUS", "0 when nothing is wrong, 1 when something is: all of a file that would "
			"make infprof-merge(1) stop with --strict. Which file is which rank, and "
			"whether one is missing, is not asked. What is told besides, such as "
			"characters that were repaired, is marked \"(no fault)\" and does not "
			"count.\n"},
};

static const struct ifp_command command = {
	.name = "infprof check",
	.synopsis = "FILE|DIR...",
	.summary = "read archives and traces whole and say what is wrong with them",
	.description =
		"Reads every frame of archives (.ifp) and every event of traces, as "
		"infprof-merge(1) does, and prints a line for each file and for each thing that "
		"is wrong with it: what that would put into the ledger. Of a DIR that holds a "
		"run.ifp, the output of a run, that archive is read. Nothing is written.",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.sections = sections,
	.section_count = IFP_ARRAY_SIZE(sections),
	.options_anywhere = true,
};

/* What is found goes to the standard output at once, or into a document. */
struct check {
	cJSON *document; /* NULL: text */
	uint64_t findings;
};

/* A path on one line, as one word. */
static void print_path(const char *path)
{
	IFP_CLEANUP_BUF struct ifp_buf word = {0};

	ifp_buf_append_shell_word(&word, path);
	printf("%.*s: ", (int)word.len_bytes, (const char *)word.data);
}

static cJSON *array_of(cJSON *object, const char *name)
{
	cJSON *array = cJSON_GetObjectItemCaseSensitive(object, name);

	return array ? array : cJSON_AddArrayToObject(object, name);
}

/* Begins with a file; NULL where text is printed, whose line is begun. */
static cJSON *begin_file(struct check *check, const char *path, const char *kind)
{
	IFP_CLEANUP_FREE char *utf8 = NULL;
	cJSON *file;

	if (!check->document) {
		print_path(path);
		printf("%s", kind);
		return NULL;
	}
	file = cJSON_CreateObject();
	utf8 = ifp_import_as_utf8(path);
	cJSON_AddStringToObject(file, "path", utf8 ? utf8 : "");
	cJSON_AddStringToObject(file, "kind", kind);
	cJSON_AddArrayToObject(file, "notes");
	cJSON_AddItemToArray(array_of(check->document, "files"), file);
	return file;
}

/* path: NULL = of no file in particular. file: of begin_file(). */
static void tell(
	struct check *check, cJSON *file, const char *path, const struct ifp_import_note *note)
{
	cJSON *item;

	check->findings += note->fault;
	if (!check->document) {
		if (path)
			print_path(path);
		if (note->what)
			printf("%s: ", note->what);
		if (note->count)
			printf("%" PRId64 " ", note->count);
		printf("%s%s\n", note->why, note->fault ? "" : " (no fault)");
		return;
	}
	item = cJSON_CreateObject();
	if (note->what)
		cJSON_AddStringToObject(item, "what", note->what);
	cJSON_AddNumberToObject(item, "count", (double)note->count);
	cJSON_AddBoolToObject(item, "fault", note->fault);
	cJSON_AddStringToObject(item, "why", note->why);
	cJSON_AddItemToArray(array_of(file ? file : check->document, "notes"), item);
}

static void check_archive(struct check *check, const char *path)
{
	struct ifp_import_note note = {.what = "archive-damaged", .fault = true};
	struct ifp_check_archive found;
	cJSON *file = begin_file(check, path, "archive");
	char why[1024];

	note.why = why;
	if (ifp_check_archive(path, &found) < 0) {
		ifp_error_text(why, sizeof(why));
		ifp_error_clear();
		if (!file)
			puts(", damaged");
		tell(check, file, path, &note);
		return;
	}
	if (file) {
		cJSON_AddNumberToObject(file, "frames", (double)found.frames);
		cJSON_AddNumberToObject(file, "events", (double)found.events);
		cJSON_AddBoolToObject(file, "index", !found.index_missing);
	} else {
		printf(", %" PRIu64 " frame%s, %" PRIu64 " event%s%s\n", found.frames,
			found.frames == 1 ? "" : "s", found.events, found.events == 1 ? "" : "s",
			found.index_missing ? ", no index (its writer was killed)" : "");
	}
	if (found.damaged_bytes) {
		note.count = (int64_t)found.damaged_places;
		snprintf(why, sizeof(why), "damaged: %" PRIu64 " bytes are in no frame",
			found.damaged_bytes);
		tell(check, file, path, &note);
	}
	if (found.bad_frames) {
		note.count = (int64_t)found.bad_frames;
		snprintf(why, sizeof(why), "damaged: frames cannot be decoded");
		tell(check, file, path, &note);
	}
}

static void tell_trace(struct check *check, const struct ifp_import_file *trace)
{
	cJSON *file = begin_file(check, trace->path, "trace");

	if (file) {
		cJSON_AddNumberToObject(file, "elements", (double)trace->elements);
		cJSON_AddNumberToObject(file, "events", (double)trace->events);
		cJSON_AddNumberToObject(file, "left_out", (double)trace->left_out);
		cJSON_AddNumberToObject(file, "json_bytes", (double)trace->json_bytes);
		cJSON_AddNumberToObject(file, "lost_bytes", (double)trace->lost_bytes);
		cJSON_AddNumberToObject(file, "unread_bytes", (double)trace->unread_bytes);
	} else {
		printf(", %" PRIu64 " event%s\n", trace->events, trace->events == 1 ? "" : "s");
	}
	for (uint32_t i = 0; i < trace->notes.count; i++)
		tell(check, file, trace->path, &trace->notes.items[i]);
}

/* Traces are read as they are to be merged. */
static int check_traces(struct check *check, char *const *paths, size_t count)
{
	IFP_CLEANUP_IMPORT struct ifp_import import = IFP_IMPORT_EMPTY;
	struct ifp_merge_progress progress;
	const struct ifp_import_options how = {
		.in_order = true, .progress = ifp_merge_progress_show, .context = &progress};
	int err = ifp_import_find_files(&import, &how, paths, count);

	if (err == -EINVAL && import.notes.count) {
		ifp_error_clear();
		err = 0;
	}
	if (!err && import.file_count) {
		ifp_merge_progress_start(&progress);
		err = ifp_import_read_files(&import, &how);
		ifp_merge_progress_end(&progress);
	}
	if (err)
		return err;
	for (uint32_t i = 0; i < import.file_count; i++)
		tell_trace(check, &import.files[i]);
	for (uint32_t i = 0; i < import.notes.count; i++)
		tell(check, NULL, NULL, &import.notes.items[i]);
	return 0;
}

/* The archive that the user names: itself, or by the output of a run that holds it. NULL: none. */
static char *archive_of(const char *path)
{
	IFP_CLEANUP_FREE char *inside = NULL;

	if (ifp_check_is_archive(path))
		return strdup(path);
	if (asprintf(&inside, "%s/run.ifp", path) < 0)
		inside = NULL;
	return inside && ifp_check_is_archive(inside) ? IFP_TAKE_PTR(inside) : NULL;
}

/* In the order of the arguments; traces that stand together are read at the same time. */
static int check_all(struct check *check, const struct ifp_arguments *arguments)
{
	size_t first = 0;
	int err = 0;

	for (size_t i = 0; i <= arguments->count && !err; i++) {
		IFP_CLEANUP_FREE char *archive =
			i < arguments->count ? archive_of(arguments->items[i]) : NULL;

		if (i < arguments->count && !archive)
			continue;
		if (i > first)
			err = check_traces(check, arguments->items + first, i - first);
		if (!err && archive)
			check_archive(check, archive);
		first = i + 1;
	}
	return err;
}

static int print_document(const cJSON *document)
{
	char *text = cJSON_Print(document);

	if (!text)
		return ifp_fail(-ENOMEM, "no memory for the result");
	puts(text);
	cJSON_free(text);
	return 0;
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	IFP_CLEANUP_DOCUMENT cJSON *document = v->json ? cJSON_CreateObject() : NULL;
	struct check check = {.document = document};
	int err;

	if (v->json && !document)
		return ifp_fail(-ENOMEM, "no memory for the result");
	if (document) {
		cJSON_AddArrayToObject(document, "files");
		cJSON_AddArrayToObject(document, "notes");
	}
	err = check_all(&check, arguments);
	if (!err && document) {
		cJSON_AddNumberToObject(document, "findings", (double)check.findings);
		err = print_document(document);
	}
	if (err)
		return err;
	return check.findings ? IFP_EXIT_FAILED : IFP_EXIT_OK;
}

const struct ifp_verb ifp_verb_check = {
	.command = &command,
	.values_bytes = sizeof(struct values),
	.min_arguments = 1,
	.max_arguments = SIZE_MAX,
	.run = run,
};
