/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs a gzip member, the only one of its file: browsers read no further. With ISA-L where it was
 * found when infprof was built, else with zlib. Belongs to one thread.
 */
#pragma once

#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct ifp_deflate;

/* level 1 (fast) to 9 (small). -ENOMEM. */
int ifp_deflate_open(int level, struct ifp_deflate **out);
void ifp_deflate_close(struct ifp_deflate **deflate);

/*
 * Appends to out what can be told of the member so far; all of it when these are its last bytes.
 * -ENOMEM, or -EIO when the library fails.
 */
int ifp_deflate_add(struct ifp_deflate *deflate, const void *data, size_t len_bytes, bool last,
	struct ifp_buf *out);
