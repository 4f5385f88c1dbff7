/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed streams, unpacked piece by piece. A state belongs to one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left to be read and room that is left to be written; both are moved by a step. */
struct ifp_codec_io {
	const uint8_t *in;
	size_t in_bytes;
	uint8_t *out;
	size_t out_bytes;
};

struct ifp_codec {
	const char *name;    /* for people: "gzip" */
	void *(*open)(void); /* NULL: out of memory */
	void (*close)(void *state);
	void (*restart)(void *state); /* at the start of the next member of the file */
	/*
	 * Goes on as far as in and out allow: 1 when the member has ended, else 0. Where neither
	 * has moved, more of one of them is needed. -EBADMSG with a cause when the stream is
	 * damaged; out has moved past what could be unpacked before.
	 */
	int (*step)(void *state, struct ifp_codec_io *io);
};

/* With ISA-L where it was found when infprof was built, else with zlib. */
extern const struct ifp_codec ifp_codec_gzip;
extern const struct ifp_codec ifp_codec_zstd;
