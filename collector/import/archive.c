/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The archive of an import: RUN, and for each rank in order RANK, CLOCK, its EVENTS and its LEDGER.
 * CLOCK has no readings, as nothing was measured: only the collectives by which ranks are aligned
 * when the archive is read. A rank without any has none.
 */
#include "collector/import/part.h"

#include "trace/wire/document.h"
#include "core/checksum.h"
#include "core/error.h"
#include "infprof/version.h"
#include "trace/archive/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As torch.profiler's handler for TensorBoard names files: HOST_PID.TIME.pt.trace.json */
#define HOST_PATTERN "^(.+)_([0-9]+)\\.[0-9]{10,}\\.pt\\.trace\\.json"
#define HOST_MAX_BYTES 255

struct writing {
	struct ifp_import *import;
	struct ifp_archive_writer *archive;
	struct ifp_buf payload;
	uint64_t sequence; /* of the current rank */
};

static int append(struct writing *writing, struct ifp_frame *frame)
{
	if (frame->rank != IFP_FRAME_NO_RANK)
		frame->sequence = ++writing->sequence;
	return ifp_archive_writer_append(writing->archive, frame, NULL);
}

static int append_document(
	struct writing *writing, enum ifp_frame_type type, uint32_t rank, const cJSON *document)
{
	char *text = cJSON_PrintUnformatted(document);
	struct ifp_frame frame = {.type = type, .rank = rank, .payload = (const uint8_t *)text};
	int err;

	if (!text)
		return ifp_fail(-ENOMEM, "no memory for a document of the archive");
	frame.payload_bytes = (uint32_t)strlen(text);
	err = append(writing, &frame);
	cJSON_free(text);
	return err;
}

/* A name for the run that depends on nothing but what was read. */
static void add_run_id(cJSON *document, const struct ifp_import *import)
{
	uint64_t sum = 0;
	char text[32];

	for (uint32_t i = 0; i < import->file_count; i++) {
		const struct ifp_import_file *file = &import->files[i];
		const uint64_t facts[] = {sum, ifp_checksum(file->name, strlen(file->name)),
			file->file_bytes, file->elements, file->rank};

		sum = ifp_checksum(facts, sizeof(facts));
	}
	snprintf(text, sizeof(text), "import-%016" PRIx64, sum);
	cJSON_AddStringToObject(document, "run_id", text);
}

static int64_t first_moment(const struct ifp_import *import)
{
	int64_t first_ns = INT64_MAX;

	for (uint32_t i = 0; i < import->file_count; i++)
		if (import->files[i].events && import->files[i].first_ns < first_ns)
			first_ns = import->files[i].first_ns;
	return first_ns == INT64_MAX ? 0 : first_ns;
}

static int write_run(struct writing *writing)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	const struct ifp_import *import = writing->import;

	add_run_id(document, import);
	cJSON_AddNumberToObject(document, "world", import->world);
	ifp_document_add_int64(document, "started_realtime_ns", first_moment(import));
	cJSON_AddStringToObject(document, "infprof", INFPROF_VERSION);
	cJSON_AddTrueToObject(document, "imported");
	return append_document(writing, IFP_FRAME_RUN, IFP_FRAME_NO_RANK, document);
}

/* Host and process where the file's name tells them. */
static void add_host(cJSON *document, const struct ifp_import_file *file)
{
	const char *slash = strrchr(file->label, '/');
	const char *name = slash ? slash + 1 : file->label;
	char host[HOST_MAX_BYTES + 1];
	regmatch_t groups[3];
	regex_t expression;

	if (regcomp(&expression, HOST_PATTERN, REG_EXTENDED))
		return;
	if (!regexec(&expression, name, 3, groups, 0) && groups[1].rm_eo <= HOST_MAX_BYTES) {
		snprintf(host, sizeof(host), "%.*s", (int)groups[1].rm_eo, name);
		cJSON_AddStringToObject(document, "host", host);
		ifp_document_add_int64(
			document, "child_pid", strtoll(name + groups[2].rm_so, NULL, 10));
	}
	regfree(&expression);
}

/* As text, so that readers of the document get it to the letter: numbers of any length as well. */
static void add_json(cJSON *document, const char *name, const char *json)
{
	if (json)
		cJSON_AddStringToObject(document, name, json);
}

static int write_rank(struct writing *writing, const struct ifp_import_file *file)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	cJSON *imported;

	cJSON_AddNumberToObject(document, "rank", file->rank);
	cJSON_AddNumberToObject(document, "world", writing->import->world);
	add_host(document, file);
	imported = cJSON_AddObjectToObject(document, "imported");
	cJSON_AddStringToObject(imported, "file", file->label);
	ifp_document_add_int64(imported, "bytes", (int64_t)file->file_bytes);
	ifp_document_add_int64(imported, "elements", (int64_t)file->elements);
	ifp_document_add_int64(imported, "events", (int64_t)file->events);
	ifp_document_add_int64(imported, "base_time_ns", file->base_time_ns);
	ifp_document_add_int64(imported, "first_ns", file->first_ns);
	ifp_document_add_int64(imported, "last_ns", file->last_ns);
	ifp_document_add_int64(imported, "drawn_first_ns", file->drawn_first_ns);
	ifp_document_add_int64(imported, "drawn_last_ns", file->drawn_last_ns);
	add_json(imported, "distributed_info", file->distributed_info);
	add_json(imported, "device_properties", file->device_properties);
	add_json(imported, "others", file->others);
	return append_document(writing, IFP_FRAME_RANK, file->rank, document);
}

static int write_collectives(struct writing *writing, const struct ifp_import_file *file)
{
	if (!file->samples.collective_count)
		return 0;
	ifp_buf_clear(&writing->payload);
	ifp_clock_samples_encode(&file->samples, &writing->payload);
	if (ifp_buf_status(&writing->payload))
		return -ENOMEM;
	return append(writing, &(struct ifp_frame){.type = IFP_FRAME_CLOCK,
				       .rank = file->rank,
				       .payload = writing->payload.data,
				       .payload_bytes = (uint32_t)writing->payload.len_bytes});
}

static int load_block(struct writing *writing, int spill, const struct ifp_import_block *block)
{
	size_t done = 0;

	ifp_buf_clear(&writing->payload);
	ifp_buf_reserve(&writing->payload, block->bytes);
	if (ifp_buf_status(&writing->payload))
		return -ENOMEM;
	while (done < block->bytes) {
		ssize_t n = pread(spill, writing->payload.data + done, block->bytes - done,
			(off_t)(block->offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? ifp_fail_errno("read a spill file")
				 : ifp_fail(-EIO, "a spill file has become shorter");
		done += (size_t)n;
	}
	return 0;
}

/* The spill file of another process; *own is the caller's. */
static int open_spill(const struct ifp_import *import, uint32_t process, int *own)
{
	IFP_CLEANUP_FREE char *path = ifp_import_spill_path(import->spills, process);

	if (!path)
		return ifp_fail(-ENOMEM, "no memory for a path");
	*own = open(path, O_RDONLY | O_CLOEXEC);
	return *own < 0 ? ifp_fail_errno("open %s", path) : 0;
}

static int write_blocks(struct writing *writing, const struct ifp_import_file *file)
{
	const struct ifp_import *import = writing->import;
	bool others = file->process != import->process;
	IFP_CLEANUP_FD int opened = -1;
	int err = others ? open_spill(import, file->process, &opened) : 0;

	for (uint32_t i = 0; i < file->block_count && !err; i++) {
		const struct ifp_import_block *block = &file->blocks[i];

		err = load_block(writing, others ? opened : import->spill, block);
		if (!err)
			err = append(writing, &(struct ifp_frame){.type = IFP_FRAME_EVENTS,
						      .rank = file->rank,
						      .event_count = block->events,
						      .payload = writing->payload.data,
						      .payload_bytes = block->bytes});
	}
	return err;
}

static void add_rows(cJSON *rows, const struct ifp_import_notes *notes, const char *file)
{
	IFP_CLEANUP_BUF struct ifp_buf why = {0};

	for (uint32_t i = 0; i < notes->count; i++) {
		const struct ifp_import_note *note = &notes->items[i];
		cJSON *row;

		if (!note->what)
			continue;
		ifp_buf_clear(&why);
		ifp_buf_printf(&why, "%s%s%s", file, *file ? ": " : "", note->why);
		ifp_buf_append_u8(&why, 0);
		if (why.failed)
			continue;
		row = cJSON_CreateObject();
		cJSON_AddStringToObject(row, "what", note->what);
		cJSON_AddNumberToObject(row, "count", (double)note->count);
		cJSON_AddStringToObject(row, "why", (const char *)why.data);
		cJSON_AddItemToArray(rows, row);
	}
}

static int write_ledger(struct writing *writing, uint32_t rank,
	const struct ifp_import_notes *notes, const char *file)
{
	IFP_CLEANUP_DOCUMENT cJSON *document = cJSON_CreateObject();
	cJSON *rows = cJSON_AddArrayToObject(document, "rows");

	add_rows(rows, notes, file);
	if (!cJSON_GetArraySize(rows))
		return 0;
	return append_document(writing, IFP_FRAME_LEDGER, rank, document);
}

static int write_file(struct writing *writing, const struct ifp_import_file *file)
{
	int err;

	writing->sequence = 0;
	if (file->rank == IFP_FRAME_NO_RANK)
		return write_ledger(writing, IFP_FRAME_NO_RANK, &file->notes, file->label);
	err = write_rank(writing, file);
	if (!err)
		err = write_collectives(writing, file);
	if (!err)
		err = write_blocks(writing, file);
	return err ? err : write_ledger(writing, file->rank, &file->notes, file->label);
}

static int write_all(struct writing *writing)
{
	struct ifp_import *import = writing->import;
	int err = write_run(writing);

	for (uint32_t i = 0; i < import->file_count && !err; i++)
		err = write_file(writing, &import->files[i]);
	return err ? err : write_ledger(writing, IFP_FRAME_NO_RANK, &import->notes, "");
}

/* Gives it its name, unless there is something of that name. */
static int publish(const char *unfinished, const char *archive_path)
{
	if (!link(unfinished, archive_path))
		return 0;
	if (errno == EEXIST)
		return ifp_fail_errno("write %s", archive_path);
	/* a file system without links */
	if (access(archive_path, F_OK) == 0)
		return ifp_fail(-EEXIST, "%s is there already", archive_path);
	return rename(unfinished, archive_path) ? ifp_fail_errno("write %s", archive_path) : 0;
}

int ifp_import_write(struct ifp_import *import, const char *unfinished, const char *archive_path)
{
	struct writing writing = {.import = import};
	int err = ifp_archive_writer_open(unfinished, true, &writing.archive);

	if (err)
		return err;
	err = write_all(&writing);
	ifp_buf_free(&writing.payload);
	if (err)
		ifp_archive_writer_abandon(&writing.archive);
	else
		err = ifp_archive_writer_close(&writing.archive);
	if (!err)
		err = publish(unfinished, archive_path);
	unlink(unfinished);
	return err;
}
