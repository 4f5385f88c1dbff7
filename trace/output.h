/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file while it is written, plain or packed with gzip: under a temporary name that is renamed at
 * the end, so that a reader never sees half of it. Only devices, pipes and the standard output are
 * written to as they are. Belongs to one thread.
 */
#pragma once

#include "core/buf.h"

struct ifp_output;

/* As a path: the standard output. */
#define IFP_OUTPUT_STANDARD "-"

/* Packed when the name ends in .gz; gzip_level 1 to 9. Of a link, what it leads to is replaced. */
int ifp_output_open(const char *path, int gzip_level, struct ifp_output **out);

/* Writes what is in buf, which may have failed. The first failure is kept for close(). */
void ifp_output_write(struct ifp_output *output, const struct ifp_buf *buf);

/*
 * Finishes, renames into place, frees. On failure the temporary file is gone, and whatever stood
 * under the name before is still there.
 */
int ifp_output_close(struct ifp_output **output);

/* Gives up: removes the temporary file. */
void ifp_output_abandon(struct ifp_output **output);
