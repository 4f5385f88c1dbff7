/* SPDX-License-Identifier: Apache-2.0 */
/* A file in memory with a path, for code that reads files: nothing is left behind. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct memory_file {
	int fd;
	char path[32];
};

static inline struct memory_file memory_file_new(void)
{
	struct memory_file file = {.fd = memfd_create("test", MFD_CLOEXEC)};

	if (file.fd < 0)
		abort();
	snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
	return file;
}

/* Replaces the content. */
static inline void memory_file_set(
	const struct memory_file *file, const void *data, size_t len_bytes)
{
	if (ftruncate(file->fd, 0) || pwrite(file->fd, data, len_bytes, 0) != (ssize_t)len_bytes)
		abort();
}

static inline void memory_file_free(struct memory_file *file)
{
	close(file->fd);
	file->fd = -1;
}
