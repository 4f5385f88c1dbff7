/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/element.h"

#include "core/checksum.h"
#include "core/error.h"
#include "trace/chrome/decimal.h"

#include <errno.h>
#include <string.h>

struct field_name {
	const char *name;
	uint32_t len_bytes;
	enum ifp_element_field field;
};

#define FIELD(name, field)                                                                         \
	{                                                                                          \
		name, sizeof(name) - 1, field                                                      \
	}

static const struct field_name members[] = {
	FIELD("ph", IFP_FIELD_PH),
	FIELD("cat", IFP_FIELD_CAT),
	FIELD("name", IFP_FIELD_NAME),
	FIELD("pid", IFP_FIELD_PID),
	FIELD("tid", IFP_FIELD_TID),
	FIELD("ts", IFP_FIELD_TS),
	FIELD("dur", IFP_FIELD_DUR),
	FIELD("id", IFP_FIELD_ID),
	FIELD("args", IFP_FIELD_ARGS),
};

static const struct field_name arguments[] = {
	FIELD("device", IFP_FIELD_DEVICE),
	FIELD("stream", IFP_FIELD_STREAM),
	FIELD("correlation", IFP_FIELD_CORRELATION),
};

static struct ifp_str buf_str(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

/* IFP_FIELD_COUNT when the name is none of the table's. */
static enum ifp_element_field find(
	const struct field_name *table, size_t count, struct ifp_str name)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].len_bytes == name.len_bytes && table[i].name[0] == name.ptr[0] &&
			!memcmp(table[i].name, name.ptr, name.len_bytes))
			return table[i].field;
	return IFP_FIELD_COUNT;
}

static struct ifp_str text_of(const struct ifp_element *element, enum ifp_element_field field)
{
	const struct ifp_element_span *span = &element->fields[field];

	if (!span->len_bytes)
		return (struct ifp_str){0};
	return (struct ifp_str){
		(const char *)element->values.data + span->offset_bytes, (uint32_t)span->len_bytes};
}

static bool is_string(struct ifp_str value)
{
	return value.len_bytes >= 2 && value.ptr[0] == '"';
}

/* The inside of a JSON string. */
static struct ifp_str inside(struct ifp_str value)
{
	return (struct ifp_str){value.ptr + 1, value.len_bytes - 2};
}

/* Collects the value that is next and remembers where it is. */
static int take_value(
	struct ifp_element *element, struct ifp_pull *pull, enum ifp_element_field field)
{
	size_t start = element->values.len_bytes;
	int err = ifp_pull_value(pull, &element->values);

	if (!err && field != IFP_FIELD_COUNT)
		element->fields[field] =
			(struct ifp_element_span){start, element->values.len_bytes - start};
	return err;
}

static int next_member(struct ifp_element *element, struct ifp_pull *pull, bool *first)
{
	return ifp_pull_member_view(pull, first, &element->key, &element->name);
}

/* Appends what stands before a member's value. */
static void append_name(struct ifp_buf *out, struct ifp_str name, const char *opening)
{
	ifp_buf_append_text(out, opening);
	ifp_buf_append(out, name.ptr, name.len_bytes);
	ifp_buf_append_text(out, "\":");
}

static int take_args(struct ifp_element *element, struct ifp_pull *pull)
{
	struct ifp_buf *values = &element->values;
	size_t start = values->len_bytes;
	bool first = true;
	int more = ifp_pull_enter(pull, '{');

	if (more)
		return more;
	ifp_buf_append_u8(values, '{');
	while ((more = next_member(element, pull, &first)) > 0) {
		int err;

		append_name(values, element->name, values->len_bytes > start + 1 ? ",\"" : "\"");
		err = take_value(
			element, pull, find(arguments, IFP_ARRAY_SIZE(arguments), element->name));
		if (err)
			return err;
	}
	ifp_buf_append_u8(values, '}');
	element->fields[IFP_FIELD_ARGS] =
		(struct ifp_element_span){start, values->len_bytes - start};
	return more;
}

/* Opens the next member of extra, whose value the caller appends. */
static void extra_member(struct ifp_element *element, struct ifp_str key)
{
	append_name(&element->extra, key, element->extra.len_bytes ? ",\"" : "{\"");
}

static void keep_as_extra(
	struct ifp_element *element, const char *key, enum ifp_element_field field)
{
	struct ifp_str value = text_of(element, field);

	if (!value.len_bytes)
		return;
	extra_member(element, ifp_str(key));
	ifp_buf_append(&element->extra, value.ptr, value.len_bytes);
}

static int take_member(struct ifp_element *element, struct ifp_pull *pull)
{
	enum ifp_element_field field = find(members, IFP_ARRAY_SIZE(members), element->name);
	struct ifp_str name = element->name;

	if (field == IFP_FIELD_ARGS) {
		int c = ifp_pull_peek(pull);

		if (c < 0)
			return c;
		if (c == '{')
			return take_args(element, pull);
		name = ifp_str("args"); /* looking ahead may have moved the window */
	} else if (field != IFP_FIELD_COUNT) {
		return take_value(element, pull, field);
	}
	extra_member(element, name);
	return ifp_pull_value(pull, &element->extra);
}

static enum ifp_event_kind kind_of(char phase)
{
	switch (phase) {
	case 'X':
		return IFP_EVENT_SLICE;
	case 'i':
	case 'I': /* the same in older traces */
		return IFP_EVENT_INSTANT;
	case 'C':
		return IFP_EVENT_COUNTER;
	case 's':
		return IFP_EVENT_FLOW_START;
	case 't':
		return IFP_EVENT_FLOW_STEP;
	case 'f':
		return IFP_EVENT_FLOW_END;
	case 'M':
		return IFP_EVENT_META;
	case 'B':
		return IFP_EVENT_BEGIN;
	case 'E':
		return IFP_EVENT_END;
	case 'b':
		return IFP_EVENT_ASYNC_BEGIN;
	case 'n':
		return IFP_EVENT_ASYNC_INSTANT;
	case 'e':
		return IFP_EVENT_ASYNC_END;
	default:
		return IFP_EVENT_OTHER;
	}
}

static bool set_texts(struct ifp_element *element, struct ifp_event *event)
{
	struct ifp_str phase = text_of(element, IFP_FIELD_PH);
	struct ifp_str name = text_of(element, IFP_FIELD_NAME);
	struct ifp_str category = text_of(element, IFP_FIELD_CAT);

	if (!is_string(phase) || phase.len_bytes != 3)
		return false;
	event->kind = kind_of(phase.ptr[1]);
	if (event->kind == IFP_EVENT_OTHER)
		keep_as_extra(element, "ph", IFP_FIELD_PH);
	/* The end of a slice need not repeat the name. */
	if (is_string(name))
		event->name = inside(name);
	else if (event->kind != IFP_EVENT_END || name.len_bytes)
		return false;
	if (is_string(category))
		event->category = inside(category);
	else
		keep_as_extra(element, "cat", IFP_FIELD_CAT);
	event->args = text_of(element, IFP_FIELD_ARGS);
	return true;
}

static bool set_times(struct ifp_element *element, int64_t base_ns, struct ifp_event *event)
{
	struct ifp_str ts = text_of(element, IFP_FIELD_TS);
	struct ifp_str dur = text_of(element, IFP_FIELD_DUR);
	int64_t end;

	if (ts.len_bytes || event->kind != IFP_EVENT_META) {
		if (!ts.len_bytes || !ifp_decimal_us_to_ns(ts, &event->start) ||
			__builtin_add_overflow(event->start, base_ns, &event->start))
			return false;
	}
	if (event->kind != IFP_EVENT_SLICE) {
		keep_as_extra(element, "dur", IFP_FIELD_DUR);
		return true;
	}
	if (!dur.len_bytes) {
		element->without_dur = true;
		return true;
	}
	/* An end before the start stays as it was recorded; it is drawn without length. */
	return ifp_decimal_us_to_ns(dur, &event->dur) &&
	       !__builtin_add_overflow(event->start, event->dur, &end);
}

/* False when the value is an array or object. */
static bool set_place(struct ifp_str value, int64_t *number, struct ifp_str *text)
{
	if (!value.len_bytes || ifp_decimal_int(value, number))
		return true;
	if (value.ptr[0] == '[' || value.ptr[0] == '{')
		return false;
	*text = value;
	return true;
}

/*
 * Kineto draws GPU work on a lane whose pid is the device and whose tid is the stream. Annotations
 * of the GPU have no args.device and are told by their category alone.
 */
static bool on_stream(const struct ifp_element *element, const struct ifp_event *event)
{
	if (ifp_str_is(event->category, "gpu_user_annotation"))
		return true;
	if (!ifp_str_is(event->category, "kernel") && !ifp_str_is(event->category, "cuda_sync") &&
		!ifp_str_is(event->category, "gpu_memcpy") &&
		!ifp_str_is(event->category, "gpu_memset"))
		return false;
	return element->fields[IFP_FIELD_DEVICE].len_bytes &&
	       element->fields[IFP_FIELD_STREAM].len_bytes;
}

/* A stream's lane has the device's or the stream's number, and what the trace has in its place. */
static void set_number(
	int64_t number, struct ifp_str recorded, int64_t *place, struct ifp_str *text)
{
	if (number != *place)
		*text = recorded;
	*place = number;
}

static bool set_lane(const struct ifp_element *element, struct ifp_event *event)
{
	struct ifp_lane *lane = &event->lane;
	struct ifp_str device = text_of(element, IFP_FIELD_DEVICE);
	struct ifp_str stream = text_of(element, IFP_FIELD_STREAM);
	struct ifp_str pid = text_of(element, IFP_FIELD_PID), tid = text_of(element, IFP_FIELD_TID);
	int64_t number;

	if (!set_place(pid, &lane->pid, &lane->pid_text) ||
		!set_place(tid, &lane->tid, &lane->tid_text))
		return false;
	lane->kind = IFP_LANE_THREAD;
	if (on_stream(element, event) && !lane->pid_text.len_bytes && !lane->tid_text.len_bytes) {
		lane->kind = IFP_LANE_STREAM;
		if (ifp_decimal_int(device, &number))
			set_number(number, pid, &lane->pid, &lane->pid_text);
		/* Waiting for an event is on no stream (-1): it stays where Kineto put it. */
		if (ifp_decimal_int(stream, &number) && number >= 0)
			set_number(number, tid, &lane->tid, &lane->tid_text);
	} else if (lane->pid_text.len_bytes || lane->tid_text.len_bytes) {
		lane->kind = IFP_LANE_OTHER;
	}
	return true;
}

static bool is_flow(enum ifp_event_kind kind)
{
	return kind == IFP_EVENT_FLOW_START || kind == IFP_EVENT_FLOW_STEP ||
	       kind == IFP_EVENT_FLOW_END;
}

/* A text, or a number beyond int64_t: neither null nor the -1 that says "none". */
static bool names_something(struct ifp_str text)
{
	return is_string(text) || (text.len_bytes && text.ptr[0] >= '0' && text.ptr[0] <= '9');
}

/*
 * Flows may be named by any text: one that is no number is kept, and stands for its hash. Of other
 * events the args keep it.
 */
static void set_correlation(struct ifp_element *element, struct ifp_event *event)
{
	bool flow = is_flow(event->kind);
	enum ifp_element_field field = flow ? IFP_FIELD_ID : IFP_FIELD_CORRELATION;
	struct ifp_str text = text_of(element, field);
	int64_t number;

	if (text.len_bytes && ifp_decimal_int(text, &number) && number >= 0) {
		event->correlation = (uint64_t)number;
	} else if (flow && text.len_bytes) {
		event->correlation = ifp_checksum(text.ptr, text.len_bytes);
		keep_as_extra(element, "id", IFP_FIELD_ID);
	} else if (names_something(text)) {
		event->correlation = ifp_checksum(text.ptr, text.len_bytes);
	}
	if (!flow)
		keep_as_extra(element, "id", IFP_FIELD_ID);
}

static int close_texts(struct ifp_element *element, struct ifp_event *event)
{
	if (element->extra.len_bytes) {
		ifp_buf_append_u8(&element->extra, '}');
		event->extra = buf_str(&element->extra);
	}
	if (ifp_buf_status(&element->values) || ifp_buf_status(&element->extra) ||
		ifp_buf_status(&element->key))
		return -ENOMEM;
	return 1;
}

int ifp_element_read(struct ifp_element *element, struct ifp_pull *pull, int64_t base_ns,
	struct ifp_event *event)
{
	struct ifp_event read = {.source = IFP_SOURCE_KINETO, .clock = IFP_CLOCK_REALTIME};
	bool first = true;
	int more = ifp_pull_peek(pull);

	if (more < 0)
		return more;
	element->empty = false;
	if (more != '{')
		return ifp_pull_value(pull, NULL);
	ifp_buf_clear(&element->values);
	ifp_buf_clear(&element->extra);
	memset(element->fields, 0, sizeof(element->fields));
	ifp_pull_enter(pull, '{');
	while ((more = next_member(element, pull, &first)) > 0) {
		int err = take_member(element, pull);

		if (err)
			return err;
	}
	if (more < 0)
		return more;
	element->empty = first;
	element->without_dur = false;
	if (!set_texts(element, &read) || !set_times(element, base_ns, &read) ||
		!set_lane(element, &read))
		return 0;
	set_correlation(element, &read);
	more = close_texts(element, &read);
	if (more > 0)
		*event = read;
	return more;
}

void ifp_element_free(struct ifp_element *element)
{
	ifp_buf_free(&element->key);
	ifp_buf_free(&element->values);
	ifp_buf_free(&element->extra);
}
