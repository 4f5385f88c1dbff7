/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/uplink/spool.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_NAMES 1000

struct ifp_spool {
	char *directory;
	char *hidden; /* name where the file system has no files without one; else NULL */
	int fd;	      /* -1 = not created yet */
	uint64_t end_bytes;
	uint64_t limit_bytes;
	uint64_t frames; /* appended and not released */
};

int ifp_spool_new(const char *directory, uint64_t limit_bytes, struct ifp_spool **out)
{
	struct ifp_spool *spool = calloc(1, sizeof(*spool));

	if (!spool)
		return ifp_fail(-ENOMEM, "no memory for a spool");
	spool->fd = -1;
	spool->limit_bytes = limit_bytes;
	spool->directory = strdup(directory);
	if (!spool->directory) {
		ifp_spool_free(&spool);
		return ifp_fail(-ENOMEM, "no memory for a spool");
	}
	*out = spool;
	return 0;
}

void ifp_spool_free(struct ifp_spool **spool)
{
	struct ifp_spool *s = *spool;

	if (!s)
		return;
	if (s->hidden)
		unlink(s->hidden);
	if (s->fd >= 0)
		close(s->fd);
	free(s->hidden);
	free(s->directory);
	free(s);
	*spool = NULL;
}

static int write_at(
	const struct ifp_spool *spool, uint64_t offset, const void *data, size_t len_bytes)
{
	const uint8_t *from = data;

	while (len_bytes) {
		ssize_t n = pwrite(spool->fd, from, len_bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ifp_fail_errno("write the spool in %s", spool->directory);
		from += n;
		offset += (uint64_t)n;
		len_bytes -= (size_t)n;
	}
	return 0;
}

static int create(struct ifp_spool *spool)
{
	uint8_t header[IFP_ARCHIVE_HEADER_BYTES];
	IFP_CLEANUP_FREE char *hidden = NULL;
	int err;

	spool->fd = open(spool->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (spool->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		if (asprintf(&hidden, "%s/.infprof-spool-XXXXXX", spool->directory) < 0) {
			hidden = NULL;
			return ifp_fail(-ENOMEM, "no memory for a path");
		}
		spool->fd = mkostemp(hidden, O_CLOEXEC);
		if (spool->fd >= 0)
			spool->hidden = IFP_TAKE_PTR(hidden);
	}
	if (spool->fd < 0)
		return ifp_fail_errno("make a spool in %s", spool->directory);
	ifp_archive_header(header);
	err = write_at(spool, 0, header, sizeof(header));
	if (err) {
		close(spool->fd);
		spool->fd = -1;
		return err;
	}
	spool->end_bytes = sizeof(header);
	return 0;
}

int ifp_spool_append(struct ifp_spool *spool, const void *frame, size_t len_bytes, uint64_t *offset)
{
	uint64_t begin = spool->fd < 0 ? IFP_ARCHIVE_HEADER_BYTES : spool->end_bytes;
	int err;

	if (begin + len_bytes > spool->limit_bytes)
		return -ENOSPC;
	err = spool->fd < 0 ? create(spool) : 0;
	if (!err)
		err = write_at(spool, begin, frame, len_bytes);
	if (err)
		return err;
	*offset = begin;
	spool->end_bytes = begin + len_bytes;
	spool->frames++;
	return 0;
}

void ifp_spool_set_limit(struct ifp_spool *spool, uint64_t limit_bytes)
{
	spool->limit_bytes = limit_bytes;
}

int ifp_spool_read(struct ifp_spool *spool, uint64_t offset, void *frame, size_t len_bytes)
{
	int err = ifp_archive_read_at(spool->fd, offset, frame, len_bytes);

	return err ? ifp_fail(err, "read the spool in %s", spool->directory) : 0;
}

void ifp_spool_release(struct ifp_spool *spool)
{
	if (!spool->frames || --spool->frames)
		return;
	/* when it cannot be cut, it is written over */
	if (ftruncate(spool->fd, IFP_ARCHIVE_HEADER_BYTES) == 0)
		spool->end_bytes = IFP_ARCHIVE_HEADER_BYTES;
}

uint64_t ifp_spool_bytes(const struct ifp_spool *spool)
{
	return spool->end_bytes;
}

static int link_as(const struct ifp_spool *spool, const char *path)
{
	char self[64];

	if (spool->hidden)
		return link(spool->hidden, path);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", spool->fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

int ifp_spool_keep(struct ifp_spool *spool, const char *name, char **path)
{
	for (int i = 1; i <= MAX_NAMES; i++) {
		IFP_CLEANUP_FREE char *kept = NULL;
		int n = i == 1 ? asprintf(&kept, "%s/%s.ifp", spool->directory, name)
			       : asprintf(&kept, "%s/%s-%d.ifp", spool->directory, name, i);

		if (n < 0) {
			kept = NULL;
			return ifp_fail(-ENOMEM, "no memory for a path");
		}
		if (spool->fd >= 0 && link_as(spool, kept) == 0) {
			*path = IFP_TAKE_PTR(kept);
			return 0;
		}
		if (spool->fd < 0)
			return ifp_fail(-ENOENT, "the spool is empty");
		if (errno != EEXIST)
			break;
	}
	return ifp_fail_errno("keep the spool in %s", spool->directory);
}
