/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/deflate.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>

#define ROOM_BYTES (64u * 1024u)
/* The level from which on the library's own smallest is used: for JSON between zlib's first and
 * sixth in size, and several times as fast as either. */
#define SMALL_LEVEL 3

struct ifp_deflate {
	struct isal_zstream stream;
	uint8_t work[ISAL_DEF_LVL3_DEFAULT];
};

int ifp_deflate_open(int level, struct ifp_deflate **out)
{
	struct ifp_deflate *deflate = calloc(1, sizeof(*deflate));

	if (!deflate)
		return ifp_fail(-ENOMEM, "out of memory to pack a file");
	isal_deflate_init(&deflate->stream);
	deflate->stream.gzip_flag = IGZIP_GZIP;
	deflate->stream.level = level < SMALL_LEVEL ? 1 : SMALL_LEVEL;
	deflate->stream.level_buf = deflate->work;
	deflate->stream.level_buf_size = sizeof(deflate->work);
	*out = deflate;
	return 0;
}

void ifp_deflate_close(struct ifp_deflate **deflate)
{
	free(*deflate);
	*deflate = NULL;
}

int ifp_deflate_add(struct ifp_deflate *deflate, const void *data, size_t len_bytes, bool last,
	struct ifp_buf *out)
{
	struct isal_zstream *stream = &deflate->stream;
	const uint8_t *next = data;

	do {
		uint32_t part = len_bytes < UINT32_MAX ? (uint32_t)len_bytes : UINT32_MAX;

		stream->next_in = (uint8_t *)(uintptr_t)next; /* not written to */
		stream->avail_in = part;
		stream->end_of_stream = last && part == len_bytes;
		next += part;
		len_bytes -= part;
		do {
			ifp_buf_reserve(out, ROOM_BYTES);
			if (ifp_buf_status(out))
				return -ENOMEM;
			stream->next_out = out->data + out->len_bytes;
			stream->avail_out = ROOM_BYTES;
			if (isal_deflate(stream) != COMP_OK)
				return ifp_fail(-EIO, "pack a file");
			out->len_bytes += ROOM_BYTES - stream->avail_out;
		} while (!stream->avail_out);
	} while (len_bytes);
	return 0;
}
