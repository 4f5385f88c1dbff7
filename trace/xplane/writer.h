/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one file for xprof, TensorBoard's profile plug-in: an XSpace
 * (xla/tsl/profiler/protobuf/xplane.proto), one per process. It holds planes (the host, a GPU),
 * these hold lines (a thread, a stream), and these hold events with stats. Names, and texts of
 * stats, are written once for each plane and referred to by number.
 *
 * Protobuf wants the length of whatever holds other things in front of it. Lines therefore go to a
 * nameless file beside the one that is written, one for each plane, and their lengths are filled
 * in; close() puts the planes together. Memory does not depend on the number of events, only on
 * that of distinct names.
 *
 * Texts are the insides of JSON strings. Times are ns since a base of the caller's, which all files
 * that are shown together have in common; from 0 to IFP_XPLANE_MAX_NS, since xprof counts
 * picoseconds in 64 bits. Belongs to one thread. Calls without a result keep the first failure,
 * which close() gives.
 */
#pragma once

#include "core/str.h"
#include "trace/xplane/names.h"

#include <stdbool.h>
#include <stdint.h>

/* Some 106 days. */
#define IFP_XPLANE_MAX_NS (INT64_MAX / 1000)

/* No message of protobuf may be larger. */
#define IFP_XPLANE_MAX_BYTES (UINT64_C(1) << 31)

struct ifp_xplane_writer;
struct ifp_xplane_plane;

/*
 * Nothing is under path until close(). limit_bytes (IFP_XPLANE_MAX_BYTES at most): events that
 * would make the file larger are not written. Directories are not made.
 */
int ifp_xplane_open(const char *path, uint64_t limit_bytes, struct ifp_xplane_writer **out);

/* The plane of that name, made when there is none; NULL when out of memory (the writer knows). */
struct ifp_xplane_plane *ifp_xplane_plane(
	struct ifp_xplane_writer *writer, const char *name, int64_t id);

/*
 * The number, in a plane, of the name of a stat or of an event, made when there is none. An event's
 * name is shown as it is, and analysed in the form of its style.
 */
uint32_t ifp_xplane_stat_name(struct ifp_xplane_plane *plane, struct ifp_str name);
uint32_t ifp_xplane_event_name(
	struct ifp_xplane_plane *plane, struct ifp_str name, enum ifp_xplane_style style);

/*
 * Begins a line; the one before it in the plane has ended. Lines of one id are shown as one. Within
 * a line events come by start, longer ones first, and nest or lie apart. Those after it in the
 * plane's calls are on it.
 */
void ifp_xplane_line(struct ifp_xplane_plane *plane, int64_t id, struct ifp_str title);
/* The line that xprof takes as values of counters: names of events are names of counters. */
void ifp_xplane_line_of_counters(struct ifp_xplane_plane *plane);

/*
 * An event: begin, its stats, end. end() tells whether it was written; it is not when the file
 * would become too large.
 */
void ifp_xplane_event_begin(
	struct ifp_xplane_plane *plane, uint32_t name, int64_t start_ns, int64_t dur_ns);
bool ifp_xplane_event_end(struct ifp_xplane_plane *plane);

/* Stats of the event, or, in front of its lines, of the plane. */
void ifp_xplane_stat_int(struct ifp_xplane_plane *plane, uint32_t stat, int64_t value);
void ifp_xplane_stat_uint(struct ifp_xplane_plane *plane, uint32_t stat, uint64_t value);
void ifp_xplane_stat_double(struct ifp_xplane_plane *plane, uint32_t stat, double value);
void ifp_xplane_stat_text(struct ifp_xplane_plane *plane, uint32_t stat, struct ifp_str value);

/*
 * Puts the file together under a temporary name, renames it, frees the writer; *bytes is its size.
 * On failure nothing of it is left, and what stood under path before is still there.
 */
int ifp_xplane_close(struct ifp_xplane_writer **writer, uint64_t *bytes);
/* Gives up. */
void ifp_xplane_abandon(struct ifp_xplane_writer **writer);
