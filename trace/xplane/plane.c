/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/xplane/plane.h"

#include "core/cleanup.h"
#include "trace/chrome/escape.h"

#include <stdlib.h>

/* Numbers of fields: xla/tsl/profiler/protobuf/xplane.proto. */
enum {
	PLANE_LINES = 3,
	PLANE_EVENT_METADATA = 4,
	PLANE_STAT_METADATA = 5,
	PLANE_STATS = 6,
	LINE_ID = 1,
	LINE_NAME = 2,
	LINE_EVENTS = 4,
	LINE_DISPLAY_NAME = 11,
	EVENT_METADATA_ID = 1,
	EVENT_OFFSET_PS = 2,
	EVENT_DURATION_PS = 3,
	EVENT_STATS = 4,
	STAT_METADATA_ID = 1,
	STAT_DOUBLE = 2,
	STAT_UINT = 3,
	STAT_INT = 4,
	STAT_TEXT = 5,
	STAT_REF = 7,
	MAP_KEY = 1,
	MAP_VALUE = 2,
	METADATA_ID = 1,
	METADATA_NAME = 2,
	METADATA_DISPLAY_NAME = 4,
};

/* A length of that many bytes can be filled in later: 5 x 7 bits are enough for 2 GiB. */
#define LATER_BYTES 5

/* Texts of stats are told by number until they take so much; those after that stand in the event.
 */
#define MAX_TEXTS_BYTES (64u << 20)

/* What a name takes in its table beside its text, which may be there twice, at most; a line beside
 * its title. */
#define ENTRY_BYTES 40

#define PS_PER_NS 1000

static void fail(struct ifp_xplane_plane *plane, int err)
{
	if (!plane->total->err)
		plane->total->err = err;
}

/* 1 for the first name: 0 says nothing. */
static uint32_t intern(
	struct ifp_xplane_plane *plane, struct ifp_intern *table, struct ifp_str text)
{
	uint32_t known = table->count;
	uint32_t id = 0;
	int err = ifp_intern(table, text, &id);

	if (err)
		fail(plane, err);
	if (table->count > known)
		plane->total->bytes += 3 * (uint64_t)text.len_bytes + ENTRY_BYTES;
	return id;
}

uint32_t ifp_xplane_stat_name(struct ifp_xplane_plane *plane, struct ifp_str name)
{
	return intern(plane, &plane->texts, name) + 1;
}

uint32_t ifp_xplane_event_name(
	struct ifp_xplane_plane *plane, struct ifp_str name, enum ifp_xplane_style style)
{
	return intern(plane, &plane->events[style], name) * IFP_XPLANE_STYLES + style + 1;
}

static void begin_line(struct ifp_xplane_plane *plane)
{
	struct ifp_buf *out = &plane->lines.chunk;

	ifp_xplane_plane_end_line(plane);
	ifp_protobuf_tag(out, PLANE_LINES, IFP_PROTOBUF_BYTES);
	for (int i = 0; i < LATER_BYTES; i++)
		ifp_buf_append_u8(out, 0);
	plane->line_at = ifp_spool_bytes(&plane->lines);
	plane->in_line = true;
}

void ifp_xplane_line(struct ifp_xplane_plane *plane, int64_t id, struct ifp_str title)
{
	begin_line(plane);
	plane->total->bytes += title.len_bytes + ENTRY_BYTES;
	/* xprof has lines of its own, which it knows by their names, and none by a display name. */
	ifp_protobuf_int(&plane->lines.chunk, LINE_ID, id);
	ifp_protobuf_text_json(&plane->lines.chunk, LINE_DISPLAY_NAME, title);
}

void ifp_xplane_line_of_counters(struct ifp_xplane_plane *plane)
{
	begin_line(plane);
	plane->total->bytes += ENTRY_BYTES;
	ifp_protobuf_text(&plane->lines.chunk, LINE_NAME, ifp_str("_counters_"));
}

void ifp_xplane_plane_end_line(struct ifp_xplane_plane *plane)
{
	uint64_t len_bytes = ifp_spool_bytes(&plane->lines) - plane->line_at;
	uint8_t length[LATER_BYTES];
	int err;

	if (!plane->in_line)
		return;
	plane->in_line = false;
	for (int i = 0; i < LATER_BYTES; i++, len_bytes >>= 7)
		length[i] = (uint8_t)((len_bytes & 0x7f) | (i + 1 < LATER_BYTES ? 0x80 : 0));
	err = ifp_spool_patch(&plane->lines, plane->line_at - LATER_BYTES, length, LATER_BYTES);
	if (err)
		fail(plane, err);
}

void ifp_xplane_event_begin(
	struct ifp_xplane_plane *plane, uint32_t name, int64_t start_ns, int64_t dur_ns)
{
	struct ifp_buf *out = &plane->lines.chunk;

	plane->in_event = true;
	plane->event_at = out->len_bytes;
	plane->event = ifp_protobuf_begin(out, LINE_EVENTS);
	ifp_protobuf_uint(out, EVENT_METADATA_ID, name);
	ifp_protobuf_int(out, EVENT_OFFSET_PS, start_ns * PS_PER_NS);
	if (dur_ns)
		ifp_protobuf_int(out, EVENT_DURATION_PS, dur_ns * PS_PER_NS);
}

bool ifp_xplane_event_end(struct ifp_xplane_plane *plane)
{
	struct ifp_buf *out = &plane->lines.chunk;
	struct ifp_xplane_total *total = plane->total;
	int err;

	ifp_protobuf_end(out, plane->event);
	plane->in_event = false;
	if (out->len_bytes - plane->event_at > total->limit_bytes ||
		total->bytes > total->limit_bytes - (out->len_bytes - plane->event_at)) {
		out->len_bytes = plane->event_at;
		return false;
	}
	total->bytes += out->len_bytes - plane->event_at;
	err = ifp_spool_settle(&plane->lines);
	if (err)
		fail(plane, err);
	return true;
}

/* Where a stat goes, and the message that it is. */
static struct ifp_buf *begin_stat(
	struct ifp_xplane_plane *plane, uint32_t stat, struct ifp_protobuf_message *message)
{
	struct ifp_buf *out = plane->in_event ? &plane->lines.chunk : &plane->stats;

	*message = ifp_protobuf_begin(out, plane->in_event ? EVENT_STATS : PLANE_STATS);
	ifp_protobuf_uint(out, STAT_METADATA_ID, stat);
	return out;
}

void ifp_xplane_stat_int(struct ifp_xplane_plane *plane, uint32_t stat, int64_t value)
{
	struct ifp_protobuf_message message;
	struct ifp_buf *out = begin_stat(plane, stat, &message);

	ifp_protobuf_int(out, STAT_INT, value);
	ifp_protobuf_end(out, message);
}

void ifp_xplane_stat_uint(struct ifp_xplane_plane *plane, uint32_t stat, uint64_t value)
{
	struct ifp_protobuf_message message;
	struct ifp_buf *out = begin_stat(plane, stat, &message);

	ifp_protobuf_uint(out, STAT_UINT, value);
	ifp_protobuf_end(out, message);
}

void ifp_xplane_stat_double(struct ifp_xplane_plane *plane, uint32_t stat, double value)
{
	struct ifp_protobuf_message message;
	struct ifp_buf *out = begin_stat(plane, stat, &message);

	ifp_protobuf_double(out, STAT_DOUBLE, value);
	ifp_protobuf_end(out, message);
}

void ifp_xplane_stat_text(struct ifp_xplane_plane *plane, uint32_t stat, struct ifp_str value)
{
	bool by_number = plane->texts.arena.total_bytes < MAX_TEXTS_BYTES;
	uint32_t number = by_number ? intern(plane, &plane->texts, value) + 1 : 0;
	struct ifp_protobuf_message message;
	struct ifp_buf *out = begin_stat(plane, stat, &message);

	if (by_number)
		ifp_protobuf_uint(out, STAT_REF, number);
	else
		ifp_protobuf_text_json(out, STAT_TEXT, value);
	ifp_protobuf_end(out, message);
}

/* An entry of a table: a message of the number and another one, which begins with it, too. */
static struct ifp_protobuf_message begin_entry(
	struct ifp_buf *out, uint32_t field, uint32_t id, struct ifp_protobuf_message *value)
{
	struct ifp_protobuf_message entry = ifp_protobuf_begin(out, field);

	ifp_protobuf_uint(out, MAP_KEY, id);
	*value = ifp_protobuf_begin(out, MAP_VALUE);
	ifp_protobuf_uint(out, METADATA_ID, id);
	return entry;
}

static void append_texts(const struct ifp_xplane_plane *plane, struct ifp_buf *out)
{
	for (uint32_t i = 0; i < plane->texts.count; i++) {
		struct ifp_protobuf_message value;
		struct ifp_protobuf_message entry =
			begin_entry(out, PLANE_STAT_METADATA, i + 1, &value);

		ifp_protobuf_text_json(out, METADATA_NAME, ifp_intern_text(&plane->texts, i));
		ifp_protobuf_end(out, value);
		ifp_protobuf_end(out, entry);
	}
}

static struct ifp_str text_of(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

static void append_names(
	const struct ifp_xplane_plane *plane, enum ifp_xplane_style style, struct ifp_buf *out)
{
	IFP_CLEANUP_BUF struct ifp_buf shown = {0};
	IFP_CLEANUP_BUF struct ifp_buf analysed = {0};

	for (uint32_t i = 0; i < plane->events[style].count; i++) {
		struct ifp_protobuf_message value;
		struct ifp_protobuf_message entry = begin_entry(
			out, PLANE_EVENT_METADATA, i * IFP_XPLANE_STYLES + style + 1, &value);

		ifp_buf_clear(&shown);
		ifp_buf_clear(&analysed);
		ifp_json_unescape(&shown, ifp_intern_text(&plane->events[style], i));
		ifp_xplane_name(&analysed, text_of(&shown), style);
		ifp_protobuf_text(out, METADATA_NAME, text_of(&analysed));
		if (!ifp_str_equal(text_of(&shown), text_of(&analysed)))
			ifp_protobuf_text(out, METADATA_DISPLAY_NAME, text_of(&shown));
		ifp_protobuf_end(out, value);
		ifp_protobuf_end(out, entry);
		out->failed |= shown.failed || analysed.failed;
	}
}

int ifp_xplane_plane_tables(const struct ifp_xplane_plane *plane, struct ifp_buf *out)
{
	for (enum ifp_xplane_style style = 0; style < IFP_XPLANE_STYLES; style++)
		append_names(plane, style, out);
	append_texts(plane, out);
	ifp_buf_append(out, plane->stats.data, plane->stats.len_bytes);
	out->failed |= plane->stats.failed;
	return ifp_buf_status(out);
}

void ifp_xplane_plane_free(struct ifp_xplane_plane *plane)
{
	ifp_spool_free(&plane->lines);
	for (enum ifp_xplane_style style = 0; style < IFP_XPLANE_STYLES; style++)
		ifp_intern_free(&plane->events[style]);
	ifp_intern_free(&plane->texts);
	ifp_buf_free(&plane->stats);
	free(plane->name);
	free(plane);
}
