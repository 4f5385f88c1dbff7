/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the short texts of events are (brief.h), without making them: events of one look have
 * the same name, and args that differ only in some numbers. Of one rank, by one thread.
 */
#pragma once

#include "collector/store/run.h"
#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value that is shown and has numbers that differ. */
struct ifp_outline_value {
	uint32_t fixed_bytes; /* without these numbers */
	uint32_t first_column, column_count;
};

struct ifp_outline {
	bool known;
	bool each;	     /* event by event: what is cut depends on the numbers */
	uint32_t name_bytes; /* of the short name */
	uint32_t args_bytes; /* of the short args without the values below */
	uint32_t first_value, value_count;
};

struct ifp_outlines {
	const struct ifp_rank_events *events;
	struct ifp_outline *items; /* by look */
	struct ifp_outline_value *values;
	uint32_t value_count;
	size_t value_capacity;
	uint32_t *columns;
	uint32_t column_count;
	size_t column_capacity;
	struct ifp_buf text, whole; /* of the one at hand */
};

/* 0 or -ENOMEM. Borrows the events. */
int ifp_outlines_begin(const struct ifp_rank_events *events, struct ifp_outlines *outlines);
void ifp_outlines_free(struct ifp_outlines *outlines);

/* The lengths of an event's short name and args. 0 or -ENOMEM. */
int ifp_outlines_of(struct ifp_outlines *outlines, const struct ifp_timed_event *timed,
	uint32_t *name_bytes, uint32_t *args_bytes);
