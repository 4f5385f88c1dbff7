/* SPDX-License-Identifier: Apache-2.0 */
/* One element of traceEvents, from the scanner to an event. Private to the reader. */
#pragma once

#include "core/buf.h"
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

/* Memory that is used again for each element; {0} is a valid start. */
struct ifp_element {
	struct ifp_element_span fields[IFP_FIELD_COUNT];
	struct ifp_buf key;  /* a name that cannot be borrowed from the window */
	struct ifp_str name; /* of the member that is being taken */
	struct ifp_buf values;
	struct ifp_buf extra; /* members that the event has no field for, as JSON object */
	bool without_dur;     /* the slice read last states no duration: it has 0 */
	bool empty;	      /* the element read last is {} */
};

/*
 * Takes the element that is next: 1 and *event, whose texts live until the next call; 0 when it is
 * set aside because it is no event that can be placed; negative errno when the JSON is damaged.
 */
int ifp_element_read(struct ifp_element *element, struct ifp_pull *pull, int64_t base_ns,
	struct ifp_event *event);

void ifp_element_free(struct ifp_element *element);
