/* SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"
#include "trace/chrome/codec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#define ZLIB_CONST /* input is not written to */
#include <zlib.h>

/* 16: with gzip's header; 15: the largest window. */
#define GZIP_WINDOW (16 + 15)

static void *zlib_open(void)
{
	z_stream *stream = calloc(1, sizeof(*stream));

	if (stream && inflateInit2(stream, GZIP_WINDOW) != Z_OK) {
		free(stream);
		return NULL;
	}
	return stream;
}

static void zlib_close(void *state)
{
	inflateEnd(state);
	free(state);
}

static void zlib_restart(void *state)
{
	inflateReset(state);
}

static uInt clamp(size_t size_bytes)
{
	return size_bytes < UINT_MAX ? (uInt)size_bytes : UINT_MAX;
}

static int zlib_step(void *state, struct ifp_codec_io *io)
{
	z_stream *stream = state;
	uInt in_bytes = clamp(io->in_bytes), out_bytes = clamp(io->out_bytes);
	int result;

	stream->next_in = io->in;
	stream->avail_in = in_bytes;
	stream->next_out = io->out;
	stream->avail_out = out_bytes;
	result = inflate(stream, Z_NO_FLUSH);
	io->in = stream->next_in;
	io->in_bytes -= in_bytes - stream->avail_in;
	io->out = stream->next_out;
	io->out_bytes -= out_bytes - stream->avail_out;
	switch (result) {
	case Z_OK:
	case Z_BUF_ERROR: /* no progress */
		return 0;
	case Z_STREAM_END:
		return 1;
	case Z_MEM_ERROR:
		return ifp_fail(-ENOMEM, "out of memory");
	default:
		return ifp_fail(-EBADMSG, "the gzip stream is damaged: %s",
			stream->msg ? stream->msg : "unknown format");
	}
}

const struct ifp_codec ifp_codec_gzip = {
	.name = "gzip",
	.open = zlib_open,
	.close = zlib_close,
	.restart = zlib_restart,
	.step = zlib_step,
};
