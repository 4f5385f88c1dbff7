/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in time the events of a trace are. A stamp of 0 or garbage must not stretch the time axis
 * over months: stamps are counted by stretches of five hours, and the busiest stretch with all
 * that lies within a day of its like is the trace's span. Slices of more than a day are held apart,
 * since their ends may be garbage, too. Constant memory. Private to collector/import.
 */
#pragma once

#include <stdint.h>

#define IFP_IMPORT_SPAN_STRETCHES 256u
#define IFP_IMPORT_SPAN_LONGS 64u

struct ifp_import_stretch {
	int64_t key; /* the stamp without its low bits */
	int64_t first_ns, last_ns;
	uint64_t count;
};

/* Slices of more than a day, from one stretch into another. */
struct ifp_import_long {
	int64_t start_key, end_key;
	int64_t last_ns;
	uint64_t count;
};

/* {0} is empty. */
struct ifp_import_span {
	struct ifp_import_stretch stretches[IFP_IMPORT_SPAN_STRETCHES];
	uint32_t count, recent;
	struct ifp_import_long longs[IFP_IMPORT_SPAN_LONGS];
	uint32_t long_count;
	uint64_t scattered; /* stamps that found no place in a table any more */
};

/* A moment is its own end. An end before the start counts as the start. */
void ifp_import_span_add(struct ifp_import_span *span, int64_t start_ns, int64_t end_ns);

/*
 * The span in *first_ns, *last_ns (both 0 when there was no stamp). Returns how many of those added
 * lie outside: their start, or an end that is more than a day behind all starts. Sorts the table.
 */
uint64_t ifp_import_span_find(struct ifp_import_span *span, int64_t *first_ns, int64_t *last_ns);
