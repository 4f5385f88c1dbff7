/* SPDX-License-Identifier: Apache-2.0 */
/* From frames to a run: documents, clock samples, rows of the ledger, and where the events are. */
#include "collector/store/run_internal.h"

#include "core/array.h"
#include "core/error.h"
#include "trace/archive/sequence_set.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of a rank that was gone before its RANK document came. */
#define UNKNOWN_HOST "unknown"

/* The member of a rank, made when it is new. */
static int find_member(struct ifp_run *run, uint32_t rank, struct ifp_run_member **out)
{
	uint32_t low =
		IFP_ARRAY_LOWER_BOUND(i, run->member_count, run->members[i].seen.rank < rank);
	int err;

	if (low == run->member_count || run->members[low].seen.rank != rank) {
		err = IFP_ARRAY_RESERVE(
			run->members, run->member_capacity, run->member_count, 1, "ranks of a run");
		if (err)
			return err;
		memmove(run->members + low + 1, run->members + low,
			(run->member_count++ - low) * sizeof(*run->members));
		run->members[low] = (struct ifp_run_member){
			.seen.rank = rank,
			.seen.host = UNKNOWN_HOST,
		};
	}
	*out = &run->members[low];
	return 0;
}

/* The document in a payload, owned by the run; NULL when it is none, which is counted. */
static int parse_document(struct ifp_run *run, const struct ifp_frame *frame, const cJSON **out)
{
	cJSON *document;
	int err = IFP_ARRAY_RESERVE(run->documents, run->document_capacity, run->document_count, 1,
		"documents of a run");

	if (err)
		return err;
	document = ifp_document_parse(frame->payload, frame->payload_bytes);
	if (document)
		run->documents[run->document_count++] = document;
	else
		run->damaged_documents++;
	*out = document;
	return 0;
}

static int take_rows(struct ifp_run *run, uint32_t rank, const cJSON *document)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(document, "rows"), *row;
	int err = 0;

	cJSON_ArrayForEach(row, rows)
	{
		const char *what = ifp_document_get_text(row, "what");
		const char *why = ifp_document_get_text(row, "why");
		int64_t count = 0;

		ifp_document_get_int(row, "count", &count);
		if (what && !err)
			err = ifp_run_ledger_add(
				run, &(struct ifp_ledger_row){rank, what, count, why ? why : ""});
	}
	return err;
}

static int take_window(struct ifp_run *run, uint32_t rank, const cJSON *document)
{
	int err = IFP_ARRAY_RESERVE(
		run->windows, run->window_capacity, run->window_count, 1, "windows of a run");

	if (!err)
		run->windows[run->window_count++] = (struct ifp_run_window){document, rank};
	return err;
}

/* The last document of its kind is the one that holds: a rank that was lost may have come back. */
static int take_document(struct ifp_run *run, const struct ifp_frame *frame)
{
	struct ifp_run_member *member;
	const cJSON *document;
	const char *host;
	int err = parse_document(run, frame, &document);

	if (err || !document)
		return err;
	if (frame->type == IFP_FRAME_LEDGER)
		return take_rows(run, frame->rank, document);
	if (frame->type == IFP_FRAME_RUN) {
		run->document = document;
		return 0;
	}
	if (frame->rank == IFP_FRAME_NO_RANK)
		return 0;
	err = find_member(run, frame->rank, &member);
	if (err)
		return err;
	switch (frame->type) {
	case IFP_FRAME_RANK:
		member->seen.document = document;
		host = ifp_document_get_text(document, "host");
		member->seen.host = host ? host : UNKNOWN_HOST;
		ifp_document_get_int(document, "child_pid", &member->seen.pid);
		return 0;
	case IFP_FRAME_END:
		member->seen.end = document;
		member->seen.ended = true;
		return 0;
	default:
		return take_window(run, frame->rank, document);
	}
}

static int take_collectives(struct ifp_run_member *member, const struct ifp_clock_samples *samples)
{
	struct ifp_clock_samples *all = &member->samples;
	int err = 0;

	all->collectives_left_out += samples->collectives_left_out;
	if (samples->collective_count)
		err = IFP_ARRAY_RESERVE(all->collectives, member->collective_capacity,
			all->collective_count, samples->collective_count, "collectives of a rank");
	for (uint32_t i = 0; !err && i < samples->collective_count; i++)
		all->collectives[all->collective_count++] = samples->collectives[i];
	return err;
}

static int take_suspensions(struct ifp_run_member *member, const struct ifp_clock_samples *samples)
{
	struct ifp_clock_samples *all = &member->samples;
	int err = 0;

	if (samples->suspension_count)
		err = IFP_ARRAY_RESERVE(all->suspensions, member->suspension_capacity,
			all->suspension_count, samples->suspension_count,
			"suspensions of a machine");
	for (uint32_t i = 0; !err && i < samples->suspension_count; i++)
		all->suspensions[all->suspension_count++] = samples->suspensions[i];
	return err;
}

static int take_samples(struct ifp_run *run, const struct ifp_frame *frame)
{
	IFP_CLEANUP(ifp_clock_samples_free) struct ifp_clock_samples samples = {0};
	struct ifp_run_member *member;
	int err = ifp_clock_samples_decode(frame->payload, frame->payload_bytes, &samples);

	if (err == -EBADMSG) {
		ifp_error_clear();
		run->damaged_documents++;
		return 0;
	}
	if (!err)
		err = find_member(run, frame->rank, &member);
	for (uint32_t i = 0; !err && i < samples.tuple_count; i++) {
		struct ifp_clock_samples *all = &member->samples;

		err = IFP_ARRAY_RESERVE(all->tuples, member->tuple_capacity, all->tuple_count, 1,
			"readings of clocks");
		if (!err)
			all->tuples[all->tuple_count++] = samples.tuples[i];
	}
	for (uint32_t i = 0; !err && i < samples.edge_count; i++) {
		struct ifp_clock_samples *all = &member->samples;

		err = IFP_ARRAY_RESERVE(all->edges, member->edge_capacity, all->edge_count, 1,
			"comparisons of clocks");
		if (!err)
			all->edges[all->edge_count++] = samples.edges[i];
	}
	if (!err)
		err = take_collectives(member, &samples);
	return err ? err : take_suspensions(member, &samples);
}

static int take_block(struct ifp_run *run, uint64_t i, const struct ifp_frame *frame)
{
	struct ifp_run_member *member;
	int err = find_member(run, frame->rank, &member);

	if (!err)
		err = IFP_ARRAY_RESERVE(member->blocks, member->block_capacity, member->block_count,
			1, "blocks of a rank");
	if (err)
		return err;
	member->blocks[member->block_count++] =
		(struct ifp_run_block){.frame = i, .event_count = frame->event_count};
	member->seen.event_count += frame->event_count;
	return 0;
}

static int take_frame(struct ifp_run *run, uint64_t i, struct ifp_buf *buf)
{
	const struct ifp_frame *listed = ifp_archive_reader_frame(run->reader, i);
	struct ifp_frame frame;
	int err;

	if (listed->rank != IFP_FRAME_NO_RANK && listed->rank >= IFP_RUN_WORLD_MAX) {
		run->damaged_documents++;
		return 0;
	}
	if (listed->type == IFP_FRAME_EVENTS)
		return listed->rank == IFP_FRAME_NO_RANK ? 0 : take_block(run, i, listed);
	err = ifp_archive_reader_load(run->reader, i, buf, &frame);
	if (err == -EBADMSG) { /* the reader counts it */
		ifp_error_clear();
		return 0;
	}
	if (err)
		return err;
	if (frame.type != IFP_FRAME_CLOCK)
		return take_document(run, &frame);
	return frame.rank == IFP_FRAME_NO_RANK ? 0 : take_samples(run, &frame);
}

/* How many numbers are missing before a rank's highest one. */
static void count_gaps(struct ifp_run *run, const struct ifp_sequence_set *seen)
{
	uint32_t m = 0;

	for (uint32_t i = 0; i < seen->count; i++) {
		const struct ifp_sequence_rank *of = &seen->ranks[i];
		uint64_t held = 0;

		for (uint32_t r = 0; r < of->count; r++)
			held += of->ranges[r].last - of->ranges[r].first + 1;
		while (m < run->member_count && run->members[m].seen.rank < of->rank)
			m++;
		if (m < run->member_count && run->members[m].seen.rank == of->rank && of->count)
			run->members[m].missing_frames = of->ranges[of->count - 1].last - held;
	}
}

static int compare_tuples(const void *a, const void *b)
{
	const struct ifp_clock_tuple *left = a, *right = b;

	return (left->raw_ns > right->raw_ns) - (left->raw_ns < right->raw_ns);
}

int ifp_run_read_frames(struct ifp_run *run)
{
	IFP_CLEANUP(ifp_sequence_set_free) struct ifp_sequence_set seen = {0};
	IFP_CLEANUP_BUF struct ifp_buf buf = {0};

	for (uint64_t i = 0; i < ifp_archive_reader_count(run->reader); i++) {
		const struct ifp_frame *frame = ifp_archive_reader_frame(run->reader, i);
		bool fresh = true;
		int err = 0;

		if (frame->sequence)
			err = ifp_sequence_set_add(&seen, frame->rank, frame->sequence, &fresh);
		if (!err && fresh)
			err = take_frame(run, i, &buf);
		if (err)
			return err;
	}
	count_gaps(run, &seen);
	for (uint32_t i = 0; i < run->member_count; i++) {
		struct ifp_clock_samples *samples = &run->members[i].samples;

		if (samples->tuple_count)
			qsort(samples->tuples, samples->tuple_count, sizeof(*samples->tuples),
				compare_tuples);
	}
	return 0;
}
