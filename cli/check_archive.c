/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/check_archive.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/archive.h"
#include "trace/archive/block.h"
#include "trace/archive/clock_samples.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool ifp_check_is_archive(const char *path)
{
	static const char magic[] = {'\x89', 'I', 'F', 'P'};
	/* not to wait at a pipe; without effect on files */
	IFP_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t length = strlen(path);
	char start[sizeof(magic)];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if (length > 4 && !strcmp(path + length - 4, ".ifp"))
		return true;
	return read(fd, start, sizeof(start)) == (ssize_t)sizeof(start) &&
	       !memcmp(start, magic, sizeof(magic));
}

/* Decodes what a frame holds, as every reader of the archive would. */
static int check_payload(const struct ifp_frame *frame)
{
	struct ifp_clock_samples samples;
	struct ifp_block block;
	cJSON *document;
	int err = 0;

	switch (frame->type) {
	case IFP_FRAME_EVENTS:
		err = ifp_block_decode(frame->payload, frame->payload_bytes, &block);
		if (!err)
			ifp_block_free(&block);
		break;
	case IFP_FRAME_CLOCK:
		err = ifp_clock_samples_decode(frame->payload, frame->payload_bytes, &samples);
		if (!err)
			ifp_clock_samples_free(&samples);
		break;
	case IFP_FRAME_INDEX:
		break;
	default:
		document = ifp_document_parse(frame->payload, frame->payload_bytes);
		if (!document)
			err = ifp_fail(-EBADMSG, "a document of type %d is no object of JSON",
				frame->type);
		cJSON_Delete(document);
	}
	return err;
}

int ifp_check_archive(const char *path, struct ifp_check_archive *out)
{
	IFP_CLEANUP(ifp_archive_reader_close) struct ifp_archive_reader *reader = NULL;
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_check_archive found = {0};
	struct ifp_archive_damage damage;
	struct ifp_frame frame;
	int err = ifp_archive_reader_open(path, &reader);

	if (err)
		return err;
	found.frames = ifp_archive_reader_count(reader);
	for (uint64_t i = 0; i < found.frames; i++) {
		err = ifp_archive_reader_load(reader, i, &payload, &frame);
		if (!err)
			err = check_payload(&frame);
		if (err < 0) {
			found.bad_frames++;
			ifp_error_clear();
		} else {
			found.events += frame.event_count;
		}
	}
	damage = ifp_archive_reader_damage(reader);
	found.index_missing = damage.index_missing;
	found.damaged_bytes = damage.damaged_bytes;
	found.damaged_places = damage.damaged_frames;
	*out = found;
	return 0;
}
