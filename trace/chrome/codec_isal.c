/* SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"
#include "trace/chrome/codec.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <limits.h>
#include <stdlib.h>

static void isal_restart(void *state)
{
	isal_inflate_reset(state);
	((struct inflate_state *)state)->crc_flag = ISAL_GZIP;
}

static void *isal_open(void)
{
	struct inflate_state *state = malloc(sizeof(*state));

	if (state) {
		isal_inflate_init(state);
		isal_restart(state);
	}
	return state;
}

static uint32_t clamp(size_t size_bytes)
{
	return size_bytes < UINT32_MAX ? (uint32_t)size_bytes : UINT32_MAX;
}

static const char *reason(int result)
{
	switch (result) {
	case ISAL_INVALID_BLOCK:
		return "a malformed block";
	case ISAL_INVALID_SYMBOL:
		return "a malformed code";
	case ISAL_INVALID_LOOKBACK:
		return "a copy from before its start";
	case ISAL_INCORRECT_CHECKSUM:
		return "a wrong checksum";
	default:
		return "a malformed header";
	}
}

static int isal_step(void *opaque, struct ifp_codec_io *io)
{
	struct inflate_state *state = opaque;
	uint32_t in_bytes = clamp(io->in_bytes), out_bytes = clamp(io->out_bytes);
	int result;

	state->next_in = (uint8_t *)(uintptr_t)io->in; /* not written to */
	state->avail_in = in_bytes;
	state->next_out = io->out;
	state->avail_out = out_bytes;
	result = isal_inflate(state);
	io->in_bytes -= in_bytes - state->avail_in;
	io->in = state->next_in;
	io->out_bytes -= out_bytes - state->avail_out;
	io->out = state->next_out;
	if (result < 0 || result == ISAL_NEED_DICT)
		return ifp_fail(-EBADMSG, "the gzip stream is damaged: it has %s", reason(result));
	return state->block_state == ISAL_BLOCK_FINISH;
}

const struct ifp_codec ifp_codec_gzip = {
	.name = "gzip",
	.open = isal_open,
	.close = free,
	.restart = isal_restart,
	.step = isal_step,
};
