/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The archive as the session sees it: frames go in, numbers that may be acknowledged come out.
 *
 * When a frame cannot be written (full disk), it and all after it are kept in memory (no more than
 * the credit allows), no credit is given, and writing is tried again each second. Nothing that is
 * not written is acknowledged, so the agents keep theirs too: the disk may stay full for as long
 * as it likes, and `infprof collect` adds the agents' spools later.
 */
#pragma once

#include "trace/archive/archive.h"

#include <stdbool.h>
#include <stdint.h>

#define IFP_STORE_RETRY_NS INT64_C(1000000000)
/* Frames that a rank may have under way: 16 blocks, mostly of less than 1 MiB. */
#define IFP_STORE_CREDIT 16u
/* The collector's own frames that are kept at most; beyond that they are counted only. */
#define IFP_STORE_MAX_KEPT_OWN 4096u

struct ifp_store;

/* Takes the writer. */
int ifp_store_new(struct ifp_archive_writer **writer, uint32_t world, struct ifp_store **out);

/*
 * Tries once more to write what is kept, closes the archive with its index. 0, or negative errno
 * when anything could not be written.
 */
int ifp_store_close(struct ifp_store **store);

/*
 * Stores a frame, or keeps a copy for later; doubles are left out. -EAGAIN (no cause) when it is
 * not taken and its rank has to send it again: it stands behind a gap in its rank's numbers, or
 * more than the credit is under way. -EINVAL for a frame that no archive takes; -ENOMEM.
 */
int ifp_store_frame(struct ifp_store *store, const struct ifp_frame *frame, int64_t now_ns);

/* Tries again what is kept. To be called a few times a second. */
void ifp_store_tick(struct ifp_store *store, int64_t now_ns);

/* All numbers of this rank up to here are in the archive. */
uint64_t ifp_store_acknowledged(const struct ifp_store *store, uint32_t rank);

/* Frames that a rank may send beyond what is acknowledged: 0 while the disk is full. */
uint32_t ifp_store_credit(const struct ifp_store *store);
