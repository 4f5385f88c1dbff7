/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/deflate.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define ROOM_BYTES (64u * 1024u)
#define GZIP_WINDOW (15 + 16)
#define MEMORY_LEVEL 9

struct ifp_deflate {
	z_stream stream;
};

int ifp_deflate_open(int level, struct ifp_deflate **out)
{
	struct ifp_deflate *deflate = calloc(1, sizeof(*deflate));

	if (!deflate || deflateInit2(&deflate->stream, level, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
				Z_DEFAULT_STRATEGY) != Z_OK) {
		free(deflate);
		return ifp_fail(-ENOMEM, "out of memory to pack a file");
	}
	*out = deflate;
	return 0;
}

void ifp_deflate_close(struct ifp_deflate **deflate)
{
	if (*deflate)
		deflateEnd(&(*deflate)->stream);
	free(*deflate);
	*deflate = NULL;
}

int ifp_deflate_add(struct ifp_deflate *packer, const void *data, size_t len_bytes, bool last,
	struct ifp_buf *out)
{
	z_stream *stream = &packer->stream;
	const uint8_t *next = data;

	do {
		unsigned int part = len_bytes < UINT_MAX ? (unsigned int)len_bytes : UINT_MAX;

		stream->next_in = (uint8_t *)(uintptr_t)next; /* not written to */
		stream->avail_in = part;
		next += part;
		len_bytes -= part;
		do {
			ifp_buf_reserve(out, ROOM_BYTES);
			if (ifp_buf_status(out))
				return -ENOMEM;
			stream->next_out = out->data + out->len_bytes;
			stream->avail_out = ROOM_BYTES;
			if (deflate(stream, last && !len_bytes ? Z_FINISH : Z_NO_FLUSH) ==
				Z_STREAM_ERROR)
				return ifp_fail(-EIO, "pack a file");
			out->len_bytes += ROOM_BYTES - stream->avail_out;
		} while (!stream->avail_out);
	} while (len_bytes);
	return 0;
}
