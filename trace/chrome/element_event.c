/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of an element, collected by element.c, to an event. */
#include "trace/chrome/element.h"

#include "core/checksum.h"
#include "core/error.h"
#include "trace/chrome/decimal.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static struct ifp_str buf_str(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
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

static void keep_as_extra(
	struct ifp_element *element, const char *key, enum ifp_element_field field)
{
	struct ifp_str value = text_of(element, field);

	if (!value.len_bytes)
		return;
	ifp_element_extra(element, ifp_str(key));
	ifp_buf_append(&element->extra, value.ptr, value.len_bytes);
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

static bool is_given(const struct ifp_element_numbers *numbers, enum ifp_element_field field)
{
	return numbers->given >> field & 1;
}

/* Places may have their numbers in quotes, as PyTorch 1.8 wrote them. */
static bool is_place(enum ifp_element_field field)
{
	return field == IFP_FIELD_PID || field == IFP_FIELD_TID;
}

static void read_numbers(struct ifp_element *element)
{
	static const enum ifp_element_field fields[] = {IFP_FIELD_PID, IFP_FIELD_TID, IFP_FIELD_ID,
		IFP_FIELD_DEVICE, IFP_FIELD_STREAM, IFP_FIELD_CORRELATION};

	element->numbers.given = 0;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(fields); i++) {
		struct ifp_str text = text_of(element, fields[i]);

		if (is_place(fields[i]) && is_string(text))
			text = inside(text);
		if (ifp_decimal_int(text, &element->numbers.value[fields[i]]))
			element->numbers.given |= 1u << fields[i];
	}
}

/* What is no integer is kept as text. False when the value is an array or object. */
static bool set_place(
	const struct ifp_element *element, enum ifp_element_field field, struct ifp_str *text)
{
	struct ifp_str value = text_of(element, field);

	if (!value.len_bytes || (is_given(&element->numbers, field) && !is_string(value)))
		return true;
	if (value.ptr[0] == '[' || value.ptr[0] == '{')
		return false;
	*text = value;
	return true;
}

/*
 * Kineto draws GPU work on a lane whose pid is the device and whose tid is the stream. Annotations
 * of the GPU have no args.device and are told by their category alone. The first Kineto (PyTorch
 * 1.8) wrote categories in capitals.
 */
static bool on_stream(const struct ifp_element *element, const struct ifp_event *event)
{
	static const char *const device_work[] = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync",
		"memcpy", "memset", "mtia_ccp_events"};
	const struct ifp_str *category = &event->category;

	if (ifp_str_is(*category, "gpu_user_annotation"))
		return true;
	if (!element->fields[IFP_FIELD_DEVICE].len_bytes ||
		!element->fields[IFP_FIELD_STREAM].len_bytes)
		return false;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(device_work); i++)
		if (strlen(device_work[i]) == category->len_bytes &&
			!strncasecmp(device_work[i], category->ptr, category->len_bytes))
			return true;
	return false;
}

/* PyTorch 1.8 calls a stream's lane "stream 7", for all that is on it: arrows as well. */
static bool is_named_stream(struct ifp_element *element, struct ifp_str tid_text)
{
	static const char prefix[] = "stream ";
	struct ifp_str number;
	int64_t stream;

	if (!is_string(tid_text) || !ifp_str_starts_with(inside(tid_text), prefix))
		return false;
	number = inside(tid_text);
	number.ptr += sizeof(prefix) - 1;
	number.len_bytes -= (uint32_t)sizeof(prefix) - 1;
	if (!ifp_decimal_int(number, &stream) || stream < 0)
		return false;
	element->numbers.value[IFP_FIELD_TID] = stream;
	element->numbers.given |= 1u << IFP_FIELD_TID;
	return true;
}

/* A stream's lane has the number of the device or the stream, and what stood in its place. */
static void keep_place(const struct ifp_element *element, enum ifp_element_field place,
	enum ifp_element_field other, struct ifp_str *text)
{
	const struct ifp_element_numbers *numbers = &element->numbers;
	int64_t number = is_given(numbers, place) ? numbers->value[place] : 0;

	if (is_given(numbers, other) && numbers->value[other] != number)
		*text = text_of(element, place);
}

static bool set_lane(struct ifp_element *element, struct ifp_event *event)
{
	struct ifp_lane *lane = &event->lane;
	bool named;

	if (!set_place(element, IFP_FIELD_PID, &lane->pid_text) ||
		!set_place(element, IFP_FIELD_TID, &lane->tid_text))
		return false;
	named = is_named_stream(element, lane->tid_text);
	lane->kind = IFP_LANE_THREAD;
	if ((lane->pid_text.len_bytes && !is_given(&element->numbers, IFP_FIELD_PID)) ||
		(lane->tid_text.len_bytes && !is_given(&element->numbers, IFP_FIELD_TID))) {
		lane->kind = IFP_LANE_OTHER;
	} else if (named || on_stream(element, event)) {
		lane->kind = IFP_LANE_STREAM;
		/* Waiting for an event is on no stream (-1): it stays where Kineto put it. */
		if (element->numbers.value[IFP_FIELD_STREAM] < 0)
			element->numbers.given &= ~(1u << IFP_FIELD_STREAM);
		keep_place(element, IFP_FIELD_PID, IFP_FIELD_DEVICE, &lane->pid_text);
		keep_place(element, IFP_FIELD_TID, IFP_FIELD_STREAM, &lane->tid_text);
	}
	return true;
}

bool ifp_element_is_flow(enum ifp_event_kind kind)
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
 * events the args keep it. Numbers follow in ifp_element_place().
 */
static void set_correlation(struct ifp_element *element, struct ifp_event *event)
{
	bool flow = ifp_element_is_flow(event->kind);
	enum ifp_element_field field = flow ? IFP_FIELD_ID : IFP_FIELD_CORRELATION;
	struct ifp_str text = text_of(element, field);
	bool number = is_given(&element->numbers, field) && element->numbers.value[field] >= 0;

	if (!number && (flow ? text.len_bytes > 0 : names_something(text)))
		event->correlation = ifp_checksum(text.ptr, text.len_bytes);
	if (!flow || !number)
		keep_as_extra(element, "id", IFP_FIELD_ID);
}

void ifp_element_place(const struct ifp_element_numbers *numbers, struct ifp_event *event)
{
	enum ifp_element_field correlation =
		ifp_element_is_flow(event->kind) ? IFP_FIELD_ID : IFP_FIELD_CORRELATION;
	bool on_stream = event->lane.kind == IFP_LANE_STREAM;

	if (is_given(numbers, IFP_FIELD_PID))
		event->lane.pid = numbers->value[IFP_FIELD_PID];
	if (is_given(numbers, IFP_FIELD_TID))
		event->lane.tid = numbers->value[IFP_FIELD_TID];
	if (on_stream && is_given(numbers, IFP_FIELD_DEVICE))
		event->lane.pid = numbers->value[IFP_FIELD_DEVICE];
	if (on_stream && is_given(numbers, IFP_FIELD_STREAM))
		event->lane.tid = numbers->value[IFP_FIELD_STREAM];
	if (is_given(numbers, correlation) && numbers->value[correlation] >= 0)
		event->correlation = (uint64_t)numbers->value[correlation];
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

int ifp_element_event(struct ifp_element *element, int64_t base_ns, struct ifp_event *event)
{
	struct ifp_event made = {.source = IFP_SOURCE_KINETO, .clock = IFP_CLOCK_REALTIME};
	int more;

	read_numbers(element);
	element->without_dur = false;
	if (!set_texts(element, &made) || !set_times(element, base_ns, &made) ||
		!set_lane(element, &made))
		return 0;
	set_correlation(element, &made);
	ifp_element_place(&element->numbers, &made);
	more = close_texts(element, &made);
	if (more > 0)
		*event = made;
	return more;
}
