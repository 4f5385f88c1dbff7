/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that may be an archive: whatever is in it, the reader finishes, and its sums fit the
 * file's size; a writer that goes on with it leaves an archive that holds what it had and more.
 * Bit 0 of the first byte: give the frames right checksums; the rest is the file.
 */
#include "fuzz.h"

#include "core/error.h"
#include "memory_file.h"
#include "repair.h"
#include "trace/archive/archive.h"
#include "trace/archive/block.h"

#include <string.h>

#define OWN_RANK 4000000000u

/* The writer's first 16 bytes: a fuzzer that has broken them learns nothing. */
static const uint8_t file_header[16] = {0x89, 'I', 'F', 'P', '\r', '\n', 0x1a, '\n', 1};

static void look_into(const struct ifp_frame *frame)
{
	struct ifp_block block;

	if (frame->type != IFP_FRAME_EVENTS ||
		ifp_block_decode(frame->payload, frame->payload_bytes, &block))
		return;
	for (uint32_t i = 0; i < block.count; i++)
		fuzz_touch(block.events[i].name);
	ifp_block_free(&block);
}

/* How many frames the reader lists; the last one that loads is in *last (payload in *buf). */
static uint64_t read_all(const struct memory_file *file, size_t len_bytes, struct ifp_buf *buf,
	struct ifp_frame *last)
{
	struct ifp_archive_reader *reader = NULL;
	struct ifp_archive_damage damage;
	uint64_t count, payload_bytes = 0;
	int err = ifp_archive_reader_open(file->path, &reader);

	if (err) {
		require(ifp_error_depth() > 0 && !reader);
		return 0;
	}
	count = ifp_archive_reader_count(reader);
	for (uint64_t i = 0; i < count; i++) {
		if (ifp_archive_reader_load(reader, i, buf, last))
			continue;
		require(last->payload_bytes == ifp_archive_reader_frame(reader, i)->payload_bytes);
		payload_bytes += IFP_FRAME_HEADER_BYTES + last->payload_bytes;
		look_into(last);
	}
	damage = ifp_archive_reader_damage(reader);
	require(payload_bytes + damage.damaged_bytes <= len_bytes);
	require(!damage.damaged_bytes || damage.damaged_frames);
	ifp_archive_reader_close(&reader);
	return count;
}

static void go_on_writing(const struct memory_file *file)
{
	static const uint8_t text[] = "{}";
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};
	struct ifp_archive_writer *writer = NULL;
	struct ifp_frame own = {.type = IFP_FRAME_LEDGER,
		.rank = OWN_RANK,
		.payload = text,
		.payload_bytes = sizeof(text) - 1};
	struct ifp_frame last = {0};
	bool duplicate = true;
	uint64_t count;

	if (ifp_archive_writer_open(file->path, false, &writer)) {
		require(ifp_error_depth() > 0 && !writer);
		return;
	}
	require(!ifp_archive_writer_append(writer, &own, &duplicate) && !duplicate);
	count = ifp_archive_writer_frame_count(writer);
	require(!ifp_archive_writer_close(&writer));
	require(read_all(file, SIZE_MAX, &buf, &last) == count);
	require(last.rank == OWN_RANK && last.payload_bytes == own.payload_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	IFP_CLEANUP_BUF struct ifp_buf content = {0};
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct memory_file file;
	struct ifp_frame last;

	if (len_bytes < 1 + sizeof(file_header))
		return 0;
	ifp_buf_append(&content, data + 1, len_bytes - 1);
	require(!ifp_buf_status(&content));
	if (data[0] & 1) {
		memcpy(content.data, file_header, sizeof(file_header));
		fuzz_repair_frames(content.data, content.len_bytes, sizeof(file_header));
	}
	file = memory_file_new();
	memory_file_set(&file, content.data, content.len_bytes);
	read_all(&file, content.len_bytes, &payload, &last);
	ifp_error_clear();
	go_on_writing(&file);
	ifp_error_clear();
	memory_file_free(&file);
	return 0;
}
