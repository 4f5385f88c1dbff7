/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/frame.h"

#include "core/checksum.h"
#include "core/error.h"

#include <errno.h>

#define FRAME_MAGIC UINT32_C(0x504649f1) /* "\xf1IFP", little endian */
#define CHECKED_HEADER_BYTES 40u

void ifp_frame_encode_header(const struct ifp_frame *frame, struct ifp_buf *out)
{
	size_t first = out->len_bytes;

	ifp_buf_append_u32(out, FRAME_MAGIC);
	ifp_buf_append_u32(out, frame->type);
	ifp_buf_append_u32(out, frame->rank);
	ifp_buf_append_u32(out, frame->event_count);
	ifp_buf_append_u64(out, frame->sequence);
	ifp_buf_append_u32(out, frame->payload_bytes);
	ifp_buf_append_u32(out, 0);
	ifp_buf_append_u64(out, ifp_checksum(frame->payload, frame->payload_bytes));
	if (!out->failed)
		ifp_buf_append_u64(out, ifp_checksum(out->data + first, CHECKED_HEADER_BYTES));
}

void ifp_frame_encode(const struct ifp_frame *frame, struct ifp_buf *out)
{
	ifp_frame_encode_header(frame, out);
	ifp_buf_append(out, frame->payload, frame->payload_bytes);
}

static int check_fields(const struct ifp_frame *frame, uint32_t type, uint32_t reserved)
{
	if (type == 0 || type >= IFP_FRAME_TYPE_MAX)
		return ifp_fail(-EBADMSG, "frame of unknown type %u", type);
	if (frame->payload_bytes > IFP_FRAME_MAX_PAYLOAD_BYTES)
		return ifp_fail(-EBADMSG, "frame of %u bytes, more than the limit of %u",
			frame->payload_bytes, IFP_FRAME_MAX_PAYLOAD_BYTES);
	if (reserved != 0 || (frame->event_count != 0 && type != IFP_FRAME_EVENTS))
		return ifp_fail(-EBADMSG, "frame of type %u with fields that must be 0", type);
	return 0;
}

int ifp_frame_decode_header(
	const void *data, size_t len_bytes, struct ifp_frame *frame, uint64_t *payload_checksum)
{
	struct ifp_cursor cursor = ifp_cursor(data, len_bytes);
	struct ifp_frame found = {0};
	uint32_t magic, type, reserved;
	uint64_t of_payload, of_header;
	int err;

	if (len_bytes < IFP_FRAME_HEADER_BYTES)
		return -EAGAIN;
	magic = ifp_cursor_u32(&cursor);
	type = ifp_cursor_u32(&cursor);
	found.rank = ifp_cursor_u32(&cursor);
	found.event_count = ifp_cursor_u32(&cursor);
	found.sequence = ifp_cursor_u64(&cursor);
	found.payload_bytes = ifp_cursor_u32(&cursor);
	reserved = ifp_cursor_u32(&cursor);
	of_payload = ifp_cursor_u64(&cursor);
	of_header = ifp_cursor_u64(&cursor);
	if (magic != FRAME_MAGIC)
		return ifp_fail(-EBADMSG, "no frame: it starts with %08x", magic);
	if (of_header != ifp_checksum(data, CHECKED_HEADER_BYTES))
		return ifp_fail(-EBADMSG, "frame header with a wrong checksum");
	err = check_fields(&found, type, reserved);
	if (err)
		return err;
	found.type = (enum ifp_frame_type)type;
	*frame = found;
	*payload_checksum = of_payload;
	return 0;
}

int ifp_frame_decode(
	const void *data, size_t len_bytes, struct ifp_frame *frame, size_t *used_bytes)
{
	struct ifp_frame found;
	uint64_t payload_checksum;
	int err = ifp_frame_decode_header(data, len_bytes, &found, &payload_checksum);

	if (err)
		return err;
	if (len_bytes - IFP_FRAME_HEADER_BYTES < found.payload_bytes)
		return -EAGAIN;
	found.payload = (const uint8_t *)data + IFP_FRAME_HEADER_BYTES;
	if (payload_checksum != ifp_checksum(found.payload, found.payload_bytes))
		return ifp_fail(-EBADMSG, "frame of type %u of rank %u with a wrong checksum",
			found.type, found.rank);
	*frame = found;
	*used_bytes = IFP_FRAME_HEADER_BYTES + (size_t)found.payload_bytes;
	return 0;
}
