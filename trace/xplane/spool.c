/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/xplane/spool.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES (1u << 20)
#define COPY_BYTES (256u * 1024u)

int ifp_spool_write(int fd, const void *data, size_t len_bytes, const char *name)
{
	const uint8_t *bytes = data;

	while (len_bytes) {
		ssize_t written = write(fd, bytes, len_bytes);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return ifp_fail_errno("write %s", name);
		bytes += written;
		len_bytes -= (size_t)written;
	}
	return 0;
}

static int open_nameless(struct ifp_spool *spool)
{
	IFP_CLEANUP_FREE char *path = NULL;

	if (asprintf(&path, "%s.spool-XXXXXX", spool->beside) < 0) {
		path = NULL;
		return ifp_fail(-ENOMEM, "write %s: out of memory", spool->beside);
	}
	spool->fd = mkostemp(path, O_CLOEXEC);
	if (spool->fd < 0)
		return ifp_fail_errno("create %s", path);
	unlink(path);
	return 0;
}

int ifp_spool_settle(struct ifp_spool *spool)
{
	int err = ifp_buf_status(&spool->chunk);

	if (err || spool->chunk.len_bytes < CHUNK_BYTES)
		return err;
	if (spool->fd < 0)
		err = open_nameless(spool);
	if (!err)
		err = ifp_spool_write(
			spool->fd, spool->chunk.data, spool->chunk.len_bytes, spool->beside);
	if (err)
		return err;
	spool->settled_bytes += spool->chunk.len_bytes;
	ifp_buf_clear(&spool->chunk);
	return 0;
}

/* What lies in front of the chunk; returns how many bytes these were. */
static ssize_t patch_settled(
	struct ifp_spool *spool, uint64_t offset, const uint8_t *bytes, size_t len_bytes)
{
	if (offset >= spool->settled_bytes)
		return 0;
	if (len_bytes > spool->settled_bytes - offset)
		len_bytes = (size_t)(spool->settled_bytes - offset);
	return pwrite(spool->fd, bytes, len_bytes, (off_t)offset);
}

int ifp_spool_patch(
	struct ifp_spool *spool, uint64_t offset, const uint8_t *bytes, size_t len_bytes)
{
	int err = ifp_buf_status(&spool->chunk);

	while (!err && len_bytes && offset < spool->settled_bytes) {
		ssize_t written = patch_settled(spool, offset, bytes, len_bytes);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return ifp_fail_errno("write %s", spool->beside);
		offset += (uint64_t)written;
		bytes += written;
		len_bytes -= (size_t)written;
	}
	if (!err && len_bytes)
		memcpy(spool->chunk.data + (offset - spool->settled_bytes), bytes, len_bytes);
	return err;
}

static int copy_settled(struct ifp_spool *spool, int out)
{
	IFP_CLEANUP_FREE uint8_t *bytes = malloc(COPY_BYTES);
	uint64_t done = 0;

	if (!bytes)
		return ifp_fail(-ENOMEM, "write %s: out of memory", spool->beside);
	while (done < spool->settled_bytes) {
		ssize_t got = pread(spool->fd, bytes, COPY_BYTES, (off_t)done);
		int err;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ifp_fail_errno("read back %s", spool->beside);
		if (!got)
			return ifp_fail(-EIO, "read back %s: it became shorter", spool->beside);
		err = ifp_spool_write(out, bytes, (size_t)got, spool->beside);
		if (err)
			return err;
		done += (uint64_t)got;
	}
	return 0;
}

int ifp_spool_copy(struct ifp_spool *spool, int out)
{
	int err = ifp_buf_status(&spool->chunk);

	if (!err && spool->settled_bytes)
		err = copy_settled(spool, out);
	if (err)
		return err;
	return ifp_spool_write(out, spool->chunk.data, spool->chunk.len_bytes, spool->beside);
}

void ifp_spool_free(struct ifp_spool *spool)
{
	ifp_buf_free(&spool->chunk);
	if (spool->fd >= 0)
		close(spool->fd);
	spool->fd = -1;
	spool->settled_bytes = 0;
}
