/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/timeline.h"

#include "collector/timeline/picture.h"
#include "collector/timeline/ranks.h"
#include "collector/timeline/sink_chrome.h"
#include "collector/timeline/sink_perfetto.h"
#include "collector/timeline/sink_xplane.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/process.h"
#include "trace/wire/document.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERFETTO_FILE "/perfetto/run.pftrace.gz"

static int make_directory(const char *path)
{
	if (mkdir(path, 0777) && errno != EEXIST)
		return ifp_fail_errno("create %s", path);
	return 0;
}

/* The plug-in takes files for one span when the digits before the suffix are equal. */
static int64_t span_ms(const struct ifp_run *run)
{
	uint64_t ns = ifp_document_get_count(ifp_run_document(run), "started_realtime_ns");

	return (int64_t)(ns / IFP_NS_PER_MS);
}

int ifp_timeline_result_add(
	struct ifp_timeline_result *result, const struct ifp_timeline_file *file)
{
	struct ifp_timeline_file *files =
		reallocarray(result->files, result->count + 1, sizeof(*files));

	if (!files)
		return ifp_fail(-ENOMEM, "out of memory for %u files", result->count + 1);
	result->files = files;
	files[result->count++] = *file;
	return 0;
}

bool ifp_timeline_for_tensorboard(const struct ifp_timeline_result *result)
{
	for (uint32_t i = 0; i < result->count; i++)
		if (!strstr(result->files[i].path, PERFETTO_FILE))
			return true;
	return false;
}

static int account_refused(struct ifp_run *run, const char *why)
{
	struct ifp_ledger_row row = {
		.rank = IFP_FRAME_NO_RANK, .what = "timeline-refused", .why = why};

	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++)
		row.count += (int64_t)ifp_run_rank(run, i)->event_count;
	return ifp_run_ledger_add(run, &row);
}

/* Whether a drawing has left something in the directory that the label names. */
static bool holds_earlier(const char *output_dir, const char *label)
{
	IFP_CLEANUP_FREE char *path = NULL;
	const struct dirent *entry;
	bool found = false;
	DIR *directory;

	if (asprintf(&path, "%s/%s", output_dir, label) < 0) {
		path = NULL;
		return false;
	}
	directory = opendir(path);
	while (directory && !found && (entry = readdir(directory)))
		found = entry->d_name[0] != '.';
	if (directory)
		closedir(directory);
	return found;
}

/* Takes the cause of a failure as the reason why this part is not there. */
static int refuse(struct ifp_run *run, const char *output_dir, const char *label,
	struct ifp_timeline_result *result)
{
	IFP_CLEANUP_FREE char *why = NULL, *before = IFP_TAKE_PTR(result->refused);
	bool earlier = holds_earlier(output_dir, label);
	char cause[512];

	ifp_error_text(cause, sizeof(cause));
	ifp_error_clear();
	if (asprintf(&why, "%s was not drawn: %s%s", label, cause,
		    earlier ? " (what is in it is of an earlier drawing)" : "") < 0) {
		why = NULL;
		return ifp_fail(-ENOMEM, "out of memory for a text");
	}
	if (asprintf(&result->refused, "%s%s%s", before ? before : "", before ? "; " : "", why) <
		0) {
		result->refused = NULL;
		return ifp_fail(-ENOMEM, "out of memory for a text");
	}
	return account_refused(run, why);
}

/* Closes or abandons the sink. */
static int draw_into(struct ifp_run *run, const char *output_dir, struct ifp_sink *sink,
	struct ifp_timeline_result *result)
{
	const char *label = sink->label;
	int err = ifp_picture_draw(run, sink);

	if (!err)
		return sink->ops->close(sink, result);
	sink->ops->abandon(sink);
	return err == -E2BIG ? refuse(run, output_dir, label, result) : err;
}

/* Of a timeline with all ranks. */
static struct ifp_budget budget_of(const struct ifp_timeline_limits *limits)
{
	return (struct ifp_budget){(uint64_t)limits->merged_bytes, (uint64_t)limits->merged_events};
}

static int draw_merged(struct ifp_run *run, const char *output_dir,
	const struct ifp_timeline_limits *limits, struct ifp_timeline_result *result)
{
	const struct ifp_budget budget = budget_of(limits);
	IFP_CLEANUP_BUF struct ifp_buf path = {0};
	struct ifp_sink *sink;
	int err;

	ifp_buf_printf(
		&path, "%s/merged/all_0.%" PRId64 IFP_TIMELINE_SUFFIX, output_dir, span_ms(run));
	ifp_buf_append_u8(&path, 0);
	err = ifp_buf_status(&path);
	if (!err)
		err = ifp_sink_chrome_open((const char *)path.data, run, &budget, &sink);
	return err ? err : draw_into(run, output_dir, sink, result);
}

static int make_below(const char *output_dir, const char *name)
{
	IFP_CLEANUP_BUF struct ifp_buf path = {0};
	int err;

	ifp_buf_printf(&path, "%s/%s", output_dir, name);
	ifp_buf_append_u8(&path, 0);
	err = ifp_buf_status(&path);
	return err ? err : make_directory((const char *)path.data);
}

static int draw_pytorch(struct ifp_run *run, const char *output_dir,
	const struct ifp_timeline_wish *wish, struct ifp_timeline_result *result)
{
	int err = make_below(output_dir, "merged");

	if (!err)
		err = make_below(output_dir, "ranks");
	if (!err)
		err = draw_merged(run, output_dir, &wish->limits, result);
	return err ? err : ifp_ranks_draw(run, output_dir, span_ms(run), wish, result);
}

static int draw_xplane(struct ifp_run *run, const char *output_dir,
	const struct ifp_timeline_wish *wish, struct ifp_timeline_result *result)
{
	struct ifp_sink *sink;
	int err = ifp_sink_xplane_open(run, output_dir, &sink);

	(void)wish;
	return err ? err : draw_into(run, output_dir, sink, result);
}

static int draw_perfetto(struct ifp_run *run, const char *output_dir,
	const struct ifp_timeline_wish *wish, struct ifp_timeline_result *result)
{
	IFP_CLEANUP_BUF struct ifp_buf path = {0};
	struct ifp_sink *sink;
	const struct ifp_budget budget = budget_of(&wish->limits);
	int err = make_below(output_dir, "perfetto");

	ifp_buf_printf(&path, "%s" PERFETTO_FILE, output_dir);
	ifp_buf_append_u8(&path, 0);
	if (!err)
		err = ifp_buf_status(&path);
	if (!err)
		err = ifp_sink_perfetto_open(run, (const char *)path.data, &budget, &sink);
	return err ? err : draw_into(run, output_dir, sink, result);
}

/* A new format is a row here and a word in the help of --formats (core/timeline_limits.h). */
static const struct format {
	const char *name;
	const char *labels[2]; /* in front of what the ledger says of its files */
	int (*draw)(struct ifp_run *run, const char *output_dir,
		const struct ifp_timeline_wish *wish, struct ifp_timeline_result *result);
} formats[] = {
	{"pytorch", {"merged/", "ranks/"}, draw_pytorch},
	{"xplane", {"plugins/"}, draw_xplane},
	{"perfetto", {"perfetto/"}, draw_perfetto},
};

static int unknown_format(struct ifp_str name)
{
	IFP_CLEANUP_BUF struct ifp_buf names = {0};

	for (size_t i = 0; i < IFP_ARRAY_SIZE(formats); i++)
		ifp_buf_printf(&names, "%s%s", i ? ", " : "", formats[i].name);
	ifp_buf_append_u8(&names, 0);
	return ifp_fail(-EINVAL, "\"" IFP_STR_FORMAT "\" is no format of a timeline; there are %s",
		IFP_STR_ARGS(name), names.failed ? "others" : (const char *)names.data);
}

/* A bit for each format that the list names, by its place in the table. */
static int choose(const char *list, uint32_t *chosen)
{
	uint32_t bits = 0;

	if (!list || !*list)
		list = IFP_TIMELINE_FORMATS_DEFAULT;
	for (;;) {
		const struct ifp_str name = {list, (uint32_t)strcspn(list, ",")};
		size_t i = 0;

		while (i < IFP_ARRAY_SIZE(formats) && !ifp_str_is(name, formats[i].name))
			i++;
		if (i == IFP_ARRAY_SIZE(formats))
			return unknown_format(name);
		bits |= UINT32_C(1) << i;
		if (!list[name.len_bytes])
			break;
		list += name.len_bytes + 1;
	}
	*chosen = bits;
	return 0;
}

static bool is_labelled(const struct format *format, const char *why)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(format->labels); i++)
		if (format->labels[i] &&
			!strncmp(why, format->labels[i], strlen(format->labels[i])))
			return true;
	return false;
}

bool ifp_timeline_has_row(
	const struct ifp_timeline_limits *limits, const struct ifp_ledger_row *row)
{
	uint32_t chosen = UINT32_MAX;

	if (strncmp(row->what, "timeline-", strlen("timeline-")) != 0 &&
		strcmp(row->what, "ranks-reduced") != 0)
		return false;
	if (limits && choose(limits->formats, &chosen))
		return false;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(formats); i++)
		if (chosen & UINT32_C(1) << i && is_labelled(&formats[i], row->why))
			return true;
	return false;
}

int ifp_timeline_check(const struct ifp_timeline_limits *limits)
{
	uint32_t chosen;

	return choose(limits->formats, &chosen);
}

/* What was made for files that are not there. That ranks/ has to be empty is told of it. */
static void remove_empty(const char *output_dir, bool failed)
{
	static const char *const names[] = {"merged", "perfetto", "ranks"};

	for (size_t i = 0; i < (failed ? 3 : 2); i++) {
		IFP_CLEANUP_FREE char *path = NULL;

		if (asprintf(&path, "%s/%s", output_dir, names[i]) < 0)
			path = NULL;
		else
			rmdir(path);
	}
}

int ifp_timeline_draw(struct ifp_run *run, const char *output_dir,
	const struct ifp_timeline_wish *wish, struct ifp_timeline_result *result)
{
	IFP_CLEANUP(ifp_timeline_result_free) struct ifp_timeline_result drawn = {0};
	uint32_t chosen = 0;
	int err = choose(wish->limits.formats, &chosen);

	ifp_process_keep_memory();
	if (!err)
		err = make_directory(output_dir);
	for (size_t i = 0; i < IFP_ARRAY_SIZE(formats) && !err; i++)
		if (chosen & UINT32_C(1) << i)
			err = formats[i].draw(run, output_dir, wish, &drawn);
	remove_empty(output_dir, err != 0);
	if (err)
		return ifp_fail(err, "draw the timeline into %s", output_dir);
	*result = drawn;
	drawn = (struct ifp_timeline_result){0};
	return 0;
}

void ifp_timeline_result_free(struct ifp_timeline_result *result)
{
	for (uint32_t i = 0; i < result->count; i++)
		free(result->files[i].path);
	free(result->files);
	free(result->refused);
	*result = (struct ifp_timeline_result){0};
}
