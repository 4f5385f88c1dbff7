/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/wire/message.h"

#include "core/error.h"

#include <errno.h>
#include <stdbool.h>

/*
 * Header, little endian: u32 magic, u16 version, u16 type, u32 rank, u32 payload bytes, u64 run id.
 * Magic and version stay where they are in all versions, so that a mismatch can be told.
 */
#define MESSAGE_MAGIC UINT32_C(0x4d5049f1) /* "\xf1IPM", little endian */
#define HEADER_BYTES 24u

void ifp_message_encode(const struct ifp_message *message, struct ifp_buf *out)
{
	ifp_buf_append_u32(out, MESSAGE_MAGIC);
	ifp_buf_append_u32(out, IFP_WIRE_VERSION | (uint32_t)message->type << 16);
	ifp_buf_append_u32(out, message->rank);
	ifp_buf_append_u32(out, message->payload_bytes);
	ifp_buf_append_u64(out, message->run_id);
	ifp_buf_append(out, message->payload, message->payload_bytes);
}

static bool is_type(uint32_t type)
{
	return (type >= IFP_MSG_HELLO && type <= IFP_MSG_BYE) ||
	       (type >= IFP_MSG_WELCOME && type <= IFP_MSG_VERDICT);
}

int ifp_message_decode(const void *data, size_t len_bytes, struct ifp_message *out)
{
	struct ifp_cursor cursor = ifp_cursor(data, len_bytes);
	uint32_t magic = ifp_cursor_u32(&cursor);
	uint32_t version_type = ifp_cursor_u32(&cursor);
	uint32_t version = version_type & 0xffff, type = version_type >> 16;
	struct ifp_message found = {0};

	if (cursor.failed || magic != MESSAGE_MAGIC)
		return ifp_fail(-EBADMSG, "%zu bytes that are no message of infprof", len_bytes);
	if (version != IFP_WIRE_VERSION)
		return ifp_fail(-EPROTO,
			"the other side speaks wire version %u, this side version %u", version,
			IFP_WIRE_VERSION);
	found.rank = ifp_cursor_u32(&cursor);
	found.payload_bytes = ifp_cursor_u32(&cursor);
	found.run_id = ifp_cursor_u64(&cursor);
	if (cursor.failed || found.payload_bytes != len_bytes - HEADER_BYTES)
		return ifp_fail(-EBADMSG, "message of type %u says %u bytes of payload, has %zu",
			type, found.payload_bytes,
			len_bytes < HEADER_BYTES ? 0 : len_bytes - HEADER_BYTES);
	if (!is_type(type))
		return ifp_fail(-EBADMSG, "message of unknown type %u", type);
	found.type = (enum ifp_message_type)type;
	found.payload = ifp_cursor_bytes(&cursor, found.payload_bytes);
	*out = found;
	return 0;
}
