/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/timeline.h"

#include "collector/timeline/picture.h"
#include "collector/timeline/ranks.h"
#include "collector/timeline/sink_chrome.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

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

static int draw_merged(struct ifp_run *run, const char *output_dir,
	const struct ifp_timeline_limits *limits, struct ifp_timeline_result *result)
{
	const struct ifp_budget budget = {
		(uint64_t)limits->merged_bytes, (uint64_t)limits->merged_events};
	IFP_CLEANUP_BUF struct ifp_buf path = {0};
	struct ifp_sink *sink;
	int err;

	ifp_buf_printf(
		&path, "%s/merged/all_0.%" PRId64 IFP_TIMELINE_SUFFIX, output_dir, span_ms(run));
	ifp_buf_append_u8(&path, 0);
	err = ifp_buf_status(&path);
	if (!err)
		err = ifp_sink_chrome_open((const char *)path.data, run, &budget, &sink);
	if (err)
		return err;
	err = ifp_picture_draw(run, sink);
	if (!err)
		return sink->ops->close(sink, result);
	sink->ops->abandon(sink);
	return err;
}

static int make_directories(const char *output_dir)
{
	IFP_CLEANUP_BUF struct ifp_buf path = {0};
	int err = make_directory(output_dir);

	for (int i = 0; i < 2 && !err; i++) {
		ifp_buf_clear(&path);
		ifp_buf_printf(&path, "%s/%s", output_dir, i ? "ranks" : "merged");
		ifp_buf_append_u8(&path, 0);
		err = ifp_buf_status(&path);
		if (!err)
			err = make_directory((const char *)path.data);
	}
	return err;
}

int ifp_timeline_draw(struct ifp_run *run, const char *output_dir,
	const struct ifp_timeline_wish *wish, struct ifp_timeline_result *result)
{
	IFP_CLEANUP(ifp_timeline_result_free) struct ifp_timeline_result drawn = {0};
	int err = make_directories(output_dir);

	if (!err)
		err = draw_merged(run, output_dir, &wish->limits, &drawn);
	if (!err)
		err = ifp_ranks_draw(run, output_dir, span_ms(run), wish, &drawn);
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
	*result = (struct ifp_timeline_result){0};
}
