/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/input.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/chrome/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_WINDOW_BYTES (64u * 1024u)
#define PLAIN_WINDOW_BYTES (256u * 1024u)

struct ifp_input {
	int fd;
	const struct ifp_codec *codec; /* NULL: the file is plain */
	void *codec_state;
	bool in_member; /* of the packed file */
	bool file_ended;
	int damage; /* found behind the bytes of the last call: told by all further ones */
	char damage_cause[256];
	uint64_t read_bytes; /* of the file */
	uint64_t end_bytes;  /* of the file as it was opened: one that grows would have no end */
	struct ifp_codec_io io;
	uint8_t file[FILE_WINDOW_BYTES];
	uint8_t plain[PLAIN_WINDOW_BYTES];
};

/* Fills the file window where it is used up. */
static int fill(struct ifp_input *input)
{
	uint64_t wanted = input->end_bytes - input->read_bytes;
	ssize_t got;

	if (input->io.in_bytes || input->file_ended)
		return 0;
	if (wanted > sizeof(input->file))
		wanted = sizeof(input->file);
	do
		got = read(input->fd, input->file, wanted);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return ifp_fail_errno("read");
	input->file_ended = !got;
	input->io.in = input->file;
	input->io.in_bytes = (size_t)got;
	input->read_bytes += (size_t)got;
	return 0;
}

/* A size of 0 may be that of a file whose size nobody knows. */
static uint64_t end_of(int fd)
{
	struct stat status;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || !status.st_size)
		return UINT64_MAX;
	return (uint64_t)status.st_size;
}

static const struct ifp_codec *codec_of(const struct ifp_input *input)
{
	if (input->io.in_bytes >= 2 && !memcmp(input->file, "\x1f\x8b", 2))
		return &ifp_codec_gzip;
	if (input->io.in_bytes >= 4 && !memcmp(input->file, "\x28\xb5\x2f\xfd", 4))
		return &ifp_codec_zstd;
	return NULL;
}

/* Files that people take for traces, by their first bytes; no JSON begins so. */
static int check_form(const struct ifp_input *input)
{
	static const struct {
		const char *start;
		size_t bytes;
		const char *what;
	} forms[] = {
		{"PK\x03\x04", 4, "a zip archive: unpack it first"},
		{"\xfd"
		 "7zXZ",
			5, "packed with xz: unpack it first"},
		{"BZh", 3, "packed with bzip2: unpack it first"},
		{"\xff\xfe", 2, "text in UTF-16: convert it to UTF-8 first"},
		{"\xfe\xff", 2, "text in UTF-16: convert it to UTF-8 first"},
		{"\x89IFP", 4, "an archive of infprof, not a trace: infprof timeline draws it"},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (input->io.in_bytes >= forms[i].bytes &&
			!memcmp(input->file, forms[i].start, forms[i].bytes))
			return ifp_fail(-EBADMSG, "it is %s", forms[i].what);
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
	input->end_bytes = end_of(input->fd);
	err = fill(input);
	if (err)
		return ifp_fail(err, "open %s", path);
	err = check_form(input);
	if (err)
		return ifp_fail(err, "%s", path);
	input->codec = codec_of(input);
	if (input->codec && !(input->codec_state = input->codec->open()))
		return ifp_fail(-ENOMEM, "open %s: out of memory", path);
	input->in_member = input->codec;
	*out = IFP_TAKE_PTR(input);
	return 0;
}

void ifp_input_close(struct ifp_input **input)
{
	if (!*input)
		return;
	if ((*input)->codec_state)
		(*input)->codec->close((*input)->codec_state);
	if ((*input)->fd >= 0)
		close((*input)->fd);
	free(*input);
	*input = NULL;
}

/* A byte at the end may be the start of a member that is cut off. */
static bool begins_member(const struct ifp_input *input)
{
	static const uint8_t gzip[] = {0x1f, 0x8b};
	size_t bytes = input->io.in_bytes < sizeof(gzip) ? input->io.in_bytes : sizeof(gzip);

	return input->codec != &ifp_codec_gzip || !memcmp(input->io.in, gzip, bytes);
}

/*
 * Between two members of a packed file: zeros that pad the file to a block are skipped, anything
 * else must be the next member. False at the end of the file.
 */
static bool next_member(struct ifp_input *input, int *err)
{
	while (!(*err = fill(input)) && input->io.in_bytes) {
		if (*input->io.in && !begins_member(input)) {
			*err = ifp_fail(-EBADMSG, "behind the gzip stream are trailing bytes that "
						  "are no gzip member");
			return false;
		}
		if (*input->io.in) {
			input->codec->restart(input->codec_state);
			input->in_member = true;
			return true;
		}
		input->io.in++;
		input->io.in_bytes--;
	}
	return false;
}

/* One step of unpacking, into what is left of the plain window. */
static int unpack_some(struct ifp_input *input)
{
	struct ifp_codec_io before;
	int result = fill(input);

	if (result)
		return result;
	before = input->io;
	result = input->codec->step(input->codec_state, &input->io);
	if (result < 0)
		return result;
	if (result) {
		input->in_member = false;
		return 0;
	}
	if (input->file_ended && before.in == input->io.in && before.out == input->io.out)
		return ifp_fail(-EBADMSG, "the %s stream is cut off", input->codec->name);
	return 0;
}

/* Keeps a failure for later: the bytes before it are given first. */
static void keep_damage(struct ifp_input *input, int err)
{
	input->damage = err;
	snprintf(input->damage_cause, sizeof(input->damage_cause), "%s",
		ifp_error_cause(ifp_error_depth() - 1));
	ifp_error_clear();
}

static int next_unpacked(struct ifp_input *input, const uint8_t **data, size_t *len_bytes)
{
	int err = 0;

	if (input->damage)
		return ifp_fail(input->damage, "%s", input->damage_cause);
	input->io.out = input->plain;
	input->io.out_bytes = sizeof(input->plain);
	while (!err && input->io.out_bytes) {
		if (!input->in_member && !next_member(input, &err))
			break;
		err = unpack_some(input);
	}
	*data = input->plain;
	*len_bytes = sizeof(input->plain) - input->io.out_bytes;
	if (err < 0)
		keep_damage(input, err);
	if (*len_bytes)
		return 1;
	return err < 0 ? ifp_fail(err, "%s", input->damage_cause) : 0;
}

int ifp_input_next(struct ifp_input *input, const uint8_t **data, size_t *len_bytes)
{
	int err;

	if (input->codec)
		return next_unpacked(input, data, len_bytes);
	err = fill(input);
	if (err || !input->io.in_bytes)
		return err;
	*data = input->io.in;
	*len_bytes = input->io.in_bytes;
	input->io.in_bytes = 0;
	return 1;
}

uint64_t ifp_input_file_bytes(const struct ifp_input *input)
{
	return input->read_bytes - input->io.in_bytes;
}

uint64_t ifp_input_unused_bytes(const struct ifp_input *input)
{
	uint64_t used = ifp_input_file_bytes(input);
	struct stat status;

	if (fstat(input->fd, &status) || !S_ISREG(status.st_mode) ||
		(uint64_t)status.st_size < used)
		return 0;
	return (uint64_t)status.st_size - used;
}
