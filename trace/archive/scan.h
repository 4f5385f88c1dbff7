/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What writer and reader of archives share: the file header, the list of frames with their places,
 * the index, and the scan that finds all intact frames of a file whatever happened to it.
 */
#pragma once

#include "core/buf.h"
#include "trace/archive/archive.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IFP_ARCHIVE_HEADER_BYTES 16u

/* A frame (its payload is NULL) and where its header starts in the file. */
struct ifp_archive_place {
	struct ifp_frame frame;
	uint64_t offset;
};

/* Places in order of the file. Owned by whoever declares it; {0} is empty. */
struct ifp_archive_places {
	struct ifp_archive_place *items;
	uint64_t count;
	size_t capacity;
};

/* Makes room for one more: 0 or -ENOMEM. */
int ifp_archive_places_reserve(struct ifp_archive_places *places);
int ifp_archive_places_add(
	struct ifp_archive_places *places, const struct ifp_frame *frame, uint64_t offset);
void ifp_archive_places_free(struct ifp_archive_places *places);

static inline uint64_t ifp_archive_place_end(const struct ifp_archive_place *place)
{
	return place->offset + IFP_FRAME_HEADER_BYTES + place->frame.payload_bytes;
}

/* Writes the 16 bytes that every archive starts with. */
void ifp_archive_header(uint8_t header[IFP_ARCHIVE_HEADER_BYTES]);

/*
 * Checks the start of an archive: 0; -EPROTO for another version, -EBADMSG for no archive (the
 * causes name path). *torn is set, and 0 returned, when the file ends inside a valid file header.
 */
int ifp_archive_check_header(int fd, const char *path, bool *torn);

/* Reads exactly len_bytes at offset: 0, -EBADMSG when the file ends before (no cause), errno. */
int ifp_archive_read_at(int fd, uint64_t offset, void *data, size_t len_bytes);

/*
 * Reads the whole file of size_bytes and lists its intact frames, the index left out; a damaged
 * frame costs that frame alone. *damage gets what was stepped over. 0 or -ENOMEM, -EIO, ...
 */
int ifp_archive_scan(int fd, uint64_t size_bytes, struct ifp_archive_places *places,
	struct ifp_archive_damage *damage);

/*
 * The payload of an index frame that stands at index_offset: appends it to out. False when there
 * are too many frames for one: such an archive goes without.
 */
bool ifp_archive_index_encode(
	const struct ifp_archive_places *places, uint64_t index_offset, struct ifp_buf *out);

/*
 * Loads the index of a file of size_bytes: 0, or -ENOENT (no cause recorded) when it has none that
 * is whole, -ENOMEM. Gaps between the frames count as damage.
 */
int ifp_archive_index_load(int fd, uint64_t size_bytes, struct ifp_archive_places *places,
	struct ifp_archive_damage *damage);
