/* SPDX-License-Identifier: Apache-2.0 */
/* The index frame: 32 bytes for each frame, and a trailer by which it is found from the end. */
#include "trace/archive/scan.h"

#include "core/checksum.h"
#include "core/error.h"

#include <errno.h>

#define ENTRY_BYTES 32u
#define TRAILER_BYTES 16u
#define TRAILER_MAGIC UINT64_C(0x58444e49504649f1) /* "\xf1IFPINDX", little endian */

bool ifp_archive_index_encode(
	const struct ifp_archive_places *places, uint64_t index_offset, struct ifp_buf *out)
{
	if (places->count > (IFP_FRAME_MAX_PAYLOAD_BYTES - TRAILER_BYTES) / ENTRY_BYTES)
		return false;
	for (uint64_t i = 0; i < places->count; i++) {
		const struct ifp_archive_place *place = &places->items[i];

		ifp_buf_append_u64(out, place->offset);
		ifp_buf_append_u64(out, place->frame.sequence);
		ifp_buf_append_u32(out, place->frame.type);
		ifp_buf_append_u32(out, place->frame.rank);
		ifp_buf_append_u32(out, place->frame.event_count);
		ifp_buf_append_u32(out, place->frame.payload_bytes);
	}
	ifp_buf_append_u64(out, index_offset);
	ifp_buf_append_u64(out, TRAILER_MAGIC);
	return true;
}

/* Reads the frame that the trailer points to into *payload; -ENOENT when it is no whole index. */
static int load_payload(int fd, uint64_t size_bytes, struct ifp_buf *payload, uint64_t *offset)
{
	uint8_t trailer[TRAILER_BYTES] = {0}, header[IFP_FRAME_HEADER_BYTES];
	struct ifp_cursor cursor = ifp_cursor(trailer, sizeof(trailer));
	const uint64_t least = IFP_ARCHIVE_HEADER_BYTES + IFP_FRAME_HEADER_BYTES + TRAILER_BYTES;
	struct ifp_frame frame;
	uint64_t checksum;

	if (size_bytes < least ||
		ifp_archive_read_at(fd, size_bytes - TRAILER_BYTES, trailer, sizeof(trailer)))
		return -ENOENT;
	*offset = ifp_cursor_u64(&cursor);
	if (ifp_cursor_u64(&cursor) != TRAILER_MAGIC || *offset < IFP_ARCHIVE_HEADER_BYTES ||
		*offset > size_bytes - IFP_FRAME_HEADER_BYTES - TRAILER_BYTES ||
		ifp_archive_read_at(fd, *offset, header, sizeof(header)) ||
		ifp_frame_decode_header(header, sizeof(header), &frame, &checksum) ||
		frame.type != IFP_FRAME_INDEX ||
		frame.payload_bytes != size_bytes - *offset - IFP_FRAME_HEADER_BYTES ||
		frame.payload_bytes % ENTRY_BYTES != TRAILER_BYTES)
		return -ENOENT;
	ifp_buf_reserve(payload, frame.payload_bytes);
	if (payload->failed)
		return -ENOMEM;
	if (ifp_archive_read_at(
		    fd, *offset + IFP_FRAME_HEADER_BYTES, payload->data, frame.payload_bytes) ||
		ifp_checksum(payload->data, frame.payload_bytes) != checksum)
		return -ENOENT;
	payload->len_bytes = frame.payload_bytes;
	return 0;
}

static bool read_entry(struct ifp_cursor *cursor, struct ifp_archive_place *place)
{
	uint32_t type;

	place->offset = ifp_cursor_u64(cursor);
	place->frame = (struct ifp_frame){.sequence = ifp_cursor_u64(cursor)};
	type = ifp_cursor_u32(cursor);
	place->frame.rank = ifp_cursor_u32(cursor);
	place->frame.event_count = ifp_cursor_u32(cursor);
	place->frame.payload_bytes = ifp_cursor_u32(cursor);
	place->frame.type = (enum ifp_frame_type)type;
	return type > 0 && type < IFP_FRAME_INDEX &&
	       place->frame.payload_bytes <= IFP_FRAME_MAX_PAYLOAD_BYTES;
}

static int read_entries(const struct ifp_buf *payload, uint64_t index_offset,
	struct ifp_archive_places *places, struct ifp_archive_damage *damage)
{
	struct ifp_cursor cursor = ifp_cursor(payload->data, payload->len_bytes - TRAILER_BYTES);
	uint64_t end = IFP_ARCHIVE_HEADER_BYTES;

	while (cursor.position_bytes < cursor.len_bytes) {
		struct ifp_archive_place place;

		if (!read_entry(&cursor, &place) || place.offset < end ||
			place.offset > index_offset || ifp_archive_place_end(&place) > index_offset)
			return -ENOENT;
		if (place.offset > end) {
			damage->damaged_frames++;
			damage->damaged_bytes += place.offset - end;
		}
		if (ifp_archive_places_add(places, &place.frame, place.offset))
			return -ENOMEM;
		end = ifp_archive_place_end(&place);
	}
	if (end < index_offset) {
		damage->damaged_frames++;
		damage->damaged_bytes += index_offset - end;
	}
	return 0;
}

int ifp_archive_index_load(int fd, uint64_t size_bytes, struct ifp_archive_places *places,
	struct ifp_archive_damage *damage)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	IFP_CLEANUP(ifp_archive_places_free) struct ifp_archive_places found = {0};
	struct ifp_archive_damage seen = {0};
	uint64_t index_offset;
	int err = load_payload(fd, size_bytes, &payload, &index_offset);

	if (!err)
		err = read_entries(&payload, index_offset, &found, &seen);
	if (err == -ENOMEM)
		return ifp_fail(err, "load the index of an archive");
	if (err) {
		ifp_error_clear();
		return err;
	}
	*places = found;
	*damage = seen;
	found = (struct ifp_archive_places){0};
	return 0;
}
