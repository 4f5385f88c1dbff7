/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/outputs.h"

#include "collector/report/report.h"
#include "collector/store/run.h"
#include "collector/timeline/timeline.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"
#include "trace/archive/frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void add_line(cJSON *lines, const char *text)
{
	cJSON_AddItemToArray(lines, cJSON_CreateString(text));
}

/* How many events are left out for their times, beyond those that rows of the import tell of. */
static int64_t misplaced(const struct ifp_run *run)
{
	int64_t count = 0;

	for (uint32_t i = 0; i < ifp_run_ledger_count(run); i++) {
		const struct ifp_ledger_row *row = ifp_run_ledger(run, i);

		if (!strcmp(row->what, "trace-misplaced"))
			count -= row->count;
		else if (strstr(row->why, IFP_TIMELINE_MISPLACED))
			count += row->count;
	}
	return count;
}

/*
 * What a user should know at once. How the drawn files differ from the archive, which holds all, is
 * for those who read the report, but for events that no budget brings back.
 */
static bool worth_a_line(const struct ifp_run *run, const struct ifp_ledger_row *row)
{
	if (!strncmp(row->what, "timeline-", strlen("timeline-")))
		return strstr(row->why, IFP_TIMELINE_CROWDED) ||
		       (strstr(row->why, IFP_TIMELINE_MISPLACED) && misplaced(run) > 0);
	return strcmp(row->what, "window-cut") != 0;
}

static void add_ledger(cJSON *lines, const struct ifp_run *run)
{
	IFP_CLEANUP_BUF struct ifp_buf line = {0};
	const struct ifp_ledger_row *row;
	uint32_t next = 0, told = 0;
	char text[80];

	while ((row = ifp_report_ledger_group(run, &next, &line))) {
		ifp_buf_append_u8(&line, 0);
		if (worth_a_line(run, row) && !ifp_buf_status(&line) &&
			told++ < IFP_OUTPUTS_MAX_LINES)
			add_line(lines, (const char *)line.data);
		ifp_buf_clear(&line);
	}
	if (told <= IFP_OUTPUTS_MAX_LINES)
		return;
	snprintf(text, sizeof(text), "%" PRIu32 " more lines are in report.txt",
		told - IFP_OUTPUTS_MAX_LINES);
	add_line(lines, text);
}

static cJSON *add_place(cJSON *files, const char *path, uint64_t bytes)
{
	cJSON *item = cJSON_CreateObject();

	cJSON_AddStringToObject(item, "path", path);
	cJSON_AddNumberToObject(item, "bytes", (double)bytes);
	cJSON_AddItemToArray(files, item);
	return item;
}

/* Files are told as they lie on the disk; one that is not there is not told. */
static void add_file(cJSON *files, const char *path)
{
	struct stat st;

	if (!stat(path, &st))
		add_place(files, path, (uint64_t)st.st_size);
}

static void add_file_in(cJSON *files, const char *directory, const char *name)
{
	IFP_CLEANUP_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		path = NULL;
	else
		add_file(files, path);
}

static void add_merged(cJSON *files, const struct ifp_timeline_file *file)
{
	cJSON *item = add_place(files, file->path, file->bytes);

	cJSON_AddNumberToObject(item, "json_bytes", (double)file->json_bytes);
	cJSON_AddNumberToObject(item, "events", (double)file->shown.events);
	cJSON_AddNumberToObject(item, "recorded_events", (double)file->shown.recorded);
}

static size_t directory_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* Files of ranks in the directory of the first one, all in one line: there may be a thousand. */
static uint32_t add_ranks(cJSON *files, const struct ifp_timeline_file *first, uint32_t count)
{
	size_t len_bytes = directory_bytes(first->path);
	IFP_CLEANUP_FREE char *directory = strndup(first->path, len_bytes);
	uint64_t bytes = 0;
	uint32_t n = 0;
	struct stat st;

	for (; n < count && first[n].rank != IFP_FRAME_NO_RANK &&
		directory_bytes(first[n].path) == len_bytes &&
		!strncmp(first[n].path, first->path, len_bytes);
		n++)
		bytes += stat(first[n].path, &st) ? 0 : (uint64_t)st.st_size;
	if (directory)
		cJSON_AddNumberToObject(add_place(files, directory, bytes), "files", n);
	return n;
}

static void add_drawn(cJSON *files, const struct ifp_timeline_result *result)
{
	uint32_t i = 0;

	while (i < result->count) {
		if (result->files[i].rank == IFP_FRAME_NO_RANK)
			add_merged(files, &result->files[i++]);
		else
			i += add_ranks(files, &result->files[i], result->count - i);
	}
}

/* How to look at what was drawn. */
static void add_command(cJSON *verdict, const char *output)
{
	IFP_CLEANUP_BUF struct ifp_buf command = {0};

	ifp_buf_append_text(&command, "tensorboard --logdir ");
	ifp_buf_append_shell_word(&command, output);
	ifp_buf_append_u8(&command, '\0');
	if (!command.failed)
		cJSON_AddStringToObject(verdict, "command", (const char *)command.data);
}

static void draw_timeline(struct ifp_run *run, const char *output,
	const struct ifp_timeline_wish *wish, cJSON *verdict)
{
	cJSON *lines = cJSON_GetObjectItemCaseSensitive(verdict, "lines");
	cJSON *files = cJSON_GetObjectItemCaseSensitive(verdict, "files");
	IFP_CLEANUP(ifp_timeline_result_free) struct ifp_timeline_result result = {0};
	char cause[800], text[1024];

	if (ifp_timeline_draw(run, output, wish, &result)) {
		ifp_error_text(cause, sizeof(cause));
		ifp_log_chain(IFP_LOG_ERROR);
		snprintf(text, sizeof(text), "the timeline was not drawn: %s", cause);
		add_line(lines, text);
		cJSON_AddBoolToObject(verdict, "undrawn", true);
		return;
	}
	add_drawn(files, &result);
	if (ifp_timeline_for_tensorboard(&result))
		add_command(verdict, output);
	if (result.refused) {
		ifp_log_error("%s", result.refused);
		add_line(lines, result.refused);
		cJSON_AddBoolToObject(verdict, "undrawn", true);
	}
	for (uint32_t i = 0; i < result.count; i++) {
		const struct ifp_timeline_file *file = &result.files[i];

		if (!file->shown.text[0])
			continue;
		snprintf(text, sizeof(text), "%s: %s", file->label, file->shown.text);
		add_line(lines, text);
	}
}

int ifp_outputs_draw(const char *archive, const char *output,
	const struct ifp_timeline_limits *limits, cJSON *verdict)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = NULL;
	IFP_CLEANUP_REPORT struct ifp_report report = {0};
	cJSON *lines = cJSON_AddArrayToObject(verdict, "lines");
	cJSON *files = cJSON_AddArrayToObject(verdict, "files");
	struct ifp_timeline_wish wish = {.limits = *limits};
	char cause[800] = "";
	int report_err, err = ifp_run_open(archive, &run);

	if (err)
		return err;
	add_file(files, archive);
	/* Before the timeline, which shows the ranks of the verdict before others. */
	report_err = ifp_report_make(run, &report);
	ifp_error_text(cause, sizeof(cause));
	ifp_error_clear(); /* drawing may fail with a cause of its own */
	wish.first_ranks = report.first_ranks;
	wish.first_rank_count = report.first_rank_count;
	draw_timeline(run, output, &wish, verdict);
	if (report_err)
		return ifp_fail(report_err, "%s", cause);
	err = ifp_report_write(&report, output);
	if (err)
		return err;
	add_file_in(files, output, "report.txt");
	add_file_in(files, output, "report.json");
	add_ledger(lines, run);
	cJSON_AddStringToObject(verdict, "text", report.headline);
	return 0;
}
