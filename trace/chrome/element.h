/* SPDX-License-Identifier: Apache-2.0 */
/* One element of traceEvents, from the scanner to an event. Private to the reader. */
#pragma once

#include "core/buf.h"
#include "trace/archive/template.h"
#include "trace/chrome/pull.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of the values' buffer; absent while length is 0 (no JSON value is empty). */
struct ifp_element_span {
	size_t offset_bytes;
	size_t len_bytes;
};

enum ifp_element_field {
	IFP_FIELD_PH,
	IFP_FIELD_CAT,
	IFP_FIELD_NAME,
	IFP_FIELD_PID,
	IFP_FIELD_TID,
	IFP_FIELD_TS,
	IFP_FIELD_DUR,
	IFP_FIELD_ID,
	IFP_FIELD_ARGS,
	IFP_FIELD_DEVICE,      /* inside args */
	IFP_FIELD_STREAM,      /* inside args */
	IFP_FIELD_CORRELATION, /* inside args */
	IFP_FIELD_COUNT,
};

/* The fields that are integers. */
struct ifp_element_numbers {
	int64_t value[IFP_FIELD_COUNT + 1]; /* the last one is for numbers of no field */
	uint32_t given;			    /* bit by field */
};

struct ifp_stencils;

/* Memory that is used again for each element; {0} is a valid start. */
struct ifp_element {
	struct ifp_element_span fields[IFP_FIELD_COUNT];
	struct ifp_element_numbers numbers;
	struct ifp_stencils *stencils; /* of elements read before; NULL: none yet */
	struct ifp_buf key;	       /* a name that cannot be borrowed from the window */
	struct ifp_str name;	       /* of the member that is being taken */
	struct ifp_buf values;
	struct ifp_buf extra; /* members that the event has no field for, as JSON object */
	bool without_dur;     /* the slice read last states no duration: it has 0 */
	bool empty;	      /* the element read last is {} */
};

/*
 * Takes the element that is next: 1 and *event, whose texts live until the next call; 0 when it is
 * set aside because it is no event that can be placed; negative errno when the JSON is damaged.
 * Where *args has a form, it has the event's args, and event->args is empty.
 */
int ifp_element_read(struct ifp_element *element, struct ifp_pull *pull, int64_t base_ns,
	struct ifp_event *event, struct ifp_args_split *args);

/* Of a member's name, and of a name inside args: IFP_FIELD_COUNT when it is of no field. */
enum ifp_element_field ifp_element_member(struct ifp_str name);
enum ifp_element_field ifp_element_argument(struct ifp_str name);

/* Opens the next member of extra, whose value the caller appends. */
void ifp_element_extra(struct ifp_element *element, struct ifp_str key);

/* From the fields, when all of them have been collected: 1 and *event; 0, or negative errno. */
int ifp_element_event(struct ifp_element *element, int64_t base_ns, struct ifp_event *event);

bool ifp_element_is_flow(enum ifp_event_kind kind);

/* Sets numbers of the lane, whose kind is set, and the correlation where there is one. */
void ifp_element_place(const struct ifp_element_numbers *numbers, struct ifp_event *event);

void ifp_element_free(struct ifp_element *element);
