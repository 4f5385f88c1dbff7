/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/input.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#define FILE_WINDOW_BYTES (64u * 1024u)
#define PLAIN_WINDOW_BYTES (256u * 1024u)

/* 32: zlib finds out itself whether the header is gzip's or zlib's; 15: the largest window. */
#define ANY_HEADER (32 + 15)

struct ifp_input {
	int fd;
	bool packed;
	bool inflating; /* in the middle of a gzip member */
	bool file_ended;
	int damage; /* found behind the bytes of the last call: told by the next */
	z_stream stream;
	uint8_t file[FILE_WINDOW_BYTES];
	uint8_t plain[PLAIN_WINDOW_BYTES];
};

/* Fills the file window where it is used up. */
static int fill(struct ifp_input *input)
{
	ssize_t got;

	if (input->stream.avail_in || input->file_ended)
		return 0;
	do
		got = read(input->fd, input->file, sizeof(input->file));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return ifp_fail_errno("read");
	input->file_ended = !got;
	input->stream.next_in = input->file;
	input->stream.avail_in = (uInt)got;
	return 0;
}

int ifp_input_open(const char *path, struct ifp_input **out)
{
	IFP_CLEANUP(ifp_input_close) struct ifp_input *input = calloc(1, sizeof(*input));
	int err;

	if (!input)
		return ifp_fail(-ENOMEM, "open %s: out of memory", path);
	input->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (input->fd < 0)
		return ifp_fail_errno("open %s", path);
	err = fill(input);
	if (err)
		return ifp_fail(err, "open %s", path);
	input->packed =
		input->stream.avail_in >= 2 && input->file[0] == 0x1f && input->file[1] == 0x8b;
	if (input->packed && inflateInit2(&input->stream, ANY_HEADER) != Z_OK) {
		input->packed = false;
		return ifp_fail(-ENOMEM, "open %s: out of memory", path);
	}
	input->inflating = input->packed;
	*out = IFP_TAKE_PTR(input);
	return 0;
}

void ifp_input_close(struct ifp_input **input)
{
	if (!*input)
		return;
	if ((*input)->packed)
		inflateEnd(&(*input)->stream);
	if ((*input)->fd >= 0)
		close((*input)->fd);
	free(*input);
	*input = NULL;
}

/*
 * Between two gzip members: zeros that pad the file to a block are skipped, anything else must be
 * the next member. False at the end of the file.
 */
static bool next_member(struct ifp_input *input, int *err)
{
	while (!(*err = fill(input)) && input->stream.avail_in) {
		if (*input->stream.next_in) {
			inflateReset(&input->stream);
			input->inflating = true;
			return true;
		}
		input->stream.next_in++;
		input->stream.avail_in--;
	}
	return false;
}

/* One step of unpacking, into what is left of the plain window. */
static int inflate_some(struct ifp_input *input)
{
	int err = fill(input);

	if (err)
		return err;
	switch (inflate(&input->stream, Z_NO_FLUSH)) {
	case Z_OK:
		return 0;
	case Z_STREAM_END:
		input->inflating = false;
		return 0;
	case Z_BUF_ERROR: /* no progress: the window is full, or the file ends too early */
		if (!input->stream.avail_out || !input->file_ended)
			return 0;
		return ifp_fail(-EBADMSG, "the gzip stream is cut off");
	case Z_MEM_ERROR:
		return ifp_fail(-ENOMEM, "out of memory");
	default:
		return ifp_fail(-EBADMSG, "the gzip stream is damaged: %s",
			input->stream.msg ? input->stream.msg : "unknown format");
	}
}

static int next_unpacked(struct ifp_input *input, const uint8_t **data, size_t *len_bytes)
{
	int err = input->damage;

	input->stream.next_out = input->plain;
	input->stream.avail_out = sizeof(input->plain);
	while (!err && input->stream.avail_out) {
		if (!input->inflating && !next_member(input, &err))
			break;
		err = inflate_some(input);
	}
	*data = input->plain;
	*len_bytes = sizeof(input->plain) - input->stream.avail_out;
	if (*len_bytes) {
		input->damage = err;
		return 1;
	}
	return err;
}

int ifp_input_next(struct ifp_input *input, const uint8_t **data, size_t *len_bytes)
{
	int err;

	if (input->packed)
		return next_unpacked(input, data, len_bytes);
	err = fill(input);
	if (err || !input->stream.avail_in)
		return err;
	*data = input->stream.next_in;
	*len_bytes = input->stream.avail_in;
	input->stream.avail_in = 0;
	return 1;
}
