/* SPDX-License-Identifier: Apache-2.0 */
/* The output directory of a collector. */
#pragma once

/*
 * The absolute form of the directory's name, owned by the caller: the archive names it, and agents
 * print it. NULL = infprof-out/collector-TIME below the working directory. NULL when out of memory.
 */
char *ifp_directory_name(const char *wish);

/* Makes it, with those above it, where it is missing. */
int ifp_directory_make(const char *path);
