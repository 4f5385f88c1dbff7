/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/chrome/reader_internal.h"

#include "core/error.h"
#include "trace/chrome/seek.h"

#include <errno.h>
#include <string.h>

void ifp_chrome_reader_salvage(struct ifp_chrome_reader *reader)
{
	reader->salvage = true;
}

struct ifp_chrome_damage ifp_chrome_reader_damage(const struct ifp_chrome_reader *reader)
{
	return reader->damage;
}

static bool ends_in(struct ifp_str text, const char *suffix)
{
	size_t len_bytes = strlen(suffix);

	return text.len_bytes > len_bytes &&
	       !memcmp(text.ptr + text.len_bytes - len_bytes, suffix, len_bytes);
}

/*
 * Whether the first line is one of Nsight Systems' export: {"Type":79,"CudaEvent":{...}}, or, of
 * older versions, its table of texts. Neither is a trace, however many lines follow.
 */
static bool is_nsight(struct ifp_str members)
{
	struct ifp_str key, value;
	bool typed = false, event = false;
	uint32_t at = 0;

	while (ifp_args_next(members, &at, &key, &value)) {
		if (ifp_str_is(key, "data") && ifp_str_starts_with(value, "[\"[Unknown]\""))
			return true;
		typed |= ifp_str_is(key, "Type");
		event |= ends_in(key, "Event") && value.ptr[0] == '{';
	}
	return typed && event;
}

/*
 * Where the outermost object has ended and there were no events in it, it may be the first of many
 * events without an array around them: the search begins at the start of the file.
 */
static int start_again(struct ifp_chrome_reader *reader)
{
	IFP_CLEANUP(ifp_input_close) struct ifp_input *input = NULL;
	uint64_t repairs = reader->pull.repairs;
	int err;

	ifp_buf_append_u8(&reader->others, '}');
	if (is_nsight((struct ifp_str){
		    (const char *)reader->others.data, (uint32_t)reader->others.len_bytes})) {
		reader->damage = (struct ifp_chrome_damage){0};
		reader->state = IFP_CHROME_AT_END;
		return ifp_fail(-EBADMSG,
			"an export of Nsight Systems as JSON lines, which infprof does not read");
	}
	err = ifp_input_open(reader->path, &input);
	if (err)
		return err;
	ifp_input_close(&reader->input);
	reader->input = IFP_TAKE_PTR(input);
	ifp_pull_init(&reader->pull, reader->input);
	reader->pull.repairs = repairs;
	ifp_buf_clear(&reader->others);
	reader->taken_offset = 0;
	return 0;
}

int ifp_chrome_note_damage(struct ifp_chrome_reader *reader)
{
	struct ifp_chrome_damage *damage = &reader->damage;

	if (!damage->places++) {
		damage->first_offset = ifp_pull_offset(&reader->pull);
		ifp_error_text(damage->first_cause, sizeof(damage->first_cause));
	}
	ifp_error_clear();
	reader->state = IFP_CHROME_LOST;
	return !reader->events_seen && reader->object_ended ? start_again(reader) : 0;
}

/* What lies between the last event or member given and this offset is lost. */
static void count_lost(struct ifp_chrome_reader *reader, uint64_t offset)
{
	reader->damage.lost_bytes += offset - reader->taken_offset;
	reader->taken_offset = offset;
}

static int end_of_salvage(struct ifp_chrome_reader *reader)
{
	ifp_error_clear(); /* where the file cannot be unpacked, which has been noted */
	if (!reader->events_seen) {
		ifp_fail(-EBADMSG, "%s", reader->damage.first_cause);
		reader->damage = (struct ifp_chrome_damage){0};
		reader->state = IFP_CHROME_AT_END;
		return -EBADMSG;
	}
	count_lost(reader, ifp_pull_offset(&reader->pull));
	reader->damage.unread_bytes = ifp_input_unused_bytes(reader->input);
	return ifp_chrome_finish(reader);
}

/* Whether what stands at a '{' is an event: 1 and the event; 0; negative errno. */
static int try_event(struct ifp_chrome_reader *reader, struct ifp_event *event)
{
	uint64_t offset = ifp_pull_offset(&reader->pull);
	int more;

	reader->pull.depth = reader->array_form ? 1 : 2;
	if (!reader->events_seen && (more = ifp_chrome_know_base(reader)))
		return more;
	more = ifp_chrome_read_element(reader, event);
	reader->between_events = more >= 0;
	if (more > 0) {
		count_lost(reader, offset);
		reader->head_lost |= !reader->events_seen;
		reader->first_member = false;
		reader->events_seen = true;
		reader->first_element = false;
		reader->state = IFP_CHROME_IN_EVENTS;
	} else if (more == -EBADMSG) {
		ifp_error_clear();
		more = 0;
	}
	return more;
}

/* Before any event has been seen. */
static int find_first(struct ifp_chrome_reader *reader, struct ifp_event *event)
{
	for (;;) {
		uint64_t offset;
		int more;

		switch (ifp_seek_first(&reader->pull, &offset)) {
		case IFP_SEEK_EVENTS:
			count_lost(reader, offset);
			reader->pull.depth = 1;
			reader->first_member = false;
			return ifp_chrome_enter_events(reader);
		case IFP_SEEK_EVENT:
			more = try_event(reader, event);
			if (more)
				return more;
			break;
		default:
			return end_of_salvage(reader);
		}
	}
}

/* Goes to where the events or what follows them go on, if they do: 1 and the first event, or 0. */
int ifp_chrome_find_event(struct ifp_chrome_reader *reader, struct ifp_event *event)
{
	if (!reader->events_seen)
		return find_first(reader, event);
	for (;;) {
		int more = 0;

		switch (ifp_seek(&reader->pull, reader->between_events)) {
		case IFP_SEEK_EVENT:
			more = try_event(reader, event);
			break;
		case IFP_SEEK_END_OF_EVENTS:
			reader->between_events = false;
			if (reader->array_form)
				break;
			count_lost(reader, ifp_pull_offset(&reader->pull));
			reader->pull.depth = 1;
			reader->first_member = false;
			reader->state = IFP_CHROME_IN_OBJECT;
			return 0;
		default:
			return end_of_salvage(reader);
		}
		if (more)
			return more;
	}
}
