/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/reader_internal.h"

#include "core/error.h"
#include "trace/chrome/decimal.h"
#include "trace/chrome/seek.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct ifp_str buf_str(const struct ifp_buf *buf)
{
	return (struct ifp_str){(const char *)buf->data, (uint32_t)buf->len_bytes};
}

int ifp_chrome_reader_open(const char *path, struct ifp_chrome_reader **out)
{
	IFP_CLEANUP(ifp_chrome_reader_close)
	struct ifp_chrome_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader || !(reader->path = strdup(path)))
		return ifp_fail(-ENOMEM, "open %s: out of memory", path);
	err = ifp_input_open(path, &reader->input);
	if (err)
		return err;
	ifp_pull_init(&reader->pull, reader->input);
	*out = IFP_TAKE_PTR(reader);
	return 0;
}

void ifp_chrome_reader_close(struct ifp_chrome_reader **reader)
{
	struct ifp_chrome_reader *r = *reader;

	if (!r)
		return;
	ifp_input_close(&r->input);
	ifp_element_free(&r->element);
	ifp_buf_free(&r->args_text);
	ifp_buf_free(&r->key);
	ifp_buf_free(&r->value);
	ifp_buf_free(&r->distributed_info);
	ifp_buf_free(&r->device_properties);
	ifp_buf_free(&r->others);
	free(r->path);
	free(r);
	*reader = NULL;
}

/* A value around traceEvents that has a place of its own in the header. */
static struct ifp_buf *place_of(struct ifp_chrome_reader *reader)
{
	if (ifp_str_is(buf_str(&reader->key), "distributedInfo"))
		return &reader->distributed_info;
	if (ifp_str_is(buf_str(&reader->key), "deviceProperties"))
		return &reader->device_properties;
	return NULL;
}

/* The first base counts for all events; false: this one does not, and is kept as it stands. */
static bool take_base(struct ifp_chrome_reader *reader)
{
	int64_t base_ns;

	if (!ifp_decimal_int(buf_str(&reader->value), &base_ns))
		return false;
	if (reader->base_known)
		return base_ns == reader->base_ns;
	reader->base_ns = base_ns;
	reader->base_known = true;
	return true;
}

static int take_header_member(struct ifp_chrome_reader *reader)
{
	struct ifp_buf *place = place_of(reader);
	int err;

	if (place) {
		ifp_buf_clear(place);
		err = ifp_pull_value(&reader->pull, place);
		if (err)
			ifp_buf_clear(place);
		return err ? err : ifp_buf_status(place);
	}
	ifp_buf_clear(&reader->value);
	err = ifp_pull_value(&reader->pull, &reader->value);
	if (err)
		return err;
	if (ifp_str_is(buf_str(&reader->key), "baseTimeNanoseconds") && take_base(reader))
		return 0;
	if (reader->others.len_bytes + reader->value.len_bytes > IFP_PULL_MAX_TEXT_BYTES)
		return ifp_pull_refuse(&reader->pull, "a smaller header (the limit is 64 MiB)");
	ifp_buf_append_text(&reader->others, reader->others.len_bytes ? ",\"" : "{\"");
	ifp_buf_append(&reader->others, reader->key.data, reader->key.len_bytes);
	ifp_buf_append_text(&reader->others, "\":");
	ifp_buf_append(&reader->others, reader->value.data, reader->value.len_bytes);
	return ifp_buf_status(&reader->others);
}

int ifp_chrome_enter_events(struct ifp_chrome_reader *reader)
{
	int err = ifp_chrome_know_base(reader);

	if (!err)
		err = ifp_pull_enter(&reader->pull, '[');
	reader->first_element = true;
	reader->events_seen = true;
	reader->state = IFP_CHROME_IN_EVENTS;
	return err;
}

static int begin(struct ifp_chrome_reader *reader)
{
	static const uint8_t byte_order_mark[] = {0xef, 0xbb, 0xbf};
	struct ifp_pull *pull = &reader->pull;
	int c = ifp_pull_peek(pull);

	if (c == byte_order_mark[0] && pull->end - pull->next >= 3 &&
		!memcmp(pull->next, byte_order_mark, sizeof(byte_order_mark))) {
		pull->next += sizeof(byte_order_mark);
		c = ifp_pull_peek(pull);
	}
	if (c < 0)
		return c;
	if (c == '[') {
		reader->array_form = true;
		reader->base_known = true;
		return ifp_chrome_enter_events(reader);
	}
	reader->first_member = true;
	reader->state = IFP_CHROME_IN_OBJECT;
	return ifp_pull_enter(pull, '{');
}

int ifp_chrome_finish(struct ifp_chrome_reader *reader)
{
	if (!reader->events_seen)
		return ifp_fail(-EBADMSG, "no trace: there is no array traceEvents");
	reader->state = IFP_CHROME_AT_END;
	if (reader->others.len_bytes)
		ifp_buf_append_u8(&reader->others, '}');
	return ifp_buf_status(&reader->others);
}

/* The JSON from here on has not been given yet; between_events: no event has begun. */
static void begin_piece(struct ifp_chrome_reader *reader, bool between_events)
{
	reader->taken_offset = ifp_pull_offset(&reader->pull);
	reader->between_events = between_events;
}

static bool at_end(struct ifp_chrome_reader *reader)
{
	return !ifp_pull_peek(&reader->pull) && reader->pull.next == reader->pull.end;
}

/* Takes one member of the outermost object, or finds its end. */
static int next_member(struct ifp_chrome_reader *reader)
{
	uint64_t repairs = reader->pull.repairs;
	int more, c = ifp_pull_peek(&reader->pull);

	if (c < 0)
		return c;
	if (reader->head_lost && at_end(reader))
		return ifp_chrome_finish(reader);
	begin_piece(reader, false);
	more = ifp_pull_member(&reader->pull, &reader->first_member, &reader->key);
	if (more < 0)
		return more;
	if (!more) {
		reader->object_ended = true;
		reader->counts.repaired += reader->pull.repairs > repairs;
		begin_piece(reader, false);
		more = ifp_pull_end(&reader->pull);
		return more ? more : ifp_chrome_finish(reader);
	}
	c = ifp_pull_peek(&reader->pull);
	if (c < 0)
		return c;
	if (c == '[' && ifp_str_is(buf_str(&reader->key), "traceEvents"))
		return ifp_chrome_enter_events(reader);
	more = take_header_member(reader);
	reader->counts.repaired += reader->pull.repairs > repairs;
	return more;
}

/* The array form may end without its bracket, so that a tracer can stop at any time. */
static bool array_left_open(struct ifp_chrome_reader *reader)
{
	return (reader->array_form || reader->head_lost) && at_end(reader);
}

int ifp_chrome_read_element(struct ifp_chrome_reader *reader, struct ifp_event *event)
{
	uint64_t repairs = reader->pull.repairs;
	int more = ifp_element_read(
		&reader->element, &reader->pull, reader->base_ns, event, &reader->args);

	reader->counts.events += more > 0;
	reader->counts.repaired += more >= 0 && (reader->pull.repairs > repairs ||
							(more && reader->element.without_dur));
	return more;
}

static int take_element(struct ifp_chrome_reader *reader, struct ifp_event *event)
{
	int more;

	begin_piece(reader, false);
	more = ifp_chrome_read_element(reader, event);
	reader->counts.set_aside += !more;
	reader->counts.empty += !more && reader->element.empty;
	return more;
}

/* 1 and *event; 0 when none was given and the state tells how to go on. */
static int next_element(struct ifp_chrome_reader *reader, struct ifp_event *event)
{
	uint64_t repairs = reader->pull.repairs;
	int more;

	if (array_left_open(reader))
		return ifp_chrome_finish(reader);
	more = ifp_pull_peek(&reader->pull);
	if (more < 0)
		return more;
	begin_piece(reader, true);
	/* Events one on a line, without an array around them. */
	if (reader->head_lost && more == '{')
		reader->first_element = true;
	more = ifp_pull_element(&reader->pull, &reader->first_element);
	if (more < 0)
		return more;
	if (!more) {
		reader->counts.repaired += reader->pull.repairs > repairs;
		reader->state = IFP_CHROME_IN_OBJECT;
		if (!reader->array_form)
			return 0;
		begin_piece(reader, false);
		more = ifp_pull_end(&reader->pull);
		return more ? more : ifp_chrome_finish(reader);
	}
	if (array_left_open(reader))
		return ifp_chrome_finish(reader);
	return take_element(reader, event);
}

int ifp_chrome_reader_next_split(
	struct ifp_chrome_reader *reader, struct ifp_event *event, struct ifp_args_split *args)
{
	int result = 0;

	while (!result) {
		switch (reader->state) {
		case IFP_CHROME_AT_START:
			result = begin(reader);
			break;
		case IFP_CHROME_IN_OBJECT:
			result = next_member(reader);
			break;
		case IFP_CHROME_IN_EVENTS:
			result = next_element(reader, event);
			break;
		case IFP_CHROME_LOST:
			result = ifp_chrome_find_event(reader, event);
			break;
		case IFP_CHROME_AT_END:
			return 0;
		case IFP_CHROME_BROKEN:
			return ifp_fail(-EBADMSG, "%s: damaged", reader->path);
		}
		if (result == -EBADMSG && reader->salvage && reader->state != IFP_CHROME_AT_END)
			result = ifp_chrome_note_damage(reader);
	}
	if (result < 0) {
		reader->state = IFP_CHROME_BROKEN;
		ifp_fail(result, "%s", reader->path);
	}
	*args = reader->args;
	return result;
}

int ifp_chrome_reader_next(struct ifp_chrome_reader *reader, struct ifp_event *event)
{
	struct ifp_args_split args;
	int result = ifp_chrome_reader_next_split(reader, event, &args);

	if (result <= 0 || !args.form.len_bytes)
		return result;
	ifp_buf_clear(&reader->args_text);
	ifp_template_join((struct ifp_str){args.form.ptr + 1, args.form.len_bytes - 1}, args.values,
		&reader->args_text);
	event->args = buf_str(&reader->args_text);
	return reader->args_text.failed ? ifp_buf_status(&reader->args_text) : 1;
}

struct ifp_chrome_header ifp_chrome_reader_header(const struct ifp_chrome_reader *reader)
{
	return (struct ifp_chrome_header){
		.base_time_ns = reader->base_ns,
		.distributed_info = buf_str(&reader->distributed_info),
		.device_properties = buf_str(&reader->device_properties),
		.others = buf_str(&reader->others),
	};
}

struct ifp_chrome_counts ifp_chrome_reader_counts(const struct ifp_chrome_reader *reader)
{
	struct ifp_chrome_counts counts = reader->counts;

	counts.bytes = ifp_pull_offset(&reader->pull);
	counts.file_bytes = ifp_input_file_bytes(reader->input);
	return counts;
}
