/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/reading.h"

#include "collector/import/collectives.h"
#include "collector/import/header.h"
#include "collector/import/notes.h"
#include "collector/import/overlaps.h"
#include "collector/import/pairs.h"
#include "collector/import/span.h"
#include "collector/store/gpus.h"
#include "collector/timeline/rank_view.h"
#include "trace/wire/document.h"
#include "core/array.h"
#include "core/checksum.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/chrome/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The reading of one file. */
struct reading {
	struct ifp_import_worker *worker;
	struct ifp_import_file *file;
	const struct ifp_chrome_reader *reader;
	uint64_t told_bytes; /* of the file, to the progress */
	struct ifp_import_span span, drawn; /* of all events, and without what is never drawn */
	struct ifp_import_pairs arrows;	  /* start and end */
	struct ifp_import_pairs launches; /* launch and kernel */
	struct ifp_import_overlaps overlaps;
	struct ifp_import_collectives collectives;
	struct ifp_gpu_finder *gpus;
	struct ifp_buf args;
	uint64_t too_large; /* events */
	uint64_t negative;  /* slices that end before they begin */
	uint64_t unordered; /* slices that begin before the one that stands before them */
	int64_t before_ns;
};

static int write_all(int fd, const uint8_t *data, size_t len_bytes, uint64_t offset)
{
	while (len_bytes) {
		ssize_t n = pwrite(fd, data, len_bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ifp_fail_errno("write %zu bytes to a spill file", len_bytes);
		data += n;
		len_bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* Tells how much of the file has been read; a reader may know it only at the end. */
static void tell_bytes(struct reading *reading, uint64_t bytes)
{
	if (bytes <= reading->told_bytes)
		return;
	atomic_fetch_add(reading->worker->file_bytes, bytes - reading->told_bytes);
	reading->told_bytes = bytes;
}

/* Writes what the builder holds to the spill file. */
static int keep_block(
	struct ifp_import_worker *worker, struct ifp_import_file *file, uint32_t events)
{
	uint64_t offset;
	int err;

	ifp_buf_clear(&worker->payload);
	err = ifp_block_builder_encode(worker->builder, &worker->payload);
	if (err || worker->spill < 0)
		return err;
	err = IFP_ARRAY_RESERVE(file->blocks, file->block_capacity, file->block_count, 1, "blocks");
	if (err)
		return err;
	offset = atomic_fetch_add(worker->spill_bytes, worker->payload.len_bytes);
	err = write_all(worker->spill, worker->payload.data, worker->payload.len_bytes, offset);
	if (err)
		return err;
	file->blocks[file->block_count++] = (struct ifp_import_block){
		.offset = offset, .bytes = (uint32_t)worker->payload.len_bytes, .events = events};
	return 0;
}

static int flush(struct reading *reading)
{
	struct ifp_import_worker *worker = reading->worker;
	struct ifp_import_file *file = reading->file;
	uint32_t events = ifp_block_builder_count(worker->builder);
	int err;

	if (atomic_load(worker->stop))
		return ifp_fail(-ECANCELED, "reading was given up");
	if (!events)
		return 0;
	err = keep_block(worker, file, events);
	if (err)
		return err;
	file->events += events;
	atomic_fetch_add(worker->events, events);
	tell_bytes(reading, ifp_chrome_reader_counts(reading->reader).file_bytes);
	return 0;
}

/* Arrows of two categories may have one id. */
static int pair_arrow(
	struct reading *reading, const struct ifp_event *event, enum ifp_import_side side)
{
	uint64_t category = ifp_checksum(event->category.ptr, event->category.len_bytes);

	return ifp_import_pairs_add(&reading->arrows, event->correlation ^ category, side);
}

static int pair(struct reading *reading, const struct ifp_event *event)
{
	if (event->kind == IFP_EVENT_FLOW_START)
		return pair_arrow(reading, event, IFP_IMPORT_SIDE_FIRST);
	if (event->kind == IFP_EVENT_FLOW_END)
		return pair_arrow(reading, event, IFP_IMPORT_SIDE_SECOND);
	if (event->kind != IFP_EVENT_SLICE || !event->correlation)
		return 0;
	return ifp_import_pairs_add(&reading->launches, event->correlation,
		event->lane.kind == IFP_LANE_STREAM ? IFP_IMPORT_SIDE_SECOND
						    : IFP_IMPORT_SIDE_FIRST);
}

static int look_for_gpus(
	struct reading *reading, const struct ifp_event *slice, const struct ifp_args_split *args)
{
	enum ifp_gpu_role role = ifp_gpu_role_of(slice);
	struct ifp_event whole = *slice;
	int err = 0;

	if (role == IFP_GPU_NOTHING)
		return 0;
	if (role == IFP_GPU_NOTE)
		err = ifp_import_args_text(&reading->args, slice, args, &whole.args);
	return err ? err : ifp_gpu_finder_add(reading->gpus, role, &whole);
}

/* Collectives are kept as their GPU's events will be drawn, in the steps of their launches. */
static int correct_collectives(struct reading *reading)
{
	IFP_CLEANUP_FREE struct ifp_gpu *gpus = NULL;
	uint32_t count = 0;
	int err;

	if (!reading->collectives.kernels.count)
		return 0;
	err = ifp_gpu_finder_settle(reading->gpus, NULL, 0, &gpus, &count);
	if (!err && count == 1)
		ifp_import_collectives_correct(&reading->collectives, &gpus[0].bias);
	return err ? err
		   : ifp_import_collectives_look_for_launches(&reading->collectives, reading->gpus);
}

static int look_at(
	struct reading *reading, const struct ifp_event *event, const struct ifp_args_split *args)
{
	int err;

	if (event->kind == IFP_EVENT_META)
		return 0; /* names of lanes need no time */
	ifp_import_span_add(&reading->span, event->start, event->start + event->dur);
	if (!ifp_rank_view_is_frame(event))
		ifp_import_span_add(&reading->drawn, event->start, event->start + event->dur);
	if (event->kind != IFP_EVENT_SLICE)
		return 0;
	reading->negative += event->dur < 0;
	reading->unordered += event->start < reading->before_ns;
	reading->before_ns = event->start;
	err = ifp_import_collectives_add(&reading->collectives, event, args);
	if (!err)
		err = look_for_gpus(reading, event, args);
	return err ? err : ifp_import_overlaps_add(&reading->overlaps, event);
}

static int add(
	struct reading *reading, const struct ifp_event *event, const struct ifp_args_split *args)
{
	struct ifp_block_builder *builder = reading->worker->builder;
	int err = ifp_block_builder_add_split(builder, event, args);

	if (err == -ENOSPC) {
		err = flush(reading);
		if (!err)
			err = ifp_block_builder_add_split(builder, event, args);
	}
	if (err == -EMSGSIZE) {
		ifp_error_clear();
		reading->too_large++;
		return 0;
	}
	if (!err)
		err = look_at(reading, event, args);
	return err ? err : pair(reading, event);
}

/* Damage that the reader has gone past: what stands around it is kept. */
static int note_salvage(struct ifp_import_file *file, const struct ifp_chrome_damage *damage)
{
	char unread[80] = "";

	file->lost_bytes = damage->lost_bytes;
	file->unread_bytes = damage->unread_bytes;
	if (damage->unread_bytes)
		snprintf(unread, sizeof(unread),
			", and what the last %" PRIu64 " bytes of the file held",
			damage->unread_bytes);
	return ifp_import_note(&file->notes, "trace-damaged", (int64_t)damage->places, true,
		"damaged: %s; %" PRIu64 " %s whole and kept, %" PRIu64
		" bytes of its JSON are lost%s",
		damage->first_cause, file->events, file->events == 1 ? "event is" : "events are",
		damage->lost_bytes, unread);
}

/* Damage that ends the reading is a note; what stood before it is kept. */
static int note_damage(struct ifp_import_file *file, int err, uint64_t offset, uint64_t events)
{
	char text[1024];

	if (err == -ENOMEM)
		return err;
	if (ifp_import_lacks_descriptors(-err))
		return ifp_fail(err, IFP_IMPORT_DESCRIPTORS_ADVICE);
	ifp_error_text(text, sizeof(text));
	ifp_error_clear();
	if (!events)
		return ifp_import_note(
			&file->notes, "trace-left-out", 0, true, "nothing was read of %s", text);
	return ifp_import_note(&file->notes, "trace-damaged", 1, true,
		"damaged behind byte %" PRIu64 " of its JSON; the %" PRIu64
		" events before that are kept: %s",
		offset, events, text);
}

/* Clocks are judged where events are drawn: the window may end long behind the last of them. */
static void find_drawn(struct reading *reading)
{
	struct ifp_import_file *file = reading->file;
	int64_t first_ns, last_ns;

	ifp_import_span_find(&reading->drawn, &first_ns, &last_ns);
	if (first_ns < file->first_ns || last_ns > file->last_ns) {
		first_ns = file->first_ns;
		last_ns = file->last_ns;
	}
	file->drawn_first_ns = first_ns;
	file->drawn_last_ns = last_ns;
}

/* Times that are odd, of events that are kept. */
static int note_times(struct reading *reading)
{
	struct ifp_import_file *file = reading->file;
	uint64_t outside = ifp_import_span_find(&reading->span, &file->first_ns, &file->last_ns);
	const struct ifp_import_overlaps *overlaps = &reading->overlaps;
	int err = ifp_import_overlaps_settle(&reading->overlaps);

	find_drawn(reading);
	if (!err && reading->unordered)
		err = ifp_import_note(&file->notes, "trace-unordered", (int64_t)reading->unordered,
			false, "slices stand behind later ones in the file; drawn in order");
	if (!err && reading->negative)
		err = ifp_import_note(&file->notes, "trace-negative", (int64_t)reading->negative,
			false, "slices end before they begin; drawn without length");
	if (!err && overlaps->found)
		err = ifp_import_note(&file->notes, "trace-overlapping", (int64_t)overlaps->found,
			false,
			"slices begin within another one of their lane and end behind it; drawn in "
			"a row of their own%s",
			overlaps->partial ? " (there may be more)" : "");
	if (!err && outside)
		err = ifp_import_note(&file->notes, "trace-misplaced", (int64_t)outside, true,
			"events whose times cannot be of this job (0 or garbage): kept in the "
			"archive, not drawn");
	return err;
}

/* Rows of the ledger: what the reader has changed or set aside. */
static int note_counts(struct reading *reading, const struct ifp_chrome_counts *counts)
{
	struct ifp_import_file *file = reading->file;
	int err = 0;

	if (counts->set_aside > counts->empty)
		err = ifp_import_note(&file->notes, "trace-left-out",
			(int64_t)(counts->set_aside - counts->empty), true,
			"elements of traceEvents without a name, a kind or times that can be");
	if (!err && counts->empty)
		err = ifp_import_note(&file->notes, "trace-left-out", (int64_t)counts->empty, false,
			"elements of traceEvents with nothing in them: {}");
	if (!err && reading->too_large)
		err = ifp_import_note(&file->notes, "trace-left-out", (int64_t)reading->too_large,
			true, "events whose texts are larger than a block of the archive");
	if (!err && counts->repaired)
		err = ifp_import_note(&file->notes, "trace-repaired", (int64_t)counts->repaired,
			false,
			"elements with control characters, bad escapes, bytes that are no UTF-8, "
			"words without quotes (NaN, 0x7f00), or no duration");
	return err;
}

/* Halves whose other half was not recorded: before or behind what was. Kept. */
static int note_halves(const struct reading *reading)
{
	struct ifp_import_notes *notes = &reading->file->notes;
	const char *least = reading->arrows.full || reading->launches.full ? ", at least" : "";
	uint64_t starts = ifp_import_pairs_count(&reading->arrows, IFP_IMPORT_SIDE_FIRST);
	uint64_t ends = ifp_import_pairs_count(&reading->arrows, IFP_IMPORT_SIDE_SECOND);
	uint64_t kernels = ifp_import_pairs_count(&reading->launches, IFP_IMPORT_SIDE_SECOND);
	int err = 0;

	if (starts + ends)
		err = ifp_import_note(notes, "trace-dangling", (int64_t)(starts + ends), false,
			"arrows with one end: %" PRIu64 " start only, %" PRIu64 " end only%s",
			starts, ends, least);
	if (!err && kernels)
		err = ifp_import_note(notes, "trace-unlaunched", (int64_t)kernels, false,
			"correlations of GPU work whose launch is not in the trace%s", least);
	return err;
}

/* Events in = events out + ledger. */
static int settle(struct reading *reading, const struct ifp_chrome_counts *counts)
{
	struct ifp_import_file *file = reading->file;

	file->json_bytes = counts->bytes;
	file->elements = counts->events + counts->set_aside;
	file->left_out = counts->set_aside + reading->too_large;
	if (file->elements != file->events + file->left_out)
		return ifp_fail(-EPROTO,
			"%s: %" PRIu64 " events were read, %" PRIu64 " stored and %" PRIu64
			" left out",
			file->path, file->elements, file->events, file->left_out);
	return 0;
}

static int read_events(struct reading *reading, struct ifp_chrome_reader *reader)
{
	struct ifp_chrome_counts counts;
	struct ifp_chrome_damage damage;
	struct ifp_args_split args;
	struct ifp_event event;
	int got = 0, err = 0;

	ifp_chrome_reader_salvage(reader);
	while (!err && (got = ifp_chrome_reader_next_split(reader, &event, &args)) > 0)
		err = add(reading, &event, &args);
	if (!err)
		err = flush(reading);
	counts = ifp_chrome_reader_counts(reader);
	if (!err && got < 0)
		err = note_damage(reading->file, got, counts.bytes, reading->file->events);
	damage = ifp_chrome_reader_damage(reader);
	if (!err && damage.places)
		err = note_salvage(reading->file, &damage);
	if (!err)
		err = settle(reading, &counts);
	if (!err)
		err = note_counts(reading, &counts);
	if (!err)
		err = note_times(reading);
	return err ? err : note_halves(reading);
}

int ifp_import_read(struct ifp_import_worker *worker, struct ifp_import_file *file)
{
	IFP_CLEANUP(ifp_chrome_reader_close) struct ifp_chrome_reader *reader = NULL;
	IFP_CLEANUP_FREE struct reading *reading = calloc(1, sizeof(*reading));
	struct ifp_chrome_header header;
	int err;

	if (!reading)
		return ifp_fail(-ENOMEM, "read %s", file->path);
	*reading = (struct reading){.worker = worker, .file = file, .before_ns = INT64_MIN};
	err = ifp_chrome_reader_open(file->path, &reader);
	if (err)
		return note_damage(file, err, 0, 0);
	reading->reader = reader;
	err = ifp_gpu_finder_new(&reading->gpus);
	if (!err)
		err = read_events(reading, reader);
	if (!err)
		err = correct_collectives(reading);
	tell_bytes(reading, file->file_bytes);
	ifp_import_pairs_free(&reading->arrows);
	ifp_import_pairs_free(&reading->launches);
	ifp_import_overlaps_free(&reading->overlaps);
	ifp_gpu_finder_free(&reading->gpus);
	ifp_buf_free(&reading->args);
	ifp_import_collectives_settle(&reading->collectives, &file->samples);
	if (!err && !file->events && !file->notes.count)
		err = ifp_import_note(
			&file->notes, "trace-left-out", 0, true, "there is no event in it");
	if (err)
		return ifp_fail(err, "read %s", file->path);
	header = ifp_chrome_reader_header(reader);
	return ifp_import_take_header(file, &header);
}
