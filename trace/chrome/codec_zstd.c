/* SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"
#include "trace/chrome/codec.h"

#include <errno.h>
#include <zstd.h>

static void *zstd_open(void)
{
	return ZSTD_createDCtx();
}

static void zstd_close(void *state)
{
	ZSTD_freeDCtx(state);
}

static void zstd_restart(void *state)
{
	ZSTD_DCtx_reset(state, ZSTD_reset_session_only);
}

static int zstd_step(void *state, struct ifp_codec_io *io)
{
	ZSTD_inBuffer in = {io->in, io->in_bytes, 0};
	ZSTD_outBuffer out = {io->out, io->out_bytes, 0};
	size_t left = ZSTD_decompressStream(state, &out, &in);

	io->in += in.pos;
	io->in_bytes -= in.pos;
	io->out += out.pos;
	io->out_bytes -= out.pos;
	if (ZSTD_isError(left))
		return ifp_fail(
			-EBADMSG, "the zstd stream is damaged: %s", ZSTD_getErrorName(left));
	return !left;
}

const struct ifp_codec ifp_codec_zstd = {
	.name = "zstd",
	.open = zstd_open,
	.close = zstd_close,
	.restart = zstd_restart,
	.step = zstd_step,
};
