/* SPDX-License-Identifier: Apache-2.0 */
/* infprof collect: adds to an archive what agents had to keep on disk. */
#include "cli/verb.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/log.h"
#include "trace/archive/archive.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct values {
	const char *output;
};

static const struct ifp_option options[] = {
	{.name = "output",
		.letter = 'o',
		.argument = "ARCHIVE|DIR",
		.environment = "",
		.doc = "The archive to add to; DIR means DIR/run.ifp. It is made when there is "
		       "none.",
		.type = IFP_OPTION_TEXT,
		.offset = offsetof(struct values, output)},
};

static const struct ifp_command command = {
	.name = "infprof collect",
	.synopsis = "SPOOL... -o ARCHIVE|DIR",
	.summary = "add what agents kept on disk to the archive of their run",
	.description = "When an agent cannot reach the collector, it keeps what it has recorded in "
		       "a spool file and prints its path. This command adds such files to the "
		       "archive. Frames that are there already are left out, so a file can be "
		       "added twice without harm. Files of another job are refused.",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.options_anywhere = true,
};

struct counts {
	uint64_t added;
	uint64_t already_there;
};

/* The job's name in the first document of this type; NULL when there is none. To be freed. */
static int read_job(const char *path, enum ifp_frame_type type, char **job)
{
	IFP_CLEANUP(ifp_archive_reader_close) struct ifp_archive_reader *reader = NULL;
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_frame frame;
	int err = ifp_archive_reader_open(path, &reader);

	if (err < 0)
		return err;
	for (uint64_t i = 0; i < ifp_archive_reader_count(reader); i++) {
		cJSON *document;
		const char *text;

		if (ifp_archive_reader_frame(reader, i)->type != type)
			continue;
		if (ifp_archive_reader_load(reader, i, &payload, &frame) < 0) {
			ifp_error_clear();
			continue;
		}
		document = ifp_document_parse(frame.payload, frame.payload_bytes);
		text = ifp_document_get_text(document, "job");
		*job = text ? strdup(text) : NULL;
		cJSON_Delete(document);
		return text && !*job ? ifp_fail(-ENOMEM, "read %s", path) : 0;
	}
	return 0;
}

/* -EINVAL when spool and archive are known to be of two jobs. */
static int check_job(const char *spool, const char *archive)
{
	IFP_CLEANUP_FREE char *of_archive = NULL;
	IFP_CLEANUP_FREE char *of_spool = NULL;
	int err = access(archive, F_OK) == 0 ? read_job(archive, IFP_FRAME_RUN, &of_archive) : 0;

	if (!err)
		err = read_job(spool, IFP_FRAME_RANK, &of_spool);
	if (err < 0)
		return err;
	if (of_archive && of_spool && strcmp(of_archive, of_spool) != 0)
		return ifp_fail(-EINVAL, "%s is of job %s, but %s is of job %s", spool, of_spool,
			archive, of_archive);
	return 0;
}

/* The collector's own frames (the run, ends of lost ranks) have no sequence to know them by. */
static bool wanted(const struct ifp_frame *frame, bool archive_is_new)
{
	return frame->type != IFP_FRAME_INDEX && (frame->sequence || archive_is_new);
}

static int add_frames(const char *path, struct ifp_archive_writer *writer, bool archive_is_new,
	struct counts *counts)
{
	IFP_CLEANUP(ifp_archive_reader_close) struct ifp_archive_reader *reader = NULL;
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_frame frame;
	int err = ifp_archive_reader_open(path, &reader);

	for (uint64_t i = 0; !err && i < ifp_archive_reader_count(reader); i++) {
		bool duplicate = false;

		if (!wanted(ifp_archive_reader_frame(reader, i), archive_is_new))
			continue;
		if (ifp_archive_reader_load(reader, i, &payload, &frame) < 0) {
			ifp_log_chain(IFP_LOG_WARN);
			continue;
		}
		err = ifp_archive_writer_append(writer, &frame, &duplicate);
		counts->already_there += !err && duplicate;
		counts->added += !err && !duplicate;
	}
	if (!err && ifp_archive_reader_damage(reader).damaged_bytes)
		ifp_log_warn("%s: %" PRIu64 " damaged bytes were left out", path,
			ifp_archive_reader_damage(reader).damaged_bytes);
	return err;
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	const struct values *v = values;
	IFP_CLEANUP(ifp_archive_writer_abandon) struct ifp_archive_writer *writer = NULL;
	struct counts counts = {0};
	char path[PATH_MAX];
	bool is_new = false;
	int err;

	if (!v->output)
		return ifp_verb_usage(&ifp_verb_collect, "-o ARCHIVE|DIR is missing");
	err = ifp_verb_archive(v->output, path);
	for (size_t i = 0; !err && i < arguments->count; i++)
		err = check_job(arguments->items[i], path);
	if (!err)
		err = ifp_archive_writer_open(path, false, &writer);
	if (!err)
		is_new = ifp_archive_writer_frame_count(writer) == 0;
	for (size_t i = 0; !err && i < arguments->count; i++)
		err = add_frames(arguments->items[i], writer, is_new, &counts);
	if (!err)
		err = ifp_archive_writer_close(&writer);
	if (err < 0)
		return err;
	printf("%s: added %" PRIu64 " frames, %" PRIu64 " were there already\n", path, counts.added,
		counts.already_there);
	return IFP_EXIT_OK;
}

const struct ifp_verb ifp_verb_collect = {
	.command = &command,
	.values_bytes = sizeof(struct values),
	.min_arguments = 1,
	.max_arguments = SIZE_MAX,
	.run = run,
};
