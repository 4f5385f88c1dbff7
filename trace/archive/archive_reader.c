/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/archive.h"

#include "core/checksum.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct ifp_archive_reader {
	int fd;
	char *path;
	struct ifp_archive_places places;
	struct ifp_archive_damage damage;
	bool *found_damaged; /* by frame: counted already */
};

static int list_frames(struct ifp_archive_reader *reader, uint64_t size_bytes)
{
	int err = ifp_archive_index_load(reader->fd, size_bytes, &reader->places, &reader->damage);

	if (err == -ENOENT) {
		reader->damage.index_missing = true;
		err = ifp_archive_scan(reader->fd, size_bytes, &reader->places, &reader->damage);
	}
	if (err)
		return err;
	reader->found_damaged = calloc(reader->places.count + 1, sizeof(bool));
	return reader->found_damaged ? 0 : ifp_fail(-ENOMEM, "list the frames");
}

static int open_file(struct ifp_archive_reader *reader)
{
	struct stat st;
	bool torn;
	int err;

	/* not to wait at a pipe; without effect on files */
	reader->fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (reader->fd < 0)
		return ifp_fail_errno("open archive %s", reader->path);
	if (fstat(reader->fd, &st))
		return ifp_fail_errno("look at archive %s", reader->path);
	if (!S_ISREG(st.st_mode))
		return ifp_fail(
			-EBADMSG, "%s is no infprof archive: not a regular file", reader->path);
	err = ifp_archive_check_header(reader->fd, reader->path, &torn);
	if (err)
		return err;
	if (torn)
		return ifp_fail(-EBADMSG, "%s is no infprof archive: it ends after %lld bytes",
			reader->path, (long long)st.st_size);
	err = list_frames(reader, (uint64_t)st.st_size);
	return err ? ifp_fail(err, "read archive %s", reader->path) : 0;
}

int ifp_archive_reader_open(const char *path, struct ifp_archive_reader **out)
{
	IFP_CLEANUP(ifp_archive_reader_close)
	struct ifp_archive_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return ifp_fail(-ENOMEM, "open archive %s", path);
	reader->fd = -1;
	reader->path = strdup(path);
	if (!reader->path)
		return ifp_fail(-ENOMEM, "open archive %s", path);
	err = open_file(reader);
	if (err)
		return err;
	*out = IFP_TAKE_PTR(reader);
	return 0;
}

void ifp_archive_reader_close(struct ifp_archive_reader **reader)
{
	if (!*reader)
		return;
	if ((*reader)->fd >= 0)
		close((*reader)->fd);
	ifp_archive_places_free(&(*reader)->places);
	free((*reader)->found_damaged);
	free((*reader)->path);
	free(*reader);
	*reader = NULL;
}

struct ifp_archive_damage ifp_archive_reader_damage(const struct ifp_archive_reader *reader)
{
	return reader->damage;
}

uint64_t ifp_archive_reader_count(const struct ifp_archive_reader *reader)
{
	return reader->places.count;
}

const struct ifp_frame *ifp_archive_reader_frame(
	const struct ifp_archive_reader *reader, uint64_t i)
{
	return &reader->places.items[i].frame;
}

static bool same_header(const struct ifp_frame *a, const struct ifp_frame *b)
{
	return a->type == b->type && a->rank == b->rank && a->sequence == b->sequence &&
	       a->event_count == b->event_count && a->payload_bytes == b->payload_bytes;
}

static int load(const struct ifp_archive_reader *reader, const struct ifp_archive_place *place,
	struct ifp_buf *buf, struct ifp_frame *frame)
{
	size_t len = IFP_FRAME_HEADER_BYTES + (size_t)place->frame.payload_bytes;
	struct ifp_frame found;
	size_t used;
	int err;

	ifp_buf_clear(buf);
	ifp_buf_reserve(buf, len);
	err = ifp_buf_status(buf);
	if (err)
		return err;
	err = ifp_archive_read_at(reader->fd, place->offset, buf->data, len);
	if (err == -EBADMSG)
		return ifp_fail(err, "the file has become shorter");
	if (err)
		return err;
	buf->len_bytes = len;
	err = ifp_frame_decode(buf->data, len, &found, &used);
	if (err)
		return err == -EAGAIN ? ifp_fail(-EBADMSG, "the frame is longer than listed") : err;
	if (!same_header(&found, &place->frame))
		return ifp_fail(-EBADMSG, "the frame is not the one that the index lists");
	*frame = found;
	return 0;
}

int ifp_archive_reader_load(
	struct ifp_archive_reader *reader, uint64_t i, struct ifp_buf *buf, struct ifp_frame *frame)
{
	const struct ifp_archive_place *place = &reader->places.items[i];
	int err = load(reader, place, buf, frame);

	if (!err)
		return 0;
	if (err == -EBADMSG && !reader->found_damaged[i]) {
		reader->found_damaged[i] = true;
		__atomic_fetch_add(&reader->damage.damaged_frames, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&reader->damage.damaged_bytes,
			ifp_archive_place_end(place) - place->offset, __ATOMIC_RELAXED);
	}
	return ifp_fail(err, "read frame %llu of %s", (unsigned long long)i, reader->path);
}
