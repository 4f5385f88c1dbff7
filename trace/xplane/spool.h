/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes whose place in a file is not known yet: a little of them in memory, the rest in a nameless
 * file beside the one that they are for. One thread.
 */
#pragma once

#include "core/buf.h"

#include <stddef.h>
#include <stdint.h>

struct ifp_spool {
	struct ifp_buf chunk;	/* the end: append here, then call ifp_spool_settle() */
	uint64_t settled_bytes; /* in the file, in front of the chunk */
	const char *beside;	/* borrowed: path of the file that they are for */
	int fd;			/* of the nameless file; -1 = none yet */
};

/* An empty one. */
static inline struct ifp_spool ifp_spool(const char *beside)
{
	return (struct ifp_spool){.beside = beside, .fd = -1};
}

static inline uint64_t ifp_spool_bytes(const struct ifp_spool *spool)
{
	return spool->settled_bytes + spool->chunk.len_bytes;
}

/* Moves the chunk into the file when it has become large. 0 or negative errno. */
int ifp_spool_settle(struct ifp_spool *spool);

/* Writes over bytes that were appended before. */
int ifp_spool_patch(
	struct ifp_spool *spool, uint64_t offset, const uint8_t *bytes, size_t len_bytes);

/* Writes all of them to out, a descriptor. */
int ifp_spool_copy(struct ifp_spool *spool, int out);

void ifp_spool_free(struct ifp_spool *spool);

/* All bytes to a descriptor; the cause of a failure names what is written. */
int ifp_spool_write(int fd, const void *data, size_t len_bytes, const char *name);
