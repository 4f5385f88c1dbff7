/* SPDX-License-Identifier: Apache-2.0 */
#include "repair.h"

#include "core/checksum.h"
#include "trace/archive/frame.h"

#include <string.h>

/* Places in a frame's header (docs/format-archive.md). */
#define PAYLOAD_BYTES_AT 24u
#define PAYLOAD_CHECKSUM_AT 32u
#define HEADER_CHECKSUM_AT 40u

static void put_u64(uint8_t *at, uint64_t value)
{
	for (unsigned int i = 0; i < 8; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

void fuzz_repair_frames(uint8_t *data, size_t len_bytes, size_t offset)
{
	static const uint8_t magic[] = {0xf1, 'I', 'F', 'P'};

	while (offset < len_bytes && len_bytes - offset >= IFP_FRAME_HEADER_BYTES) {
		uint8_t *frame = data + offset;
		size_t left = len_bytes - offset - IFP_FRAME_HEADER_BYTES;
		struct ifp_cursor cursor = ifp_cursor(frame + PAYLOAD_BYTES_AT, sizeof(uint32_t));
		uint32_t payload_bytes = ifp_cursor_u32(&cursor);

		if (memcmp(frame, magic, sizeof(magic)) != 0) {
			offset++;
			continue;
		}
		if (payload_bytes <= left)
			put_u64(frame + PAYLOAD_CHECKSUM_AT,
				ifp_checksum(frame + IFP_FRAME_HEADER_BYTES, payload_bytes));
		put_u64(frame + HEADER_CHECKSUM_AT, ifp_checksum(frame, HEADER_CHECKSUM_AT));
		offset += IFP_FRAME_HEADER_BYTES + (payload_bytes <= left ? payload_bytes : 0);
	}
}
