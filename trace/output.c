/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/output.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/deflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (128u * 1024u)
#define SUFFIX ".partial"

struct ifp_output {
	char *path;
	char *temporary; /* NULL = written under its own name */
	int fd;
	struct ifp_deflate *deflate; /* NULL = not packed */
	struct ifp_buf pending;	     /* not yet written */
	int err;		     /* first failure; the rest is not written */
};

void ifp_output_abandon(struct ifp_output **output)
{
	struct ifp_output *o = *output;

	if (!o)
		return;
	if (o->fd >= 0)
		close(o->fd);
	ifp_deflate_close(&o->deflate);
	ifp_buf_free(&o->pending);
	if (o->temporary)
		unlink(o->temporary);
	free(o->temporary);
	free(o->path);
	free(o);
	*output = NULL;
}

static bool is_packed(const char *path)
{
	size_t len = strlen(path);

	return len >= 3 && !strcmp(path + len - 3, ".gz");
}

/*
 * A device or a pipe is written to: a new file in its place would be no use to anybody. Of a link,
 * the file that it leads to is replaced.
 */
static int choose_names(struct ifp_output *output, const char *path)
{
	struct stat st;
	bool exists = stat(path, &st) == 0;
	bool direct = !strcmp(path, IFP_OUTPUT_STANDARD) ||
		      (exists && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));

	if (exists && S_ISDIR(st.st_mode))
		return ifp_fail(-EISDIR, "create %s: it is a directory", path);
	output->path = exists && !direct ? realpath(path, NULL) : strdup(path);
	if (!output->path)
		return ifp_fail_errno("create %s", path);
	if (direct)
		return 0;
	if (asprintf(&output->temporary, "%s" SUFFIX, output->path) < 0) {
		output->temporary = NULL;
		return ifp_fail(-ENOMEM, "create %s: out of memory", path);
	}
	return 0;
}

static const char *written_name(const struct ifp_output *output)
{
	return output->temporary ? output->temporary : output->path;
}

static int open_descriptor(const struct ifp_output *output)
{
	if (output->temporary)
		return open(output->temporary,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (!strcmp(output->path, IFP_OUTPUT_STANDARD))
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	return open(output->path, O_WRONLY | O_CLOEXEC);
}

static int open_file(struct ifp_output *output, int gzip_level)
{
	output->fd = open_descriptor(output);
	if (output->fd < 0)
		return ifp_fail_errno("create %s", written_name(output));
	return is_packed(output->path) ? ifp_deflate_open(gzip_level, &output->deflate) : 0;
}

int ifp_output_open(const char *path, int gzip_level, struct ifp_output **out)
{
	IFP_CLEANUP(ifp_output_abandon) struct ifp_output *output = calloc(1, sizeof(*output));
	int err;

	if (!output)
		return ifp_fail(-ENOMEM, "create %s: out of memory", path);
	output->fd = -1;
	err = choose_names(output, path);
	if (!err)
		err = open_file(output, gzip_level);
	if (!err)
		*out = IFP_TAKE_PTR(output);
	return err;
}

static int flush(struct ifp_output *output)
{
	const struct ifp_buf *buf = &output->pending;

	for (size_t at = 0; at < buf->len_bytes;) {
		ssize_t written = write(output->fd, buf->data + at, buf->len_bytes - at);

		if (written < 0 && errno != EINTR)
			return ifp_fail_errno("write %s", written_name(output));
		at += written > 0 ? (size_t)written : 0;
	}
	ifp_buf_clear(&output->pending);
	return 0;
}

static int add(struct ifp_output *output, const struct ifp_buf *buf, bool last)
{
	if (output->deflate)
		return ifp_deflate_add(
			output->deflate, buf->data, buf->len_bytes, last, &output->pending);
	ifp_buf_append(&output->pending, buf->data, buf->len_bytes);
	return ifp_buf_status(&output->pending);
}

void ifp_output_write(struct ifp_output *output, const struct ifp_buf *buf)
{
	if (!output->err)
		output->err = ifp_buf_status(buf);
	if (!output->err && buf->len_bytes)
		output->err = add(output, buf, false);
	if (!output->err && output->pending.len_bytes >= BUFFER_BYTES)
		output->err = flush(output);
}

int ifp_output_close(struct ifp_output **output)
{
	IFP_CLEANUP(ifp_output_abandon) struct ifp_output *o = IFP_TAKE_PTR(*output);

	if (!o->err)
		o->err = add(o, &(struct ifp_buf){0}, true);
	if (!o->err)
		o->err = flush(o);
	/* File systems may keep an error for the end. */
	if (close(IFP_TAKE_FD(o->fd)) && !o->err)
		o->err = ifp_fail_errno("write %s", written_name(o));
	if (!o->err && o->temporary && rename(o->temporary, o->path))
		o->err = ifp_fail_errno("rename %s to %s", o->temporary, o->path);
	if (!o->err) {
		free(o->temporary);
		o->temporary = NULL;
	}
	return o->err;
}
