/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/merge_result.h"

#include "trace/wire/document.h"
#include "core/error.h"
#include "core/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_LINES 20u /* of faults; the report has them all */

/* The notes that are faults, by what they are about. */
static uint32_t warn_faults(const struct ifp_import_notes *notes, const char *name, uint32_t told)
{
	for (uint32_t i = 0; i < notes->count; i++) {
		const struct ifp_import_note *note = &notes->items[i];

		if (!note->fault || told++ >= MAX_LINES)
			continue;
		if (note->count && note->what)
			ifp_log_warn("%s%s%s %" PRId64 ": %s", name, *name ? ": " : "", note->what,
				note->count, note->why);
		else
			ifp_log_warn("%s%s%s", name, *name ? ": " : "", note->why);
	}
	return told;
}

void ifp_merge_warn(const struct ifp_import *import)
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

static bool holds_fault(const struct ifp_import_notes *notes, const char *line)
{
	for (uint32_t i = 0; i < notes->count; i++)
		if (notes->items[i].fault && strstr(line, notes->items[i].why))
			return true;
	return false;
}

/* Whether a line repeats what there has been a warning of. */
static bool was_warned(const struct ifp_import *import, const char *line)
{
	bool found = holds_fault(&import->notes, line);

	for (uint32_t i = 0; i < import->file_count && !found; i++)
		found = holds_fault(&import->files[i].notes, line);
	return found;
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
	printf("%" PRIu64 " event%s of %" PRIu32 " rank%s\n", events, events == 1 ? "" : "s", ranks,
		ranks == 1 ? "" : "s");
	if (text)
		puts(text);
	/* What is not as it was recorded: what is folded, left out, or was changed. */
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(result, "lines"))
	{
		if (cJSON_IsString(item) && !was_warned(import, item->valuestring))
			puts(item->valuestring);
	}
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

void ifp_merge_print_failure(bool json)
{
	IFP_CLEANUP_DOCUMENT cJSON *result = cJSON_CreateObject();
	char text[2048];

	if (!json)
		return;
	cJSON_AddStringToObject(result, "error", ifp_error_text(text, sizeof(text)));
	print_json(result);
}

int ifp_merge_print(const struct ifp_import *import, cJSON *result, bool json)
{
	if (json) {
		add_sources(result, import);
		return print_json(result);
	}
	print_text(import, result);
	return 0;
}
