/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/output.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_BYTES (128u * 1024u)
#define SUFFIX ".partial"

struct ifp_output {
	char *path;
	char *temporary; /* NULL = written under its own name */
	gzFile file;
	int err; /* first failure; the rest is not written */
};

void ifp_output_abandon(struct ifp_output **output)
{
	struct ifp_output *o = *output;

	if (!o)
		return;
	if (o->file)
		gzclose(o->file);
	if (o->temporary)
		unlink(o->temporary);
	free(o->temporary);
	free(o->path);
	free(o);
	*output = NULL;
}

/* The mode of gzdopen: "T" writes without compression. */
static void open_mode(const char *path, int gzip_level, char mode[4])
{
	size_t len = strlen(path);
	bool packed = len >= 3 && !strcmp(path + len - 3, ".gz");

	mode[0] = 'w';
	mode[1] = packed ? (char)('0' + gzip_level) : 'T';
	mode[2] = '\0';
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
	IFP_CLEANUP_FD int fd = open_descriptor(output);
	char mode[4];

	if (fd < 0)
		return ifp_fail_errno("create %s", written_name(output));
	open_mode(output->path, gzip_level, mode);
	output->file = gzdopen(fd, mode);
	if (!output->file)
		return ifp_fail(-ENOMEM, "create %s: out of memory", written_name(output));
	(void)IFP_TAKE_FD(fd);
	gzbuffer(output->file, BUFFER_BYTES);
	return 0;
}

int ifp_output_open(const char *path, int gzip_level, struct ifp_output **out)
{
	IFP_CLEANUP(ifp_output_abandon) struct ifp_output *output = calloc(1, sizeof(*output));
	int err;

	if (!output)
		return ifp_fail(-ENOMEM, "create %s: out of memory", path);
	err = choose_names(output, path);
	if (!err)
		err = open_file(output, gzip_level);
	if (!err)
		*out = IFP_TAKE_PTR(output);
	return err;
}

void ifp_output_write(struct ifp_output *output, const struct ifp_buf *buf)
{
	if (!output->err)
		output->err = ifp_buf_status(buf);
	if (!output->err && buf->len_bytes &&
		gzwrite(output->file, buf->data, (unsigned int)buf->len_bytes) <= 0)
		output->err = ifp_fail_errno("write %s", written_name(output));
}

int ifp_output_close(struct ifp_output **output)
{
	IFP_CLEANUP(ifp_output_abandon) struct ifp_output *o = IFP_TAKE_PTR(*output);

	if (!o->err) {
		errno = 0;
		if (gzclose(IFP_TAKE_PTR(o->file)) != Z_OK)
			o->err = ifp_fail_errno("write %s", written_name(o));
	}
	if (!o->err && o->temporary && rename(o->temporary, o->path))
		o->err = ifp_fail_errno("rename %s to %s", o->temporary, o->path);
	if (!o->err) {
		free(o->temporary);
		o->temporary = NULL;
	}
	return o->err;
}
