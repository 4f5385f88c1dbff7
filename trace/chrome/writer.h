/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Chrome-trace JSON (gzip when the name ends in .gz): header members first, then
 * "traceEvents":[ ... ]} as the last key with nothing behind it, which the PyTorch plug-in of
 * TensorBoard needs. The file is there when it is whole (trace/output.h). Belongs to one thread.
 */
#pragma once

#include "core/buf.h"
#include "core/str.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_chrome_writer;

/*
 * gzip_level 1 to 9. members: JSON text of the header's members without braces
 * ("\"schemaVersion\":1,\"displayTimeUnit\":\"ms\""), may be empty.
 */
int ifp_chrome_writer_open(
	const char *path, int gzip_level, struct ifp_str members, struct ifp_chrome_writer **out);

/*
 * One element of traceEvents. Times are ns of the output's axis and written as "us.nnn" from
 * integers. Texts that are JSON are written as they are (they were checked on the way in);
 * names and categories are plain text with JSON escapes as in the input (ifp_event.name).
 */
struct ifp_chrome_element {
	char phase;		       /* 'X', 'i', 'C', 's', 't', 'f', 'M', ... */
	struct ifp_str name, category; /* category empty = left out */
	int64_t pid, tid;
	struct ifp_str pid_text, tid_text; /* instead of pid, tid where not empty */
	int64_t start_ns, dur_ns;	   /* dur only for 'X' */
	int64_t zero_ns; /* what start_ns counts from: the difference may exceed 64 bits */
	bool has_id;
	uint64_t id;	      /* flows */
	struct ifp_str args;  /* JSON object; empty = left out */
	struct ifp_str extra; /* further members as a JSON object, e.g. {"bp":"e"} */
};

/* The element as it is written, without what stands between elements. */
void ifp_chrome_element_append(struct ifp_buf *buf, const struct ifp_chrome_element *element);

void ifp_chrome_writer_add(
	struct ifp_chrome_writer *writer, const struct ifp_chrome_element *element);

/* What the element takes, exactly; of texts only the lengths are looked at. */
uint64_t ifp_chrome_element_bytes(const struct ifp_chrome_element *element);
/* ... of that a time alone: a start, or a duration from 0. */
uint64_t ifp_chrome_us_bytes(int64_t ns, int64_t zero_ns);

/* Bytes of JSON so far, before compression. */
uint64_t ifp_chrome_writer_bytes(const struct ifp_chrome_writer *writer);

/*
 * Finishes, renames into place, frees. On failure the temporary file is gone, and whatever stood
 * under the name before is still there.
 */
int ifp_chrome_writer_close(struct ifp_chrome_writer **writer);
/* Gives up: removes the temporary file. */
void ifp_chrome_writer_abandon(struct ifp_chrome_writer **writer);
