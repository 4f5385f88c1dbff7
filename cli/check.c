/* SPDX-License-Identifier: Apache-2.0 */
/* infprof check: reads files whole and says what is wrong with them. */
#include "cli/verb.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "trace/archive/archive.h"
#include "trace/archive/block.h"
#include "trace/archive/clock_samples.h"
#include "trace/chrome/reader.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct ifp_command command = {
	.name = "infprof check",
	.synopsis = "FILE...",
	.summary = "read archives and traces whole and say what is wrong with them",
	.description =
		"Reads every frame of archives (.ifp) and every event of Chrome traces (JSON, also "
		"packed with gzip, as PyTorch writes them, or zstd) and prints one line for each "
		"FILE. The exit status is 1 when any of them is damaged. Nothing is changed.",
	.options_anywhere = true,
};

static void print_damage(const char *path)
{
	char text[1024];

	printf("%s: damaged: %s\n", path, ifp_error_text(text, sizeof(text)));
	ifp_error_clear();
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

static void print_archive(const char *path, const struct ifp_archive_reader *reader,
	uint64_t events, uint64_t bad_frames)
{
	struct ifp_archive_damage damage = ifp_archive_reader_damage(reader);

	printf("%s: archive, %" PRIu64 " frames, %" PRIu64 " events", path,
		ifp_archive_reader_count(reader), events);
	if (damage.index_missing)
		printf(", no index (its writer was killed)");
	if (damage.damaged_bytes)
		printf(", damaged: %" PRIu64 " bytes in %" PRIu64 " place%s", damage.damaged_bytes,
			damage.damaged_frames, damage.damaged_frames == 1 ? "" : "s");
	if (bad_frames)
		printf(", damaged: %" PRIu64 " frame%s that cannot be decoded", bad_frames,
			bad_frames == 1 ? "" : "s");
	putchar('\n');
}

static bool check_archive(const char *path)
{
	IFP_CLEANUP(ifp_archive_reader_close) struct ifp_archive_reader *reader = NULL;
	IFP_CLEANUP_BUF struct ifp_buf payload = {0};
	uint64_t events = 0, bad = 0;
	struct ifp_frame frame;

	if (ifp_archive_reader_open(path, &reader) < 0) {
		print_damage(path);
		return false;
	}
	for (uint64_t i = 0; i < ifp_archive_reader_count(reader); i++) {
		int err = ifp_archive_reader_load(reader, i, &payload, &frame);

		if (!err)
			err = check_payload(&frame);
		if (err < 0) {
			bad++;
			ifp_error_clear();
		} else {
			events += frame.event_count;
		}
	}
	print_archive(path, reader, events, bad);
	return !bad && !ifp_archive_reader_damage(reader).damaged_bytes;
}

static bool check_trace(const char *path)
{
	IFP_CLEANUP(ifp_chrome_reader_close) struct ifp_chrome_reader *reader = NULL;
	struct ifp_chrome_counts counts;
	struct ifp_event event;
	int got = ifp_chrome_reader_open(path, &reader);

	if (!got) {
		while ((got = ifp_chrome_reader_next(reader, &event)) > 0)
			;
	}
	if (got < 0) {
		print_damage(path);
		return false;
	}
	counts = ifp_chrome_reader_counts(reader);
	printf("%s: trace, %" PRIu64 " events", path, counts.events);
	if (counts.repaired)
		printf(", %" PRIu64 " repaired while reading", counts.repaired);
	if (counts.set_aside)
		printf(", damaged: %" PRIu64 " events without name, kind or time",
			counts.set_aside);
	putchar('\n');
	return !counts.set_aside;
}

/* Traces start with a brace, a bracket, blanks before one, or the magic of gzip or zstd. */
static int looks_like_trace(const char *path, bool *trace)
{
	/* not to wait at a pipe; without effect on files */
	IFP_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char start[64] = {0};
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		return ifp_fail_errno("open %s", path);
	if (!S_ISREG(st.st_mode))
		return ifp_fail(-EINVAL, "%s is no regular file", path);
	n = read(fd, start, sizeof(start) - 1);
	if (n < 0)
		return ifp_fail_errno("read %s", path);
	*trace = (n > 1 && memcmp(start, "\x1f\x8b", 2) == 0) ||
		 (n > 3 && memcmp(start, "\x28\xb5\x2f\xfd", 4) == 0) ||
		 (start[strspn(start, " \t\r\n\xef\xbb\xbf")] &&
			 strchr("{[", start[strspn(start, " \t\r\n\xef\xbb\xbf")]));
	return 0;
}

static int run(const void *values, const struct ifp_arguments *arguments)
{
	bool good = true;

	(void)values;
	for (size_t i = 0; i < arguments->count; i++) {
		const char *path = arguments->items[i];
		bool trace = false;

		if (looks_like_trace(path, &trace) < 0) {
			char text[1024];

			printf("%s: not read: %s\n", path, ifp_error_text(text, sizeof(text)));
			ifp_error_clear();
			good = false;
		} else if (trace) {
			good = check_trace(path) && good;
		} else {
			good = check_archive(path) && good;
		}
	}
	return good ? IFP_EXIT_OK : IFP_EXIT_FAILED;
}

const struct ifp_verb ifp_verb_check = {
	.command = &command,
	.min_arguments = 1,
	.max_arguments = SIZE_MAX,
	.run = run,
};
