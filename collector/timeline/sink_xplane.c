/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/sink_xplane.h"

#include "collector/timeline/xplane_events.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Drawings of one run into one directory. */
#define MAX_DRAWINGS 10000

struct xplane {
	struct ifp_sink sink;
	struct ifp_run *run;
	char *parent;		     /* output_dir/plugins */
	char *directory;	     /* while it is drawn: xprof looks in another one */
	struct ifp_xplane_file file; /* of the rank that is being drawn */
	struct ifp_timeline_result done;
	uint64_t arrows; /* not drawn */
};

static struct xplane *xplane_of(struct ifp_sink *sink)
{
	return (struct xplane *)sink;
}

/* Finishes the file of the rank that has been drawn. */
static int end_rank(struct xplane *xplane)
{
	struct ifp_timeline_file file = {0};
	int err;

	if (!xplane->file.writer)
		return 0;
	err = ifp_xplane_file_close(&xplane->file, xplane->run, &file);
	if (err)
		return err;
	err = ifp_timeline_result_add(&xplane->done, &file);
	if (err) {
		unlink(file.path);
		free(file.path);
	}
	return err;
}

static void rank(struct ifp_sink *sink, const struct ifp_sink_rank *rank)
{
	struct xplane *xplane = xplane_of(sink);
	int err = end_rank(xplane);

	if (!err && rank->rank->map)
		err = ifp_xplane_file_open(&xplane->file, xplane->directory, rank);
	ifp_sink_keep(sink, err);
}

static void lane(struct ifp_sink *sink, const struct ifp_sink_lane *lane)
{
	if (!sink->err)
		ifp_xplane_file_lane(&xplane_of(sink)->file, lane);
}

static void slice(struct ifp_sink *sink, const struct ifp_sink_slice *slice)
{
	if (!sink->err)
		ifp_xplane_slice(&xplane_of(sink)->file, slice);
}

static void moment(struct ifp_sink *sink, const struct ifp_sink_moment *moment)
{
	if (!sink->err)
		ifp_xplane_moment(&xplane_of(sink)->file, moment);
}

/* xprof draws the arrows from launches to their work, by correlation_id, and no others. */
static void flow(struct ifp_sink *sink, const struct ifp_sink_flow *flow)
{
	xplane_of(sink)->arrows += !ifp_str_is(flow->category, "ac2g");
}

static void release(struct xplane *xplane)
{
	ifp_xplane_file_free(&xplane->file);
	ifp_timeline_result_free(&xplane->done);
	free(xplane->parent);
	free(xplane->directory);
	free(xplane);
}

/* Removes the directory in which the files were to be, and those around it where they are empty. */
static void remove_directories(struct xplane *xplane)
{
	IFP_CLEANUP_BUF struct ifp_buf path = {0};

	if (xplane->directory)
		rmdir(xplane->directory);
	if (!xplane->parent)
		return;
	ifp_buf_printf(&path, "%s/profile", xplane->parent);
	ifp_buf_append_u8(&path, 0);
	if (!path.failed)
		rmdir((const char *)path.data);
	rmdir(xplane->parent);
}

static void abandon(struct ifp_sink *sink)
{
	struct xplane *xplane = xplane_of(sink);

	for (uint32_t i = 0; i < xplane->done.count; i++)
		unlink(xplane->done.files[i].path);
	/* The writer's nameless files do not keep the directory from being removed. */
	remove_directories(xplane);
	release(xplane);
}

/* The start of the run as xprof writes it, in UTC: it sorts as text. */
static void append_start(struct ifp_buf *path, const struct ifp_run *run)
{
	uint64_t ns = ifp_document_get_count(ifp_run_document(run), "started_realtime_ns");
	time_t seconds = (time_t)(ns / IFP_NS_PER_S);
	struct tm parts = {0};
	char text[32];

	gmtime_r(&seconds, &parts);
	strftime(text, sizeof(text), "%Y_%m_%d_%H_%M_%S", &parts);
	ifp_buf_append_text(path, text);
}

static int account(const struct xplane *xplane)
{
	const struct ifp_ledger_row row = {IFP_FRAME_NO_RANK, "timeline-left-out",
		(int64_t)xplane->arrows,
		"plugins/profile/: arrows other than those from launches to their work"};

	return row.count ? ifp_run_ledger_add(xplane->run, &row) : 0;
}

/* Gives the directory its name, one that was not there before: *path, for text. */
static int publish(struct xplane *xplane, struct ifp_buf *path)
{
	size_t len_bytes;

	ifp_buf_printf(path, "%s/profile/", xplane->parent);
	append_start(path, xplane->run);
	len_bytes = path->len_bytes;
	for (unsigned int i = 1; i < MAX_DRAWINGS; i++) {
		path->len_bytes = len_bytes;
		if (i > 1)
			ifp_buf_printf(path, "-%u", i);
		ifp_buf_append_u8(path, 0);
		if (ifp_buf_status(path))
			return -ENOMEM;
		if (!rename(xplane->directory, (const char *)path->data))
			return 0;
		if (errno != EEXIST && errno != ENOTEMPTY)
			return ifp_fail_errno(
				"rename %s to %s", xplane->directory, (const char *)path->data);
	}
	return ifp_fail(-EEXIST, "create %s: there are too many already", (const char *)path->data);
}

/* The file as it is called now. */
static int hand_over(
	struct ifp_timeline_file *file, const char *directory, struct ifp_timeline_result *result)
{
	char *path;
	int err;

	if (asprintf(&path, "%s%s", directory, strrchr(file->path, '/')) < 0)
		return ifp_fail(-ENOMEM, "draw %s: out of memory", directory);
	free(file->path);
	file->path = path;
	err = ifp_timeline_result_add(result, file);
	if (!err)
		file->path = NULL;
	return err;
}

static int close_sink(struct ifp_sink *sink, struct ifp_timeline_result *result)
{
	IFP_CLEANUP_BUF struct ifp_buf path = {0};
	struct xplane *xplane = xplane_of(sink);
	int err = xplane->sink.err ? xplane->sink.err : end_rank(xplane);

	if (!err)
		err = account(xplane);
	if (!err)
		err = publish(xplane, &path);
	if (err) {
		abandon(sink);
		return err;
	}
	for (uint32_t i = 0; i < xplane->done.count && !err; i++)
		err = hand_over(&xplane->done.files[i], (const char *)path.data, result);
	release(xplane);
	return err;
}

static const struct ifp_sink_ops ops = {
	.rank = rank,
	.lane = lane,
	.slice = slice,
	.moment = moment,
	.flow = flow,
	.close = close_sink,
	.abandon = abandon,
};

/* A directory, the last part of its path of that name, that may be there already. */
static int make_directory(struct ifp_buf *path, const char *name)
{
	int err;

	ifp_buf_printf(path, "/%s", name);
	ifp_buf_append_u8(path, 0);
	err = ifp_buf_status(path);
	if (!err && mkdir((const char *)path->data, 0777) && errno != EEXIST)
		err = ifp_fail_errno("create %s", (const char *)path->data);
	path->len_bytes--;
	return err;
}

/* What is drawn gets its name when it is whole: xprof might look before. */
static int make_directories(struct xplane *xplane, const char *output_dir)
{
	IFP_CLEANUP_BUF struct ifp_buf path = {0};
	int err;

	ifp_buf_append_text(&path, output_dir);
	err = make_directory(&path, "plugins");
	if (!err)
		xplane->parent = strdup((const char *)path.data);
	if (!err)
		err = make_directory(&path, "profile");
	if (err)
		return err;
	if (!xplane->parent ||
		asprintf(&xplane->directory, "%s/.drawing-%d", xplane->parent, (int)getpid()) < 0) {
		xplane->directory = NULL;
		return ifp_fail(-ENOMEM, "draw %s: out of memory", output_dir);
	}
	if (mkdir(xplane->directory, 0777) && errno != EEXIST)
		return ifp_fail_errno("create %s", xplane->directory);
	return 0;
}

int ifp_sink_xplane_open(struct ifp_run *run, const char *output_dir, struct ifp_sink **out)
{
	struct xplane *xplane = calloc(1, sizeof(*xplane));
	int err;

	if (!xplane)
		return ifp_fail(-ENOMEM, "draw %s: out of memory", output_dir);
	xplane->sink = (struct ifp_sink){
		.ops = &ops,
		.label = "plugins/profile/",
		.label_of_all = "plugins/profile/",
		.no_folds = true,
	};
	xplane->run = run;
	err = make_directories(xplane, output_dir);
	if (err) {
		abandon(&xplane->sink);
		return err;
	}
	*out = &xplane->sink;
	return 0;
}
