/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/part.h"

#include "collector/import/notes.h"
#include "core/array.h"
#include "core/buf.h"
#include "core/checksum.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKSUM_BYTES 8u

static char *path_in(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

char *ifp_import_list_path(const char *directory)
{
	return path_in(directory, "list");
}

char *ifp_import_part_path(const char *directory, uint32_t process)
{
	char name[32];

	snprintf(name, sizeof(name), "%" PRIu32 ".part", process);
	return path_in(directory, name);
}

char *ifp_import_spill_path(const char *directory, uint32_t process)
{
	char name[32];

	snprintf(name, sizeof(name), "%" PRIu32 ".spill", process);
	return path_in(directory, name);
}

struct load {
	uint32_t file;
	uint64_t bytes;
};

static int compare_loads(const void *a, const void *b)
{
	const struct load *left = a, *right = b;

	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return (left->file > right->file) - (left->file < right->file);
}

int ifp_import_share(struct ifp_import *import, uint32_t processes)
{
	IFP_CLEANUP_FREE struct load *loads = calloc(import->file_count + 1u, sizeof(*loads));
	IFP_CLEANUP_FREE uint64_t *sums = calloc(processes, sizeof(*sums));

	if (!loads || !sums)
		return ifp_fail(-ENOMEM, "no memory to share %u files", import->file_count);
	for (uint32_t i = 0; i < import->file_count; i++)
		loads[i] = (struct load){i, import->files[i].file_bytes};
	qsort(loads, import->file_count, sizeof(*loads), compare_loads);
	for (uint32_t i = 0; i < import->file_count; i++) {
		uint32_t least = 0;

		for (uint32_t p = 1; p < processes; p++)
			if (sums[p] < sums[least])
				least = p;
		import->files[loads[i].file].process = least;
		sums[least] += loads[i].bytes;
	}
	return 0;
}

/* The whole buffer and its checksum, on the disk of the server on return. */
static int write_file(struct ifp_buf *buf, const char *path)
{
	IFP_CLEANUP_FD int fd = -1;
	size_t done = 0;

	if (!buf->failed)
		ifp_buf_append_u64(buf, ifp_checksum(buf->data, buf->len_bytes));
	if (!path || ifp_buf_status(buf))
		return ifp_fail(-ENOMEM, "no memory for what the other processes are told");
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return ifp_fail_errno("create %s", path);
	while (done < buf->len_bytes) {
		ssize_t n = write(fd, buf->data + done, buf->len_bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ifp_fail_errno("write %s", path);
		done += (size_t)n;
	}
	return fdatasync(fd) ? ifp_fail_errno("write %s", path) : 0;
}

static int read_bytes(int fd, struct ifp_buf *buf)
{
	struct stat st;
	ssize_t n = 1;

	if (fstat(fd, &st))
		return -errno;
	ifp_buf_reserve(buf, (size_t)st.st_size + 1);
	while (!buf->failed && n > 0) {
		n = read(fd, buf->data + buf->len_bytes, buf->capacity_bytes - buf->len_bytes);
		if (n < 0 && errno != EINTR)
			return -errno;
		buf->len_bytes += n > 0 ? (size_t)n : 0;
		ifp_buf_reserve(buf, 1);
	}
	return buf->failed ? -ENOMEM : 0;
}

static int read_file(const char *path, struct ifp_buf *buf, struct ifp_cursor *cursor)
{
	IFP_CLEANUP_FD int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct ifp_cursor sum;
	int err;

	if (!path)
		return ifp_fail(-ENOMEM, "no memory for a path");
	if (fd < 0)
		return ifp_fail_errno("open %s", path);
	err = read_bytes(fd, buf);
	if (err)
		return ifp_fail(err, "read %s: %s", path, strerror(-err));
	if (buf->len_bytes < CHECKSUM_BYTES)
		return ifp_fail(-EBADMSG, "%s is cut off", path);
	*cursor = ifp_cursor(buf->data, buf->len_bytes - CHECKSUM_BYTES);
	sum = ifp_cursor(buf->data + cursor->len_bytes, CHECKSUM_BYTES);
	if (ifp_cursor_u64(&sum) != ifp_checksum(buf->data, cursor->len_bytes))
		return ifp_fail(-EBADMSG, "%s is damaged", path);
	return 0;
}

/* A text or NULL: its length + 1, its bytes. */
static void put_text(struct ifp_buf *buf, const char *text)
{
	ifp_buf_append_varint(buf, text ? strlen(text) + 1 : 0);
	if (text)
		ifp_buf_append_text(buf, text);
}

static struct ifp_str get_str(struct ifp_cursor *cursor)
{
	uint64_t length = ifp_cursor_varint(cursor);
	const uint8_t *bytes = length ? ifp_cursor_bytes(cursor, length - 1) : NULL;

	return (struct ifp_str){(const char *)bytes, bytes ? (uint32_t)(length - 1) : 0};
}

/* An own copy; a failure of memory is one of the cursor. */
static char *get_text(struct ifp_cursor *cursor)
{
	struct ifp_str text = get_str(cursor);
	char *copy = text.ptr ? strndup(text.ptr, text.len_bytes) : NULL;

	cursor->failed = cursor->failed || (text.ptr && !copy);
	return copy;
}

int ifp_import_list_write(const struct ifp_import *import, const char *directory)
{
	IFP_CLEANUP_FREE char *path = ifp_import_list_path(directory);
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	ifp_buf_append_varint(&buf, import->file_count);
	for (uint32_t i = 0; i < import->file_count; i++) {
		const struct ifp_import_file *file = &import->files[i];

		put_text(&buf, file->path);
		ifp_buf_append_varint(&buf, file->file_bytes);
		ifp_buf_append_u8(&buf, file->named);
		ifp_buf_append_varint(&buf, file->process);
	}
	return write_file(&buf, path);
}

int ifp_import_list_read(struct ifp_import *import, const char *directory)
{
	IFP_CLEANUP_FREE char *path = ifp_import_list_path(directory);
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_cursor cursor;
	int err = read_file(path, &buf, &cursor);
	uint64_t count = err ? 0 : ifp_cursor_varint(&cursor);

	for (uint64_t i = 0; i < count && !err; i++) {
		IFP_CLEANUP_FREE char *name = get_text(&cursor);
		uint64_t bytes = ifp_cursor_varint(&cursor);
		bool named = ifp_cursor_u8(&cursor);
		uint64_t process = ifp_cursor_varint(&cursor);

		if (cursor.failed || !name)
			return ifp_fail(-EBADMSG, "%s is damaged", path);
		err = ifp_import_add_file(import, name, bytes, named);
		if (!err)
			import->files[i].process = (uint32_t)process;
	}
	return err;
}

static void put_notes(struct ifp_buf *buf, const struct ifp_import_notes *notes)
{
	ifp_buf_append_varint(buf, notes->count);
	for (uint32_t i = 0; i < notes->count; i++) {
		put_text(buf, notes->items[i].what);
		ifp_buf_append_svarint(buf, notes->items[i].count);
		ifp_buf_append_u8(buf, notes->items[i].fault);
		put_text(buf, notes->items[i].why);
	}
}

static int get_notes(
	struct ifp_cursor *cursor, struct ifp_import_notes *notes, struct ifp_arena *words)
{
	uint64_t count = ifp_cursor_varint(cursor);
	int err = 0;

	for (uint64_t i = 0; i < count && !err && !cursor->failed; i++) {
		struct ifp_str what = get_str(cursor);
		int64_t number = ifp_cursor_svarint(cursor);
		bool fault = ifp_cursor_u8(cursor);
		struct ifp_str why = get_str(cursor);
		const char *word = what.ptr ? ifp_arena_copy(words, what).ptr : NULL;

		if (what.ptr && !word)
			return ifp_fail(-ENOMEM, "no memory for a note");
		err = ifp_import_note(
			notes, word, number, fault, IFP_STR_FORMAT, IFP_STR_ARGS(why));
	}
	return err;
}

static void put_blocks(struct ifp_buf *buf, const struct ifp_import_file *file)
{
	ifp_buf_append_varint(buf, file->block_count);
	for (uint32_t i = 0; i < file->block_count; i++) {
		ifp_buf_append_varint(buf, file->blocks[i].offset);
		ifp_buf_append_varint(buf, file->blocks[i].bytes);
		ifp_buf_append_varint(buf, file->blocks[i].events);
	}
}

static int get_blocks(struct ifp_cursor *cursor, struct ifp_import_file *file)
{
	uint64_t count = ifp_cursor_varint(cursor);
	int err = 0;

	for (uint64_t i = 0; i < count && !err && !cursor->failed; i++) {
		uint64_t offset = ifp_cursor_varint(cursor);
		uint32_t bytes = (uint32_t)ifp_cursor_varint(cursor);
		uint32_t events = (uint32_t)ifp_cursor_varint(cursor);

		err = IFP_ARRAY_RESERVE(
			file->blocks, file->block_capacity, file->block_count, 1, "blocks");
		if (!err)
			file->blocks[file->block_count++] =
				(struct ifp_import_block){offset, bytes, events};
	}
	return err;
}

static void put_samples(struct ifp_buf *buf, const struct ifp_clock_samples *samples)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};

	ifp_clock_samples_encode(samples, &payload);
	buf->failed = buf->failed || payload.failed;
	ifp_buf_append_varint(buf, payload.len_bytes);
	ifp_buf_append(buf, payload.data, payload.len_bytes);
}

static int get_samples(struct ifp_cursor *cursor, struct ifp_clock_samples *samples)
{
	uint64_t length = ifp_cursor_varint(cursor);
	const uint8_t *payload = ifp_cursor_bytes(cursor, length);

	return payload ? ifp_clock_samples_decode(payload, length, samples) : 0;
}

static void put_found(struct ifp_buf *buf, const struct ifp_import_file *file)
{
	ifp_buf_append_varint(buf, file->json_bytes);
	ifp_buf_append_varint(buf, file->elements);
	ifp_buf_append_varint(buf, file->events);
	ifp_buf_append_varint(buf, file->left_out);
	ifp_buf_append_varint(buf, file->lost_bytes);
	ifp_buf_append_varint(buf, file->unread_bytes);
	ifp_buf_append_svarint(buf, file->first_ns);
	ifp_buf_append_svarint(buf, file->last_ns);
	ifp_buf_append_svarint(buf, file->drawn_first_ns);
	ifp_buf_append_svarint(buf, file->drawn_last_ns);
	ifp_buf_append_svarint(buf, file->base_time_ns);
	ifp_buf_append_svarint(buf, file->stated_rank);
	ifp_buf_append_svarint(buf, file->stated_world);
	put_text(buf, file->distributed_info);
	put_text(buf, file->device_properties);
	put_text(buf, file->others);
	put_blocks(buf, file);
	put_notes(buf, &file->notes);
	put_samples(buf, &file->samples);
}

static int get_found(
	struct ifp_cursor *cursor, struct ifp_import_file *file, struct ifp_arena *words)
{
	int err;

	file->json_bytes = ifp_cursor_varint(cursor);
	file->elements = ifp_cursor_varint(cursor);
	file->events = ifp_cursor_varint(cursor);
	file->left_out = ifp_cursor_varint(cursor);
	file->lost_bytes = ifp_cursor_varint(cursor);
	file->unread_bytes = ifp_cursor_varint(cursor);
	file->first_ns = ifp_cursor_svarint(cursor);
	file->last_ns = ifp_cursor_svarint(cursor);
	file->drawn_first_ns = ifp_cursor_svarint(cursor);
	file->drawn_last_ns = ifp_cursor_svarint(cursor);
	file->base_time_ns = ifp_cursor_svarint(cursor);
	file->stated_rank = ifp_cursor_svarint(cursor);
	file->stated_world = ifp_cursor_svarint(cursor);
	file->distributed_info = get_text(cursor);
	file->device_properties = get_text(cursor);
	file->others = get_text(cursor);
	err = get_blocks(cursor, file);
	if (!err)
		err = get_notes(cursor, &file->notes, words);
	return err ? err : get_samples(cursor, &file->samples);
}

int ifp_import_part_write(const struct ifp_import *import, const char *directory)
{
	IFP_CLEANUP_FREE char *path = ifp_import_part_path(directory, import->process);
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	for (uint32_t i = 0; i < import->file_count; i++)
		if (import->files[i].process == import->process)
			put_found(&buf, &import->files[i]);
	return write_file(&buf, path);
}

int ifp_import_part_read(struct ifp_import *import, uint32_t process, const char *directory)
{
	IFP_CLEANUP_FREE char *path = ifp_import_part_path(directory, process);
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_cursor cursor;
	int err = read_file(path, &buf, &cursor);

	for (uint32_t i = 0; i < import->file_count && !err; i++)
		if (import->files[i].process == process)
			err = get_found(&cursor, &import->files[i], &import->words);
	if (!err && (cursor.failed || cursor.position_bytes != cursor.len_bytes))
		err = ifp_fail(-EBADMSG, "%s is damaged", path);
	return err;
}
