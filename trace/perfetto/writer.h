/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a trace in Perfetto's own form (protos/perfetto/trace/trace.proto): packets, each an event
 * or the description of a track.
 *
 * Events belong to a sequence: a stretch of packets that share a table of names and a clock. Names,
 * categories and names of args are written once for each sequence and referred to by number; a
 * time is the distance to that of the event before. So the events of a sequence come in order of
 * time; should one not, its time is written in full.
 *
 * Texts are the insides of JSON strings. Times are ns from a zero of the caller's. The file is
 * there when it is whole (trace/output.h). Belongs to one thread. Calls without a result keep the
 * first failure, which close() gives.
 */
#pragma once

#include "core/buf.h"
#include "core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ifp_perfetto_writer;

/* zero_ns: the time 0 since the epoch; what people see as date and time. Packed when path ends in
 * .gz. */
int ifp_perfetto_open(const char *path, int64_t zero_ns, struct ifp_perfetto_writer **out);

/* Numbers of tracks are unique in the file and not 0. */
struct ifp_perfetto_track {
	uint64_t uuid;
	uint64_t parent; /* 0 = none */
	struct ifp_str name;
	uint32_t order; /* among those of the same parent; processes among each other */
	int32_t pid;	/* of a process, unique in the file; 0 = it is no process */
	bool counter;
};

void ifp_perfetto_track(struct ifp_perfetto_writer *writer, const struct ifp_perfetto_track *track);

/* A new sequence. Numbers of names are void from here on. */
void ifp_perfetto_sequence(struct ifp_perfetto_writer *writer);

/* The number of a name, of a category; 0 for an empty one. Valid in this sequence. */
uint32_t ifp_perfetto_name(struct ifp_perfetto_writer *writer, struct ifp_str name);
uint32_t ifp_perfetto_category(struct ifp_perfetto_writer *writer, struct ifp_str category);

/* Appends args, a JSON object, in the form that an event takes; valid in this sequence. */
void ifp_perfetto_args(
	struct ifp_perfetto_writer *writer, struct ifp_str args, struct ifp_buf *out);

/* As TrackEvent.Type has them. */
enum ifp_perfetto_type {
	IFP_PERFETTO_BEGIN = 1,
	IFP_PERFETTO_END = 2,
	IFP_PERFETTO_INSTANT = 3,
};

struct ifp_perfetto_event {
	enum ifp_perfetto_type type;
	uint64_t track;
	int64_t at_ns;
	uint32_t name, category; /* 0 = none */
	const uint8_t *args;	 /* of ifp_perfetto_args() */
	size_t args_bytes;
	const uint64_t *flows; /* ids of the arrows that begin or end here, in order of time */
	size_t flow_count;
};

/* Of two slices that lie in each other on one track, the outer one begins first, and ends last. */
void ifp_perfetto_event(struct ifp_perfetto_writer *writer, const struct ifp_perfetto_event *event);

/* value: a JSON number, below IFP_PERFETTO_MAX_NUMBER bytes long. */
#define IFP_PERFETTO_MAX_NUMBER 64u
void ifp_perfetto_counter(
	struct ifp_perfetto_writer *writer, uint64_t track, int64_t at_ns, struct ifp_str value);

/*
 * One end of an arrow whose slice has been written already, without it: it is tied to the
 * innermost one that is open there. Both ends have the same name and category.
 */
struct ifp_perfetto_arrow_end {
	uint64_t track;
	int64_t at_ns;
	uint64_t id;
	bool start;
	uint32_t name, category;
};

void ifp_perfetto_arrow_end(
	struct ifp_perfetto_writer *writer, const struct ifp_perfetto_arrow_end *end);

/* Bytes so far, before packing. */
uint64_t ifp_perfetto_bytes(const struct ifp_perfetto_writer *writer);

int ifp_perfetto_close(struct ifp_perfetto_writer **writer);
void ifp_perfetto_abandon(struct ifp_perfetto_writer **writer);
