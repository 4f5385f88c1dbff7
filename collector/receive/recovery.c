/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/receive/recovery.h"

#include "collector/receive/roster.h"
#include "core/buf.h"
#include "core/error.h"
#include "trace/archive/archive.h"
#include "trace/archive/clock_samples.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

void ifp_recovery_free(struct ifp_recovery *recovery)
{
	for (uint32_t i = 0; i < recovery->world; i++) {
		cJSON_Delete(recovery->hellos ? recovery->hellos[i] : NULL);
		cJSON_Delete(recovery->ends ? recovery->ends[i] : NULL);
	}
	free(recovery->hellos);
	free(recovery->ends);
	*recovery = (struct ifp_recovery){0};
}

static int take_run(struct ifp_recovery *recovery, const cJSON *document)
{
	const char *run_id = ifp_document_get_text(document, "run_id");
	const char *job = ifp_document_get_text(document, "job");
	uint64_t world = ifp_document_get_count(document, "world");
	int end = 0;

	if (!run_id || sscanf(run_id, "%16" SCNx64 "%n", &recovery->run_id, &end) != 1 ||
		run_id[end] || !job || !world || world > IFP_ROSTER_MAX_WORLD)
		return ifp_fail(-EBADMSG, "it holds no run that a collector has begun");
	if (ifp_document_get_text(document, "clock_plan"))
		recovery->called = true;
	if (recovery->found)
		return 0;
	snprintf(recovery->job, sizeof(recovery->job), "%s", job);
	recovery->hellos = calloc(world, sizeof(*recovery->hellos));
	recovery->ends = calloc(world, sizeof(*recovery->ends));
	if (!recovery->hellos || !recovery->ends)
		return ifp_fail(-ENOMEM, "out of memory for %" PRIu64 " ranks", world);
	recovery->world = (uint32_t)world;
	recovery->found = true;
	return 0;
}

static void replace(cJSON **slot, cJSON **document)
{
	cJSON_Delete(*slot);
	*slot = IFP_TAKE_PTR(*document);
}

static int take_document(
	struct ifp_recovery *recovery, const struct ifp_frame *frame, cJSON **document)
{
	uint64_t made;

	if (frame->type == IFP_FRAME_RUN)
		return take_run(recovery, *document);
	if (!recovery->found)
		return ifp_fail(-EBADMSG, "it holds no run that a collector has begun");
	if (frame->rank >= recovery->world)
		return 0;
	if (frame->type == IFP_FRAME_RANK) {
		replace(&recovery->hellos[frame->rank], document);
	} else if (frame->type == IFP_FRAME_END) {
		replace(&recovery->ends[frame->rank], document);
	} else if (frame->type == IFP_FRAME_WINDOW) {
		made = ifp_document_get_count(*document, "window") + 1;
		if (made > recovery->windows_made && made < UINT32_MAX)
			recovery->windows_made = (uint32_t)made;
	}
	return 0;
}

/* Edges are the collector's own; a damaged frame costs that frame and no other. */
static void take_edges(struct ifp_recovery *recovery, const struct ifp_frame *frame)
{
	IFP_CLEANUP(ifp_clock_samples_free) struct ifp_clock_samples samples = {0};

	if (ifp_clock_samples_decode(frame->payload, frame->payload_bytes, &samples)) {
		ifp_error_clear();
		return;
	}
	recovery->edges += samples.edge_count;
	for (uint32_t i = 0; i < samples.edge_count; i++)
		if (samples.edges[i].epoch >= recovery->epochs_made &&
			samples.edges[i].epoch < UINT32_MAX / 2)
			recovery->epochs_made = samples.edges[i].epoch + 1;
}

static int read_frame(struct ifp_archive_reader *reader, uint64_t i, struct ifp_buf *buf,
	struct ifp_recovery *recovery)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = NULL;
	struct ifp_frame frame;

	if (ifp_archive_reader_load(reader, i, buf, &frame)) {
		ifp_error_clear(); /* a damaged frame costs that frame and no other */
		return 0;
	}
	if (frame.type == IFP_FRAME_CLOCK) {
		take_edges(recovery, &frame);
		return 0;
	}
	document = ifp_document_parse(frame.payload, frame.payload_bytes);
	return document ? take_document(recovery, &frame, &document) : 0;
}

static bool is_wanted(const struct ifp_frame *frame)
{
	return frame->type == IFP_FRAME_RUN || frame->type == IFP_FRAME_RANK ||
	       frame->type == IFP_FRAME_END || frame->type == IFP_FRAME_WINDOW ||
	       (frame->type == IFP_FRAME_CLOCK && !frame->sequence);
}

int ifp_recovery_read(const char *path, struct ifp_recovery *out)
{
	IFP_CLEANUP(ifp_archive_reader_close) struct ifp_archive_reader *reader = NULL;
	IFP_CLEANUP_RECOVERY struct ifp_recovery recovery = {0};
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct stat st;
	int err;

	if (stat(path, &st) || !st.st_size) {
		*out = (struct ifp_recovery){0};
		return 0;
	}
	err = ifp_archive_reader_open(path, &reader);
	for (uint64_t i = 0; !err && i < ifp_archive_reader_count(reader); i++)
		if (is_wanted(ifp_archive_reader_frame(reader, i)))
			err = read_frame(reader, i, &buf, &recovery);
	if (err)
		return ifp_fail(err, "go on with the archive %s", path);
	*out = recovery;
	recovery = (struct ifp_recovery){0};
	return 0;
}
