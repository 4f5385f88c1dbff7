/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/scan.h"

#include "core/array.h"
#include "core/checksum.h"
#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEARCH_BYTES (256u * 1024u)

/* As PNG's: a byte that is no text, line ends that a text-mode copy would change. */
static const uint8_t file_magic[8] = {0x89, 'I', 'F', 'P', '\r', '\n', 0x1a, '\n'};
static const uint8_t frame_magic[4] = {0xf1, 'I', 'F', 'P'};

int ifp_archive_places_reserve(struct ifp_archive_places *places)
{
	return IFP_ARRAY_RESERVE(places->items, places->capacity, places->count, 1, "frames");
}

int ifp_archive_places_add(
	struct ifp_archive_places *places, const struct ifp_frame *frame, uint64_t offset)
{
	int err = ifp_archive_places_reserve(places);

	if (err)
		return err;
	places->items[places->count] = (struct ifp_archive_place){*frame, offset};
	places->items[places->count++].frame.payload = NULL;
	return 0;
}

void ifp_archive_places_free(struct ifp_archive_places *places)
{
	free(places->items);
	*places = (struct ifp_archive_places){0};
}

void ifp_archive_header(uint8_t header[IFP_ARCHIVE_HEADER_BYTES])
{
	memset(header, 0, IFP_ARCHIVE_HEADER_BYTES);
	memcpy(header, file_magic, sizeof(file_magic));
	header[sizeof(file_magic)] = IFP_ARCHIVE_VERSION;
}

int ifp_archive_read_at(int fd, uint64_t offset, void *data, size_t len_bytes)
{
	uint8_t *next = data;

	while (len_bytes) {
		ssize_t got = pread(fd, next, len_bytes, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ifp_fail_errno(
				"read %zu bytes at %llu", len_bytes, (unsigned long long)offset);
		if (got == 0)
			return -EBADMSG;
		next += got;
		offset += (uint64_t)got;
		len_bytes -= (size_t)got;
	}
	return 0;
}

int ifp_archive_check_header(int fd, const char *path, bool *torn)
{
	uint8_t expected[IFP_ARCHIVE_HEADER_BYTES], found[IFP_ARCHIVE_HEADER_BYTES] = {0};
	struct ifp_cursor version = ifp_cursor(found + sizeof(file_magic), sizeof(uint32_t));
	ssize_t got = pread(fd, found, sizeof(found), 0);
	uint32_t number;

	if (got < 0)
		return ifp_fail_errno("read %s", path);
	ifp_archive_header(expected);
	*torn = (size_t)got < sizeof(found) && !memcmp(found, expected, (size_t)got);
	if (*torn)
		return 0;
	if ((size_t)got < sizeof(found) || memcmp(found, file_magic, sizeof(file_magic)) != 0)
		return ifp_fail(-EBADMSG,
			"%s is no infprof archive (traces of torch.profiler become one by infprof "
			"merge FILE... -o OUT)",
			path);
	number = ifp_cursor_u32(&version);
	if (number != IFP_ARCHIVE_VERSION)
		return ifp_fail(-EPROTO,
			"%s is an archive of version %u, this infprof reads version %u", path,
			number, IFP_ARCHIVE_VERSION);
	return 0;
}

struct scan {
	int fd;
	uint64_t size_bytes;
	uint64_t offset; /* what lies before has been dealt with */
	uint8_t *window; /* SEARCH_BYTES */
	struct ifp_buf payload;
	struct ifp_archive_places *places;
	struct ifp_archive_damage *damage;
};

static void scan_free(struct scan *scan)
{
	free(scan->window);
	ifp_buf_free(&scan->payload);
}

static void note_damage(struct scan *scan, uint64_t up_to)
{
	scan->damage->damaged_frames++;
	scan->damage->damaged_bytes += up_to - scan->offset;
	scan->offset = up_to;
}

/* 0, -EBADMSG (no cause) when there is no intact header at offset, or an error of reading. */
static int read_header(
	const struct scan *scan, uint64_t offset, struct ifp_frame *frame, uint64_t *checksum)
{
	uint8_t header[IFP_FRAME_HEADER_BYTES];
	int err;

	if (scan->size_bytes - offset < sizeof(header))
		return -EBADMSG;
	err = ifp_archive_read_at(scan->fd, offset, header, sizeof(header));
	if (!err)
		err = ifp_frame_decode_header(header, sizeof(header), frame, checksum);
	if (err == -EBADMSG)
		ifp_error_clear();
	return err;
}

/* Reads the payload behind a good header and lists the frame if it is whole. */
static int scan_frame(struct scan *scan, const struct ifp_frame *frame, uint64_t checksum)
{
	uint64_t start = scan->offset + IFP_FRAME_HEADER_BYTES;
	uint64_t end = start + frame->payload_bytes;
	int err;

	if (end > scan->size_bytes) {
		note_damage(scan, scan->size_bytes);
		return 0;
	}
	ifp_buf_clear(&scan->payload);
	ifp_buf_reserve(&scan->payload, frame->payload_bytes);
	err = ifp_buf_status(&scan->payload);
	if (!err)
		err = ifp_archive_read_at(
			scan->fd, start, scan->payload.data, frame->payload_bytes);
	if (err && err != -EBADMSG)
		return err;
	if (err || ifp_checksum(scan->payload.data, frame->payload_bytes) != checksum) {
		note_damage(scan, end);
		return 0;
	}
	if (frame->type != IFP_FRAME_INDEX) {
		err = ifp_archive_places_add(scan->places, frame, scan->offset);
		if (err)
			return err;
	}
	scan->offset = end;
	return 0;
}

/* Looks for the next place that holds an intact header, and steps to it or to the end. */
static int resynchronise(struct scan *scan)
{
	uint64_t base = scan->offset + 1;

	while (base < scan->size_bytes) {
		uint64_t left = scan->size_bytes - base;
		size_t len = left < SEARCH_BYTES ? (size_t)left : SEARCH_BYTES;
		const uint8_t *at = scan->window, *end = scan->window + len;
		int err = ifp_archive_read_at(scan->fd, base, scan->window, len);

		if (err == -EBADMSG)
			break;
		if (err)
			return err;
		while ((at = memmem(at, (size_t)(end - at), frame_magic, sizeof(frame_magic)))) {
			uint64_t offset = base + (uint64_t)(at - scan->window);
			struct ifp_frame frame;
			uint64_t checksum;

			err = read_header(scan, offset, &frame, &checksum);
			if (!err)
				note_damage(scan, offset);
			if (err != -EBADMSG)
				return err;
			at++;
		}
		/* A magic may lie across two windows. */
		base += len < SEARCH_BYTES ? len : len - (sizeof(frame_magic) - 1);
	}
	note_damage(scan, scan->size_bytes);
	return 0;
}

int ifp_archive_scan(int fd, uint64_t size_bytes, struct ifp_archive_places *places,
	struct ifp_archive_damage *damage)
{
	IFP_CLEANUP(scan_free)
	struct scan scan = {.fd = fd,
		.size_bytes = size_bytes,
		.offset = IFP_ARCHIVE_HEADER_BYTES,
		.window = malloc(SEARCH_BYTES),
		.places = places,
		.damage = damage};
	int err = 0;

	if (!scan.window)
		return ifp_fail(-ENOMEM, "scan an archive");
	while (!err && scan.offset < size_bytes) {
		struct ifp_frame frame;
		uint64_t checksum;

		err = read_header(&scan, scan.offset, &frame, &checksum);
		if (!err)
			err = scan_frame(&scan, &frame, checksum);
		else if (err == -EBADMSG)
			err = resynchronise(&scan);
	}
	return err;
}
