/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/perfetto/sizes.h"

#include "trace/event.h"
#include "trace/perfetto/annotations.h"
#include "trace/protobuf/encode.h"

#include <string.h>

#define TAG 1u	    /* of fields up to 15 */
#define LONG_TAG 2u /* and above */
#define NUMBER 4u   /* of a text, of a sequence: below 2^28 */
#define LONGEST 10u /* varint */

struct counting {
	void (*key)(void *context, struct ifp_str name);
	void *context;
};

static uint64_t value_bytes(const struct counting *c, struct ifp_str value, unsigned int depth);

/* A field with so much content. */
static uint64_t field(uint64_t content)
{
	return TAG + ifp_protobuf_varint_bytes(content) + content;
}

static uint64_t long_field(uint64_t content)
{
	return LONG_TAG - TAG + field(content);
}

static uint64_t members_bytes(const struct counting *c, struct ifp_str object, unsigned int depth)
{
	struct ifp_str key, value;
	uint64_t bytes = 0;
	uint32_t at = 0;

	while (ifp_args_next(object, &at, &key, &value)) {
		c->key(c->context, key);
		bytes += field(TAG + NUMBER + value_bytes(c, value, depth));
	}
	return bytes;
}

static uint64_t elements_bytes(const struct counting *c, struct ifp_str array, unsigned int depth)
{
	struct ifp_str value;
	uint64_t bytes = 0;
	uint32_t at = 0;

	while (ifp_args_next_element(array, &at, &value))
		bytes += field(value_bytes(c, value, depth));
	return bytes;
}

static bool is_whole(struct ifp_str value)
{
	uint32_t digits = 0;

	while (digits < value.len_bytes && value.ptr[digits] >= '0' && value.ptr[digits] <= '9')
		digits++;
	return digits == value.len_bytes;
}

/* What is no number that Perfetto has a type for becomes a text. */
static uint64_t number_bytes(struct ifp_str value)
{
	uint64_t as_text = field(value.len_bytes), as_number = TAG + LONGEST;

	/* 10 bits hold 3 digits, a byte 7 bits; with the 19th digit the range is left. */
	if (value.len_bytes < 19 && is_whole(value))
		return TAG + (value.len_bytes * 10 / 3 + 1 + 6) / 7;
	return as_text > as_number ? as_text : as_number;
}

static uint64_t value_bytes(const struct counting *c, struct ifp_str value, unsigned int depth)
{
	uint64_t inside = 0;

	switch (value.ptr[0]) {
	case '"':
	case 't':
	case 'f':
		return field(value.len_bytes);
	case '{':
		if (depth < IFP_PERFETTO_MAX_DEPTH)
			inside = members_bytes(c, value, depth + 1);
		break;
	case '[':
		if (depth < IFP_PERFETTO_MAX_DEPTH)
			inside = elements_bytes(c, value, depth + 1);
		break;
	default:
		return number_bytes(value);
	}
	return inside ? inside : field(value.len_bytes);
}

uint64_t ifp_perfetto_args_bytes(
	struct ifp_str args, void (*key)(void *context, struct ifp_str name), void *context)
{
	const struct counting counting = {key, context};

	return members_bytes(&counting, args, 0);
}

uint64_t ifp_perfetto_track_bytes(const struct ifp_perfetto_track *track)
{
	uint64_t name = field(track->name.len_bytes);
	uint64_t numbers = 2 * (TAG + LONGEST) + 2 * (LONG_TAG + NUMBER) + 4 * LONG_TAG;
	uint64_t process = field(2 * (TAG + LONGEST) + name);

	return field(long_field(numbers + (track->pid ? process : name)));
}

/* Of a packet with a time that follows another one; the tables' wrapper counts with the texts. */
static uint64_t timed_bytes(int64_t at_ns, uint64_t event)
{
	uint64_t time = at_ns < 0 ? LONGEST : ifp_protobuf_varint_bytes((uint64_t)at_ns);

	return field(TAG + time + TAG + NUMBER + TAG + 1 + field(event));
}

uint64_t ifp_perfetto_event_bytes(const struct ifp_perfetto_event *event)
{
	uint64_t place = TAG + 1 + TAG + ifp_protobuf_varint_bytes(event->track);
	uint64_t texts = event->type == IFP_PERFETTO_END ? 0 : 2 * (TAG + NUMBER);

	return timed_bytes(event->at_ns, place + texts + event->args_bytes);
}

uint64_t ifp_perfetto_counter_bytes(uint64_t track, int64_t at_ns)
{
	uint64_t place = TAG + 1 + TAG + ifp_protobuf_varint_bytes(track);

	return timed_bytes(at_ns, place + LONG_TAG + LONGEST);
}

uint64_t ifp_perfetto_arrow_end_bytes(const struct ifp_perfetto_arrow_end *end)
{
	uint64_t legacy = field(TAG + 1 + TAG + ifp_protobuf_varint_bytes(end->id) + TAG + 1);
	uint64_t texts = 2 * (TAG + NUMBER);

	/* The time may be one of the trace's clock, which is said then. */
	return timed_bytes(-1, TAG + ifp_protobuf_varint_bytes(end->track) + texts + legacy) +
	       LONG_TAG + 1 + 1;
}

/* With its part of what is around it: the message of the tables, longer lengths. */
uint64_t ifp_perfetto_text_bytes(uint64_t text_bytes)
{
	return field(TAG + NUMBER + field(text_bytes)) + TAG + 2 * LONGEST;
}
