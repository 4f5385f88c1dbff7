/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ownership made visible in declarations: a local marked IFP_CLEANUP_* releases what it holds when
 * it leaves scope, and IFP_TAKE_PTR / IFP_TAKE_FD show the one place where it escapes instead.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void ifp_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void ifp_cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void ifp_cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void ifp_cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define IFP_CLEANUP(function) __attribute__((cleanup(function)))
#define IFP_CLEANUP_FREE IFP_CLEANUP(ifp_cleanup_free)
#define IFP_CLEANUP_FD IFP_CLEANUP(ifp_cleanup_fd)
#define IFP_CLEANUP_FILE IFP_CLEANUP(ifp_cleanup_file)
#define IFP_CLEANUP_DIR IFP_CLEANUP(ifp_cleanup_dir)

/* Hand a pointer (a descriptor) on: yields it and leaves NULL (-1) behind. */
#define IFP_TAKE_PTR(p)                                                                            \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})
#define IFP_TAKE_FD(fd)                                                                            \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

#define IFP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
