/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader's two halves share: reader.c reads what is whole, salvage.c goes past damage. */
#pragma once

#include "trace/chrome/element.h"
#include "trace/chrome/reader.h"

enum ifp_chrome_state {
	IFP_CHROME_AT_START,
	IFP_CHROME_IN_OBJECT, /* between the members of the outermost object */
	IFP_CHROME_IN_EVENTS, /* inside traceEvents, or inside the outermost array */
	IFP_CHROME_LOST,      /* behind damage, where it is not known what comes next */
	IFP_CHROME_AT_END,
	IFP_CHROME_BROKEN,
};

struct ifp_chrome_reader {
	char *path;
	struct ifp_input *input;
	struct ifp_pull pull;
	enum ifp_chrome_state state;
	bool array_form;
	bool events_seen;
	bool base_known; /* stated, or known to be nowhere in the file */
	bool first_member, first_element;
	int64_t base_ns;
	struct ifp_element element;
	struct ifp_args_split args; /* of the event that is given */
	struct ifp_buf args_text;
	struct ifp_buf key;
	struct ifp_buf value;
	struct ifp_buf distributed_info;
	struct ifp_buf device_properties;
	struct ifp_buf others; /* {"key":value,... without the closing brace */
	struct ifp_chrome_counts counts;
	bool salvage;
	bool object_ended;     /* the outermost one */
	bool head_lost;	       /* what stood before the first event: brackets need not match */
	bool between_events;   /* what is read now is no event's inside */
	uint64_t taken_offset; /* all JSON before has been given, or counted as lost */
	struct ifp_chrome_damage damage;
};

/* The base is needed for the first event and may stand behind the last: looks for it there. */
int ifp_chrome_know_base(struct ifp_chrome_reader *reader);

/* Opens the array of events, whose '[' is next. */
int ifp_chrome_enter_events(struct ifp_chrome_reader *reader);

/* Reads the element that is next and counts it, as ifp_element_read(). */
int ifp_chrome_read_element(struct ifp_chrome_reader *reader, struct ifp_event *event);

/* At the end of the text. -EBADMSG when there were no events. */
int ifp_chrome_finish(struct ifp_chrome_reader *reader);

/* Notes what is wrong where reading broke off, and takes it from the error chain. */
int ifp_chrome_note_damage(struct ifp_chrome_reader *reader);

/* In state LOST: 1 and the next event; 0 when the state tells how to go on; negative errno. */
int ifp_chrome_find_event(struct ifp_chrome_reader *reader, struct ifp_event *event);
