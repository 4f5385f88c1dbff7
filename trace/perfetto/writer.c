/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/perfetto/writer.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/intern.h"
#include "trace/output.h"
#include "trace/perfetto/annotations.h"
#include "trace/perfetto/fields.h"
#include "trace/protobuf/encode.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CHUNK_BYTES (128u * 1024u)
#define GZIP_LEVEL 6

/* A table of a sequence: texts and how many of them have been written. */
struct table {
	struct ifp_intern texts;
	uint32_t written;
};

struct ifp_perfetto_writer {
	struct ifp_output *output;
	struct ifp_buf chunk;
	uint64_t written_bytes;
	uint64_t zero_ns;  /* what is added wraps round: an archive may say anything */
	uint32_t sequence; /* its number, from 1; 0 = none yet */
	bool open;	   /* its first packet is written */
	int64_t last_ns;   /* what its clock shows */
	struct table names, categories, annotations;
	int err;
};

static void table_free(struct table *table)
{
	ifp_intern_free(&table->texts);
}

void ifp_perfetto_abandon(struct ifp_perfetto_writer **writer)
{
	struct ifp_perfetto_writer *w = *writer;

	if (!w)
		return;
	ifp_output_abandon(&w->output);
	ifp_buf_free(&w->chunk);
	table_free(&w->names);
	table_free(&w->categories);
	table_free(&w->annotations);
	free(w);
	*writer = NULL;
}

static void keep(struct ifp_perfetto_writer *writer, int err)
{
	if (!writer->err)
		writer->err = err;
}

static void flush(struct ifp_perfetto_writer *writer)
{
	ifp_output_write(writer->output, &writer->chunk);
	writer->written_bytes += writer->chunk.len_bytes;
	ifp_buf_clear(&writer->chunk);
}

static struct ifp_protobuf_message begin_packet(struct ifp_perfetto_writer *writer)
{
	return ifp_protobuf_begin(&writer->chunk, TRACE_PACKET);
}

static void end_packet(struct ifp_perfetto_writer *writer, struct ifp_protobuf_message packet)
{
	ifp_protobuf_end(&writer->chunk, packet);
	if (writer->chunk.len_bytes >= CHUNK_BYTES)
		flush(writer);
}

static void append_clock(struct ifp_buf *chunk, uint32_t id, uint64_t timestamp, bool incremental)
{
	struct ifp_protobuf_message clock = ifp_protobuf_begin(chunk, SNAPSHOT_CLOCKS);

	ifp_protobuf_uint(chunk, CLOCK_ID, id);
	ifp_protobuf_uint(chunk, CLOCK_TIMESTAMP, timestamp);
	if (incremental)
		ifp_protobuf_uint(chunk, CLOCK_IS_INCREMENTAL, 1);
	ifp_protobuf_end(chunk, clock);
}

/* The trace's clock is that of the world, so that people see date and time. */
static void append_world_clock(struct ifp_perfetto_writer *writer)
{
	struct ifp_buf *chunk = &writer->chunk;
	struct ifp_protobuf_message packet = begin_packet(writer);
	struct ifp_protobuf_message snapshot = ifp_protobuf_begin(chunk, PACKET_CLOCK_SNAPSHOT);

	append_clock(chunk, CLOCK_BOOTTIME, writer->zero_ns, false);
	append_clock(chunk, CLOCK_REALTIME, writer->zero_ns, false);
	ifp_protobuf_uint(chunk, SNAPSHOT_PRIMARY_TRACE_CLOCK, CLOCK_BOOTTIME);
	ifp_protobuf_end(chunk, snapshot);
	end_packet(writer, packet);
}

/* Processes are shown in their order only if the root of all tracks, which has number 0, says so.
 */
static void append_root(struct ifp_perfetto_writer *writer)
{
	struct ifp_buf *chunk = &writer->chunk;
	struct ifp_protobuf_message packet = begin_packet(writer);
	struct ifp_protobuf_message root = ifp_protobuf_begin(chunk, PACKET_TRACK_DESCRIPTOR);

	ifp_protobuf_uint(chunk, TRACK_UUID, 0);
	ifp_protobuf_uint(chunk, TRACK_CHILD_ORDERING, ORDER_EXPLICIT);
	ifp_protobuf_uint(chunk, TRACK_PROCESS_ORDERING, PROCESS_ORDER_EXPLICIT);
	ifp_protobuf_end(chunk, root);
	end_packet(writer, packet);
}

int ifp_perfetto_open(const char *path, int64_t zero_ns, struct ifp_perfetto_writer **out)
{
	IFP_CLEANUP(ifp_perfetto_abandon)
	struct ifp_perfetto_writer *writer = calloc(1, sizeof(*writer));
	int err;

	if (!writer)
		return ifp_fail(-ENOMEM, "create %s: out of memory", path);
	err = ifp_output_open(path, GZIP_LEVEL, &writer->output);
	if (err)
		return err;
	writer->zero_ns = (uint64_t)zero_ns;
	append_world_clock(writer);
	append_root(writer);
	*out = IFP_TAKE_PTR(writer);
	return 0;
}

static void append_process(struct ifp_buf *chunk, const struct ifp_perfetto_track *track)
{
	struct ifp_protobuf_message process = ifp_protobuf_begin(chunk, TRACK_PROCESS);

	ifp_protobuf_int(chunk, PROCESS_PID, track->pid);
	ifp_protobuf_uint(chunk, PROCESS_SORT_INDEX, track->order);
	ifp_protobuf_text_json(chunk, PROCESS_NAME, track->name);
	ifp_protobuf_end(chunk, process);
}

void ifp_perfetto_track(struct ifp_perfetto_writer *writer, const struct ifp_perfetto_track *track)
{
	struct ifp_buf *chunk = &writer->chunk;
	struct ifp_protobuf_message packet = begin_packet(writer);
	struct ifp_protobuf_message descriptor = ifp_protobuf_begin(chunk, PACKET_TRACK_DESCRIPTOR);

	ifp_protobuf_uint(chunk, TRACK_UUID, track->uuid);
	if (track->parent)
		ifp_protobuf_uint(chunk, TRACK_PARENT_UUID, track->parent);
	if (track->pid)
		append_process(chunk, track);
	else
		ifp_protobuf_text_json(chunk, TRACK_NAME, track->name);
	if (track->counter)
		ifp_protobuf_end(chunk, ifp_protobuf_begin(chunk, TRACK_COUNTER));
	ifp_protobuf_uint(chunk, TRACK_CHILD_ORDERING, ORDER_EXPLICIT);
	ifp_protobuf_uint(chunk, TRACK_SIBLING_ORDER_RANK, track->order);
	/* Two threads of one name are two. */
	ifp_protobuf_uint(chunk, TRACK_SIBLING_MERGE_BEHAVIOR, MERGE_NONE);
	ifp_protobuf_end(chunk, descriptor);
	end_packet(writer, packet);
}

static void table_clear(struct table *table)
{
	ifp_intern_clear(&table->texts);
	table->written = 0;
}

void ifp_perfetto_sequence(struct ifp_perfetto_writer *writer)
{
	writer->sequence++;
	writer->open = false;
	table_clear(&writer->names);
	table_clear(&writer->categories);
	table_clear(&writer->annotations);
}

/* The packet that a sequence begins with: its clock starts at its first event. */
static void open_sequence(struct ifp_perfetto_writer *writer, int64_t start_ns)
{
	struct ifp_buf *chunk = &writer->chunk;
	struct ifp_protobuf_message packet = begin_packet(writer), message;

	writer->open = true;
	writer->last_ns = start_ns;
	ifp_protobuf_uint(chunk, PACKET_SEQUENCE_ID, writer->sequence);
	ifp_protobuf_uint(chunk, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
	message = ifp_protobuf_begin(chunk, PACKET_DEFAULTS);
	ifp_protobuf_uint(chunk, DEFAULTS_TIMESTAMP_CLOCK_ID, CLOCK_OF_SEQUENCE);
	ifp_protobuf_end(chunk, message);
	message = ifp_protobuf_begin(chunk, PACKET_CLOCK_SNAPSHOT);
	append_clock(chunk, CLOCK_BOOTTIME, writer->zero_ns + (uint64_t)start_ns, false);
	append_clock(chunk, CLOCK_OF_SEQUENCE, 0, true);
	ifp_protobuf_end(chunk, message);
	end_packet(writer, packet);
}

static uint32_t number_of(
	struct ifp_perfetto_writer *writer, struct table *table, struct ifp_str text)
{
	uint32_t id;
	int err;

	if (!text.len_bytes)
		return 0;
	err = ifp_intern(&table->texts, text, &id);
	if (err)
		keep(writer, err);
	return err ? 0 : id + 1;
}

uint32_t ifp_perfetto_name(struct ifp_perfetto_writer *writer, struct ifp_str name)
{
	return number_of(writer, &writer->names, name);
}

uint32_t ifp_perfetto_category(struct ifp_perfetto_writer *writer, struct ifp_str category)
{
	return number_of(writer, &writer->categories, category);
}

void ifp_perfetto_args(struct ifp_perfetto_writer *writer, struct ifp_str args, struct ifp_buf *out)
{
	ifp_perfetto_annotate(out, &writer->annotations.texts, args);
}

/* The texts of a table that have not been written yet. */
static void append_new(struct ifp_buf *chunk, uint32_t field, struct table *table)
{
	for (; table->written < table->texts.count; table->written++) {
		struct ifp_protobuf_message entry = ifp_protobuf_begin(chunk, field);

		ifp_protobuf_uint(chunk, INTERNED_IID, (uint64_t)table->written + 1);
		ifp_protobuf_text_json(
			chunk, INTERNED_TEXT, ifp_intern_text(&table->texts, table->written));
		ifp_protobuf_end(chunk, entry);
	}
}

static bool has_new(const struct table *table)
{
	return table->written < table->texts.count;
}

static void append_tables(struct ifp_perfetto_writer *writer)
{
	struct ifp_buf *chunk = &writer->chunk;
	struct ifp_protobuf_message interned;

	if (!has_new(&writer->names) && !has_new(&writer->categories) &&
		!has_new(&writer->annotations))
		return;
	interned = ifp_protobuf_begin(chunk, PACKET_INTERNED_DATA);
	append_new(chunk, INTERNED_CATEGORIES, &writer->categories);
	append_new(chunk, INTERNED_NAMES, &writer->names);
	append_new(chunk, INTERNED_ANNOTATION_NAMES, &writer->annotations);
	ifp_protobuf_end(chunk, interned);
}

/* A packet of the sequence at this time. */
static struct ifp_protobuf_message begin_timed(struct ifp_perfetto_writer *writer, int64_t at_ns)
{
	struct ifp_buf *chunk = &writer->chunk;
	struct ifp_protobuf_message packet;

	if (!writer->open)
		open_sequence(writer, at_ns);
	packet = begin_packet(writer);
	if (at_ns >= writer->last_ns) {
		ifp_protobuf_uint(
			chunk, PACKET_TIMESTAMP, (uint64_t)at_ns - (uint64_t)writer->last_ns);
		writer->last_ns = at_ns;
	} else {
		ifp_protobuf_uint(chunk, PACKET_TIMESTAMP, writer->zero_ns + (uint64_t)at_ns);
		ifp_protobuf_uint(chunk, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_BOOTTIME);
	}
	ifp_protobuf_uint(chunk, PACKET_SEQUENCE_ID, writer->sequence);
	ifp_protobuf_uint(chunk, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	append_tables(writer);
	return packet;
}

void ifp_perfetto_event(struct ifp_perfetto_writer *writer, const struct ifp_perfetto_event *event)
{
	struct ifp_buf *chunk = &writer->chunk;
	struct ifp_protobuf_message packet = begin_timed(writer, event->at_ns);
	struct ifp_protobuf_message message = ifp_protobuf_begin(chunk, PACKET_TRACK_EVENT);

	ifp_protobuf_uint(chunk, EVENT_TYPE, event->type);
	ifp_protobuf_uint(chunk, EVENT_TRACK_UUID, event->track);
	if (event->category)
		ifp_protobuf_uint(chunk, EVENT_CATEGORY_IIDS, event->category);
	if (event->name)
		ifp_protobuf_uint(chunk, EVENT_NAME_IID, event->name);
	ifp_buf_append(chunk, event->args, event->args_bytes);
	for (size_t i = 0; i < event->flow_count; i++)
		ifp_protobuf_fixed64(chunk, EVENT_FLOW_IDS, event->flows[i]);
	ifp_protobuf_end(chunk, message);
	end_packet(writer, packet);
}

/* Whole numbers stay exact. */
static void append_counter_value(struct ifp_buf *chunk, struct ifp_str value)
{
	char text[IFP_PERFETTO_MAX_NUMBER], *end;
	int64_t whole;

	snprintf(text, sizeof(text), IFP_STR_FORMAT, IFP_STR_ARGS(value));
	errno = 0;
	whole = strtoll(text, &end, 10);
	if (!errno && !*end)
		ifp_protobuf_int(chunk, EVENT_COUNTER_VALUE, whole);
	else
		ifp_protobuf_double(chunk, EVENT_DOUBLE_COUNTER_VALUE, strtod(text, NULL));
}

void ifp_perfetto_counter(
	struct ifp_perfetto_writer *writer, uint64_t track, int64_t at_ns, struct ifp_str value)
{
	struct ifp_buf *chunk = &writer->chunk;
	struct ifp_protobuf_message packet = begin_timed(writer, at_ns);
	struct ifp_protobuf_message message = ifp_protobuf_begin(chunk, PACKET_TRACK_EVENT);

	ifp_protobuf_uint(chunk, EVENT_TYPE, 4);
	ifp_protobuf_uint(chunk, EVENT_TRACK_UUID, track);
	append_counter_value(chunk, value);
	ifp_protobuf_end(chunk, message);
	end_packet(writer, packet);
}

void ifp_perfetto_arrow_end(
	struct ifp_perfetto_writer *writer, const struct ifp_perfetto_arrow_end *end)
{
	struct ifp_buf *chunk = &writer->chunk;
	struct ifp_protobuf_message packet = begin_timed(writer, end->at_ns);
	struct ifp_protobuf_message message = ifp_protobuf_begin(chunk, PACKET_TRACK_EVENT), legacy;

	ifp_protobuf_uint(chunk, EVENT_TRACK_UUID, end->track);
	if (end->category)
		ifp_protobuf_uint(chunk, EVENT_CATEGORY_IIDS, end->category);
	if (end->name)
		ifp_protobuf_uint(chunk, EVENT_NAME_IID, end->name);
	legacy = ifp_protobuf_begin(chunk, EVENT_LEGACY);
	ifp_protobuf_int(chunk, LEGACY_PHASE, end->start ? 's' : 'f');
	ifp_protobuf_uint(chunk, LEGACY_UNSCOPED_ID, end->id);
	ifp_protobuf_uint(chunk, LEGACY_BIND_TO_ENCLOSING, 1);
	ifp_protobuf_end(chunk, legacy);
	ifp_protobuf_end(chunk, message);
	end_packet(writer, packet);
}

uint64_t ifp_perfetto_bytes(const struct ifp_perfetto_writer *writer)
{
	return writer->written_bytes + writer->chunk.len_bytes;
}

int ifp_perfetto_close(struct ifp_perfetto_writer **writer)
{
	IFP_CLEANUP(ifp_perfetto_abandon) struct ifp_perfetto_writer *w = IFP_TAKE_PTR(*writer);

	flush(w);
	return w->err ? w->err : ifp_output_close(&w->output);
}
