/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The archive (.ifp): a file header, frames (frame.h) one after the other, and an index at the
 * end. Append-only. A file whose end is missing (its writer was killed) is read by scanning; a
 * damaged frame costs that frame and no other.
 */
#pragma once

#include "trace/archive/frame.h"

#include <stdbool.h>
#include <stdint.h>

#define IFP_ARCHIVE_VERSION 1

struct ifp_archive_writer;

/*
 * Opens path for writing and creates it if there is none. An existing archive is gone on with: its
 * frames are scanned, a torn last frame is cut off, and the index (if any) is replaced at the next
 * close. -EEXIST when exclusive and the file exists; -EPROTO (with a cause that names both) for an
 * archive of another version; -EBADMSG when the file is no archive; -EBUSY while another process
 * writes it.
 */
int ifp_archive_writer_open(const char *path, bool exclusive, struct ifp_archive_writer **out);

/*
 * Appends one frame; it is in the page cache (safe against the death of this process) on return.
 * A frame whose rank and sequence (not 0) are already in the archive is left out and *duplicate
 * set; duplicate may be NULL. -ENOSPC and other errors of write(2): the file is cut back to the
 * last whole frame, the writer stays usable.
 */
int ifp_archive_writer_append(
	struct ifp_archive_writer *writer, const struct ifp_frame *frame, bool *duplicate);

/* Highest sequence number such that it and all before it from this rank are stored. */
uint64_t ifp_archive_writer_last_sequence(const struct ifp_archive_writer *writer, uint32_t rank);

/* Number of frames stored, the ones found on opening included. */
uint64_t ifp_archive_writer_frame_count(const struct ifp_archive_writer *writer);

/* Writes the index and closes. The writer is freed also on failure. */
int ifp_archive_writer_close(struct ifp_archive_writer **writer);

/* Closes without an index, as a crash would; for error paths and tests. */
void ifp_archive_writer_abandon(struct ifp_archive_writer **writer);

struct ifp_archive_reader;

/* What the reader found wrong with a file, and how much of it could not be used. */
struct ifp_archive_damage {
	bool index_missing;
	uint64_t damaged_frames;
	uint64_t damaged_bytes;
};

/* -ENOENT and the like; -EPROTO for another version; -EBADMSG when the file is no archive. */
int ifp_archive_reader_open(const char *path, struct ifp_archive_reader **out);
void ifp_archive_reader_close(struct ifp_archive_reader **reader);

struct ifp_archive_damage ifp_archive_reader_damage(const struct ifp_archive_reader *reader);

/* Frames in order of the file. The payload is not loaded: payload is NULL here. */
uint64_t ifp_archive_reader_count(const struct ifp_archive_reader *reader);
const struct ifp_frame *ifp_archive_reader_frame(
	const struct ifp_archive_reader *reader, uint64_t i);

/*
 * Loads and checks the payload of frame i into *buf (cleared first); *frame gets the header with
 * payload pointing into buf. -EBADMSG when it is damaged.
 */
int ifp_archive_reader_load(struct ifp_archive_reader *reader, uint64_t i, struct ifp_buf *buf,
	struct ifp_frame *frame);
