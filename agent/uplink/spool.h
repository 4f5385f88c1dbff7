/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames on disk: what the memory of the agent does not hold while the collector is slow or gone.
 * The file has no name, so that nothing is left behind however the agent ends, until it is kept:
 * then it becomes an archive without index under a name of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ifp_spool;

/* Nothing is created before the first frame. directory is copied. */
int ifp_spool_new(const char *directory, uint64_t limit_bytes, struct ifp_spool **out);
void ifp_spool_free(struct ifp_spool **spool);

/*
 * Appends an encoded frame and gives its place. -ENOSPC without a cause when the spool would grow
 * beyond its limit; -ENOSPC and others with a cause when the file system refuses.
 */
int ifp_spool_append(
	struct ifp_spool *spool, const void *frame, size_t len_bytes, uint64_t *offset);

/* A limit of UINT64_MAX is none. */
void ifp_spool_set_limit(struct ifp_spool *spool, uint64_t limit_bytes);

int ifp_spool_read(struct ifp_spool *spool, uint64_t offset, void *frame, size_t len_bytes);

/* One of the appended frames is needed no more; with the last of them the file becomes empty. */
void ifp_spool_release(struct ifp_spool *spool);

/* Bytes on disk. */
uint64_t ifp_spool_bytes(const struct ifp_spool *spool);

/*
 * Gives the file a name in its directory, "<name>.ifp" or "<name>-2.ifp" and so on; nothing may be
 * appended later. *path is owned by the caller.
 */
int ifp_spool_keep(struct ifp_spool *spool, const char *name, char **path);
