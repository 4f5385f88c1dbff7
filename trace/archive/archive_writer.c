/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/archive.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/scan.h"
#include "trace/archive/sequence_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

struct ifp_archive_writer {
	int fd;
	char *path;
	uint64_t end_bytes; /* of the last whole frame: where the next one goes */
	struct ifp_archive_places places;
	struct ifp_sequence_set sequences;
	struct ifp_buf header; /* scratch */
};

static int write_all(
	int fd, uint64_t offset, const void *head, size_t head_bytes, const struct ifp_frame *frame)
{
	struct iovec parts[2] = {
		{(void *)(uintptr_t)head, head_bytes},
		{(void *)(uintptr_t)(frame ? frame->payload : NULL),
			frame ? frame->payload_bytes : 0},
	};

	while (parts[0].iov_len + parts[1].iov_len) {
		ssize_t written = pwritev(fd, parts, 2, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		if (written == 0)
			return -EIO;
		offset += (uint64_t)written;
		for (int i = 0; i < 2 && written > 0; i++) {
			size_t part = (size_t)written < parts[i].iov_len ? (size_t)written
									 : parts[i].iov_len;

			parts[i].iov_base = (uint8_t *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			written -= (ssize_t)part;
		}
	}
	return 0;
}

static int start_archive(struct ifp_archive_writer *writer)
{
	uint8_t header[IFP_ARCHIVE_HEADER_BYTES];
	int err;

	ifp_archive_header(header);
	err = write_all(writer->fd, 0, header, sizeof(header), NULL);
	if (err) {
		if (ftruncate(writer->fd, 0))
			return ifp_fail_errno("cut %s back", writer->path);
		return ifp_fail(err, "write %s: %s", writer->path, strerror(-err));
	}
	writer->end_bytes = sizeof(header);
	return 0;
}

/* Lists the frames that are there, and cuts off the index and what is left of a torn frame. */
static int go_on_with(struct ifp_archive_writer *writer, uint64_t size_bytes)
{
	struct ifp_archive_damage damage = {0};
	int err = ifp_archive_scan(writer->fd, size_bytes, &writer->places, &damage);

	if (err)
		return ifp_fail(err, "scan %s", writer->path);
	writer->end_bytes = IFP_ARCHIVE_HEADER_BYTES;
	for (uint64_t i = 0; i < writer->places.count; i++) {
		const struct ifp_archive_place *place = &writer->places.items[i];
		bool added;

		writer->end_bytes = ifp_archive_place_end(place);
		if (place->frame.sequence)
			err = ifp_sequence_set_add(&writer->sequences, place->frame.rank,
				place->frame.sequence, &added);
		if (err)
			return err;
	}
	if (size_bytes > writer->end_bytes && ftruncate(writer->fd, (off_t)writer->end_bytes))
		return ifp_fail_errno("cut %s back to its last whole frame", writer->path);
	return 0;
}

static int open_file(struct ifp_archive_writer *writer, bool exclusive)
{
	int flags = O_RDWR | O_CREAT | O_CLOEXEC | (exclusive ? O_EXCL : 0);
	struct stat st;
	bool torn;
	int err;

	writer->fd = open(writer->path, flags, 0666);
	if (writer->fd < 0)
		return ifp_fail_errno("open archive %s", writer->path);
	/* Some network file systems know no locks: then two writers are the user's affair. */
	if (flock(writer->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return ifp_fail(
			-EBUSY, "archive %s is being written by another process", writer->path);
	if (fstat(writer->fd, &st))
		return ifp_fail_errno("look at archive %s", writer->path);
	if (!S_ISREG(st.st_mode))
		return ifp_fail(
			-EBADMSG, "%s is no infprof archive: not a regular file", writer->path);
	err = ifp_archive_check_header(writer->fd, writer->path, &torn);
	if (err)
		return err;
	return torn ? start_archive(writer) : go_on_with(writer, (uint64_t)st.st_size);
}

int ifp_archive_writer_open(const char *path, bool exclusive, struct ifp_archive_writer **out)
{
	IFP_CLEANUP(ifp_archive_writer_abandon)
	struct ifp_archive_writer *writer = calloc(1, sizeof(*writer));
	int err;

	if (!writer)
		return ifp_fail(-ENOMEM, "open archive %s", path);
	writer->fd = -1;
	writer->path = strdup(path);
	if (!writer->path)
		return ifp_fail(-ENOMEM, "open archive %s", path);
	err = open_file(writer, exclusive);
	if (err)
		return err;
	*out = IFP_TAKE_PTR(writer);
	return 0;
}

static int write_frame(struct ifp_archive_writer *writer, const struct ifp_frame *frame)
{
	int err;

	ifp_buf_clear(&writer->header);
	ifp_frame_encode_header(frame, &writer->header);
	err = ifp_buf_status(&writer->header);
	if (err)
		return err;
	err = write_all(writer->fd, writer->end_bytes, writer->header.data,
		writer->header.len_bytes, frame);
	if (!err)
		return 0;
	ifp_fail(err, "write %u bytes to %s: %s", frame->payload_bytes, writer->path,
		strerror(-err));
	if (ftruncate(writer->fd, (off_t)writer->end_bytes))
		ifp_fail_errno("cut %s back to its last whole frame", writer->path);
	return err;
}

int ifp_archive_writer_append(
	struct ifp_archive_writer *writer, const struct ifp_frame *frame, bool *duplicate)
{
	bool added = true;
	int err;

	if (frame->type == 0 || frame->type >= IFP_FRAME_INDEX ||
		frame->payload_bytes > IFP_FRAME_MAX_PAYLOAD_BYTES ||
		(frame->event_count && frame->type != IFP_FRAME_EVENTS))
		return ifp_fail(-EINVAL, "frame of type %u and %u bytes cannot be archived",
			frame->type, frame->payload_bytes);
	err = ifp_archive_places_reserve(&writer->places);
	if (!err && frame->sequence)
		err = ifp_sequence_set_add(
			&writer->sequences, frame->rank, frame->sequence, &added);
	if (err)
		return err;
	if (added) {
		err = write_frame(writer, frame);
		if (err && frame->sequence)
			ifp_sequence_set_remove(&writer->sequences, frame->rank, frame->sequence);
		if (err)
			return err;
		ifp_archive_places_add(&writer->places, frame, writer->end_bytes);
		writer->end_bytes += IFP_FRAME_HEADER_BYTES + frame->payload_bytes;
	}
	if (duplicate)
		*duplicate = !added;
	return 0;
}

uint64_t ifp_archive_writer_last_sequence(const struct ifp_archive_writer *writer, uint32_t rank)
{
	return ifp_sequence_set_contiguous(&writer->sequences, rank);
}

uint64_t ifp_archive_writer_frame_count(const struct ifp_archive_writer *writer)
{
	return writer->places.count;
}

static int write_index(struct ifp_archive_writer *writer)
{
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	struct ifp_frame frame = {.type = IFP_FRAME_INDEX, .rank = IFP_FRAME_NO_RANK};
	int err;

	if (!ifp_archive_index_encode(&writer->places, writer->end_bytes, &payload))
		return 0;
	err = ifp_buf_status(&payload);
	if (err)
		return err;
	frame.payload = payload.data;
	frame.payload_bytes = (uint32_t)payload.len_bytes;
	return write_frame(writer, &frame);
}

int ifp_archive_writer_close(struct ifp_archive_writer **writer)
{
	int err;

	if (!*writer)
		return 0;
	err = write_index(*writer);
	if (!err && close((*writer)->fd))
		err = ifp_fail_errno("close %s", (*writer)->path);
	if (!err)
		(*writer)->fd = -1;
	ifp_archive_writer_abandon(writer);
	return err;
}

void ifp_archive_writer_abandon(struct ifp_archive_writer **writer)
{
	if (!*writer)
		return;
	if ((*writer)->fd >= 0)
		close((*writer)->fd);
	ifp_archive_places_free(&(*writer)->places);
	ifp_sequence_set_free(&(*writer)->sequences);
	ifp_buf_free(&(*writer)->header);
	free((*writer)->path);
	free(*writer);
	*writer = NULL;
}
