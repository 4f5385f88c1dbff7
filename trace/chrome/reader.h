/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Chrome-trace JSON as torch.profiler and Kineto write it: object or array form, plain,
 * gzip or zstd, keys before and after traceEvents, in constant memory (a window of the file and one
 * event at a time). Times become int64 ns from their decimal text, baseTimeNanoseconds is added, so
 * stamps are REALTIME. Belongs to one thread.
 */
#pragma once

#include "trace/archive/template.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_chrome_reader;

int ifp_chrome_reader_open(const char *path, struct ifp_chrome_reader **out);
void ifp_chrome_reader_close(struct ifp_chrome_reader **reader);

/*
 * The next event: 1 and *event (texts valid until the next call); 0 at the end; negative errno
 * with a cause that has the byte offset when the input is damaged there. Events before the damage
 * have been given; -EBADMSG ends the reading.
 *
 * A file that states baseTimeNanoseconds behind traceEvents, or nowhere, is read twice by the
 * reader itself. Where such a file is cut off, the base is lost and times count from 0. Of several
 * bases the first counts. One that does not count for the events is among the header's others.
 */
int ifp_chrome_reader_next(struct ifp_chrome_reader *reader, struct ifp_event *event);

/*
 * The same for who puts events into blocks: where *args has a form, it has the event's args, and
 * event->args is empty. That spares putting the text together and splitting it again.
 */
int ifp_chrome_reader_next_split(
	struct ifp_chrome_reader *reader, struct ifp_event *event, struct ifp_args_split *args);

/*
 * Makes next() go past damage before, within and behind the events instead of ending there: it
 * gives every event that is whole, and 0 at the end. Events without an array around them are given,
 * too. What is no trace at all, neither an array of events nor an event in it, is refused as
 * before. Call it before the first next().
 */
void ifp_chrome_reader_salvage(struct ifp_chrome_reader *reader);

/* What a salvaging reader has gone past so far. */
struct ifp_chrome_damage {
	uint64_t places;       /* how often the reading broke off; 0 = the file is whole */
	uint64_t lost_bytes;   /* of JSON, that belong to no event and no member given */
	uint64_t unread_bytes; /* of the packed file, behind where it cannot be unpacked */
	uint64_t first_offset; /* of the first place, in bytes of JSON */
	char first_cause[256]; /* what is wrong there: one line, for people */
};

struct ifp_chrome_damage ifp_chrome_reader_damage(const struct ifp_chrome_reader *reader);

/* What stood around traceEvents, known when next() has returned 0. */
struct ifp_chrome_header {
	int64_t base_time_ns;		 /* the base of all events' times; 0 = none */
	struct ifp_str distributed_info; /* JSON text, empty = none */
	struct ifp_str device_properties;
	struct ifp_str others; /* the other members as one JSON object */
};

struct ifp_chrome_header ifp_chrome_reader_header(const struct ifp_chrome_reader *reader);

struct ifp_chrome_counts {
	uint64_t events;     /* elements of traceEvents given */
	uint64_t repaired;   /* elements and other members with a control character, a bad
			      * escape, bytes that are no UTF-8, NaN, a comma behind the last, or
			      * a slice without dur; and such a comma behind the last of them */
	uint64_t set_aside;  /* not given: no name, no ph, times that are no numbers */
	uint64_t empty;	     /* of those set aside: {}, which tracers put behind a last comma */
	uint64_t bytes;	     /* of JSON read */
	uint64_t file_bytes; /* of the file read, packed as it is */
};

struct ifp_chrome_counts ifp_chrome_reader_counts(const struct ifp_chrome_reader *reader);
