/* SPDX-License-Identifier: Apache-2.0 */
/* An archive read whole, for `infprof check`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ifp_check_archive {
	uint64_t frames, events;
	bool index_missing;	 /* its writer was killed: no damage */
	uint64_t damaged_bytes;	 /* that are in no frame */
	uint64_t damaged_places; /* where these are */
	uint64_t bad_frames;	 /* whole, but nothing that can be decoded is in them */
};

/* Whether a file is meant to be an archive: by its first bytes or, where these are lost, its name.
 */
bool ifp_check_is_archive(const char *path);

/* Reads and decodes every frame. Errors are those of ifp_archive_reader_open(). */
int ifp_check_archive(const char *path, struct ifp_check_archive *out);
