/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/header.h"

#include "collector/import/notes.h"
#include "core/error.h"
#include "trace/event.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/*
 * Of the header's members, what goes beyond this is not kept: they become texts in a document of
 * the archive (IFP_DOCUMENT_MAX_BYTES), where each quote takes two bytes.
 */
#define HEADER_MAX_BYTES (448u * 1024u)
#define NAME_MAX_SHOWN 40

/* Of a base that cannot be used. */
#define BASE_MAX_SHOWN 40u

/* Whether there is room for one more member of the header; a note where there is none. */
static bool has_room(struct ifp_import_file *file, struct ifp_str key, struct ifp_str value,
	uint64_t *kept_bytes, int *err)
{
	uint64_t bytes = (uint64_t)key.len_bytes + value.len_bytes;

	if (*kept_bytes + bytes <= HEADER_MAX_BYTES) {
		*kept_bytes += bytes;
		return true;
	}
	*err = ifp_import_note(&file->notes, "trace-left-out", 0, false,
		"%.*s of the trace's header is not kept: %" PRIu32 " bytes",
		(int)(key.len_bytes < NAME_MAX_SHOWN ? key.len_bytes : NAME_MAX_SHOWN), key.ptr,
		value.len_bytes);
	return false;
}

static int keep_member(struct ifp_import_file *file, const char *key, struct ifp_str value,
	uint64_t *kept_bytes, char **place)
{
	int err = 0;

	if (!value.len_bytes || !has_room(file, ifp_str(key), value, kept_bytes, &err))
		return err;
	*place = strndup(value.ptr, value.len_bytes);
	return *place ? 0 : ifp_fail(-ENOMEM, "no memory for the header of a trace");
}

/* What an export states itself: a second one would contradict it. */
static bool is_stated_anew(struct ifp_str key)
{
	return ifp_str_is(key, "traceEvents") || ifp_str_is(key, "baseTimeNanoseconds");
}

static int keep_others(struct ifp_import_file *file, struct ifp_str others, uint64_t *kept_bytes)
{
	struct ifp_buf kept = {0};
	struct ifp_str key, value;
	uint32_t at = 0;
	int err = 0;

	while (!err && ifp_args_next(others, &at, &key, &value)) {
		if (is_stated_anew(key) || !has_room(file, key, value, kept_bytes, &err))
			continue;
		ifp_buf_append_text(&kept, kept.len_bytes ? ",\"" : "{\"");
		ifp_buf_append(&kept, key.ptr, key.len_bytes);
		ifp_buf_append_text(&kept, "\":");
		ifp_buf_append(&kept, value.ptr, value.len_bytes);
	}
	if (kept.len_bytes)
		ifp_buf_append(&kept, "}", sizeof("}"));
	if (!err)
		err = ifp_buf_status(&kept);
	if (err)
		ifp_buf_free(&kept);
	file->others = (char *)kept.data;
	return err;
}

static int note_base(struct ifp_import_file *file, const struct ifp_chrome_header *header)
{
	struct ifp_str base;

	if (!ifp_args_find(header->others, "baseTimeNanoseconds", &base))
		return 0;
	return ifp_import_note(&file->notes, "trace-base", 0, true,
		"a baseTimeNanoseconds of %.*s cannot be used: it is no whole number of 64 bits, a "
		"second one, or stands behind damage; times count from %" PRId64,
		(int)(base.len_bytes < BASE_MAX_SHOWN ? base.len_bytes : BASE_MAX_SHOWN), base.ptr,
		header->base_time_ns);
}

/* What is stated as a rank and can be none. */
static int note_rank(struct ifp_import_file *file, struct ifp_str info)
{
	struct ifp_str rank;

	if (!ifp_args_find(info, "rank", &rank) ||
		(file->stated_rank >= 0 && file->stated_rank < IFP_IMPORT_RANK_LIMIT))
		return 0;
	file->stated_rank = -1;
	return ifp_import_note(&file->notes, "trace-identity", 0, false,
		"distributedInfo states a rank of %.*s, which is none: it is not believed",
		(int)(rank.len_bytes < BASE_MAX_SHOWN ? rank.len_bytes : BASE_MAX_SHOWN), rank.ptr);
}

int ifp_import_take_header(struct ifp_import_file *file, const struct ifp_chrome_header *header)
{
	struct ifp_str info = header->distributed_info;
	IFP_CLEANUP_DOCUMENT cJSON *stated =
		info.len_bytes ? cJSON_ParseWithLength(info.ptr, info.len_bytes) : NULL;
	uint64_t kept_bytes = 0;
	int err = keep_member(file, "distributedInfo", info, &kept_bytes, &file->distributed_info);

	file->base_time_ns = header->base_time_ns;
	if (!ifp_document_get_int(stated, "rank", &file->stated_rank))
		file->stated_rank = -1;
	if (!err)
		err = note_rank(file, info);
	if (!ifp_document_get_int(stated, "world_size", &file->stated_world))
		file->stated_world = -1;
	if (!err)
		err = keep_member(file, "deviceProperties", header->device_properties, &kept_bytes,
			&file->device_properties);
	if (!err)
		err = note_base(file, header);
	return err ? err : keep_others(file, header->others, &kept_bytes);
}
