/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/xplane/writer.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/xplane/plane.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".partial"

/* Numbers of fields: xla/tsl/profiler/protobuf/xplane.proto. */
enum {
	SPACE_PLANES = 1,
	PLANE_ID = 1,
	PLANE_NAME = 2,
};

/* What a plane takes beside its lines and tables, its name apart, at most. */
#define PLANE_BYTES 64

struct ifp_xplane_writer {
	char *path;
	char *temporary;
	struct ifp_xplane_total total;
	struct ifp_xplane_plane **planes;
	uint32_t plane_count;
};

static void release(struct ifp_xplane_writer **writer)
{
	struct ifp_xplane_writer *w = *writer;

	if (!w)
		return;
	for (uint32_t i = 0; i < w->plane_count; i++)
		ifp_xplane_plane_free(w->planes[i]);
	free(w->planes);
	free(w->path);
	free(w->temporary);
	free(w);
	*writer = NULL;
}

void ifp_xplane_abandon(struct ifp_xplane_writer **writer)
{
	release(writer);
}

int ifp_xplane_open(const char *path, uint64_t limit_bytes, struct ifp_xplane_writer **out)
{
	IFP_CLEANUP(release) struct ifp_xplane_writer *writer = calloc(1, sizeof(*writer));

	if (writer) {
		writer->path = strdup(path);
		if (asprintf(&writer->temporary, "%s" SUFFIX, path) < 0)
			writer->temporary = NULL;
	}
	if (!writer || !writer->path || !writer->temporary)
		return ifp_fail(-ENOMEM, "create %s: out of memory", path);
	writer->total.limit_bytes =
		limit_bytes < IFP_XPLANE_MAX_BYTES ? limit_bytes : IFP_XPLANE_MAX_BYTES - 1;
	*out = IFP_TAKE_PTR(writer);
	return 0;
}

static struct ifp_xplane_plane *add_plane(
	struct ifp_xplane_writer *writer, const char *name, int64_t id)
{
	struct ifp_xplane_plane **planes =
		reallocarray(writer->planes, writer->plane_count + 1, sizeof(*planes));
	struct ifp_xplane_plane *plane = calloc(1, sizeof(*plane));
	char *copy = strdup(name);

	if (planes)
		writer->planes = planes;
	if (!planes || !plane || !copy) {
		free(plane);
		free(copy);
		return NULL;
	}
	*plane = (struct ifp_xplane_plane){
		.total = &writer->total,
		.name = copy,
		.id = id,
		.lines = ifp_spool(writer->path),
	};
	planes[writer->plane_count++] = plane;
	writer->total.bytes += PLANE_BYTES + strlen(name);
	return plane;
}

struct ifp_xplane_plane *ifp_xplane_plane(
	struct ifp_xplane_writer *writer, const char *name, int64_t id)
{
	struct ifp_xplane_plane *plane;

	for (uint32_t i = 0; i < writer->plane_count; i++)
		if (!strcmp(writer->planes[i]->name, name))
			return writer->planes[i];
	plane = add_plane(writer, name, id);
	if (!plane && !writer->total.err)
		writer->total.err = ifp_fail(-ENOMEM, "write %s: out of memory", writer->path);
	return plane;
}

/* The plane's head, with the length of all of it in front. */
static void append_head(
	const struct ifp_xplane_plane *plane, size_t tables_bytes, struct ifp_buf *out)
{
	IFP_CLEANUP_BUF struct ifp_buf head = {0};

	ifp_protobuf_int(&head, PLANE_ID, plane->id);
	ifp_protobuf_text(&head, PLANE_NAME, ifp_str(plane->name));
	ifp_protobuf_tag(out, SPACE_PLANES, IFP_PROTOBUF_BYTES);
	ifp_buf_append_varint(out, head.len_bytes + ifp_spool_bytes(&plane->lines) + tables_bytes);
	ifp_buf_append(out, head.data, head.len_bytes);
	out->failed |= head.failed;
}

static int write_plane(struct ifp_xplane_writer *writer, struct ifp_xplane_plane *plane, int fd)
{
	IFP_CLEANUP_BUF struct ifp_buf head = {0};
	IFP_CLEANUP_BUF struct ifp_buf tables = {0};
	int err = ifp_xplane_plane_tables(plane, &tables);

	append_head(plane, tables.len_bytes, &head);
	if (!err)
		err = ifp_buf_status(&head);
	if (!err)
		err = ifp_spool_write(fd, head.data, head.len_bytes, writer->temporary);
	if (!err)
		err = ifp_spool_copy(&plane->lines, fd);
	return err ? err : ifp_spool_write(fd, tables.data, tables.len_bytes, writer->temporary);
}

static int write_planes(struct ifp_xplane_writer *writer, uint64_t *bytes)
{
	IFP_CLEANUP_FD int fd = open(
		writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	off_t size;
	int err = 0;

	if (fd < 0)
		return ifp_fail_errno("create %s", writer->temporary);
	for (uint32_t i = 0; i < writer->plane_count && !err; i++)
		err = write_plane(writer, writer->planes[i], fd);
	if (err)
		return err;
	size = lseek(fd, 0, SEEK_CUR);
	if (size < 0 || close(IFP_TAKE_FD(fd)))
		return ifp_fail_errno("write %s", writer->temporary);
	*bytes = (uint64_t)size;
	return 0;
}

int ifp_xplane_close(struct ifp_xplane_writer **writer, uint64_t *bytes)
{
	IFP_CLEANUP(release) struct ifp_xplane_writer *w = IFP_TAKE_PTR(*writer);
	uint64_t size = 0;
	int err;

	for (uint32_t i = 0; i < w->plane_count; i++)
		ifp_xplane_plane_end_line(w->planes[i]);
	err = w->total.err ? w->total.err : write_planes(w, &size);
	if (!err && rename(w->temporary, w->path))
		err = ifp_fail_errno("rename %s to %s", w->temporary, w->path);
	if (err) {
		unlink(w->temporary);
		return err;
	}
	*bytes = size;
	return 0;
}
