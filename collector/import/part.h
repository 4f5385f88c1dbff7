/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several processes that import together tell each other, as files in a directory of theirs:
 *
 *   list    the traces that process 0 has found, and which process reads which
 *   N.part  what process N has found in its own
 *   N       its blocks of events, one behind the other (the spill file)
 *
 * They live as long as the import, and are read by the same version of infprof. Private to
 * collector/import.
 */
#pragma once

#include "collector/import/import.h"

/*
 * Gives each file to one of the processes so that all have about the same number of bytes: the
 * largest file first, each to the process that has least.
 */
int ifp_import_share(struct ifp_import *import, uint32_t processes);

/* The path of a file in the directory, for free(); NULL when memory is short. */
char *ifp_import_list_path(const char *directory);
char *ifp_import_part_path(const char *directory, uint32_t process);
char *ifp_import_spill_path(const char *directory, uint32_t process);

int ifp_import_list_write(const struct ifp_import *import, const char *directory);

/* Into an import without files. */
int ifp_import_list_read(struct ifp_import *import, const char *directory);

/* Of the import's own process. */
int ifp_import_part_write(const struct ifp_import *import, const char *directory);

/* Takes what another process has read into an import that has the same list. */
int ifp_import_part_read(struct ifp_import *import, uint32_t process, const char *directory);
