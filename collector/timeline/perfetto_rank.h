/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of one rank on their way into a Perfetto trace: coded as they come, lane by lane, and
 * written in order of time, each slice with the arrows that begin and end at it.
 */
#pragma once

#include "collector/timeline/sink.h"
#include "core/buf.h"
#include "core/intern.h"
#include "trace/perfetto/writer.h"

#include <stddef.h>
#include <stdint.h>

enum ifp_perfetto_kind {
	IFP_PERFETTO_SLICE,
	IFP_PERFETTO_MOMENT,
	IFP_PERFETTO_COUNTER, /* each number in args is a series of its own */
};

/* Texts as in sink.h, borrowed for the call. */
struct ifp_perfetto_mark {
	enum ifp_perfetto_kind kind;
	uint64_t track; /* of its lane */
	int64_t start_ns, end_ns;
	struct ifp_str name, category, args;
};

/* {0} is an empty one. */
struct ifp_perfetto_rank {
	uint64_t process; /* the rank's track */
	struct kept_mark *marks;
	uint32_t mark_count;
	size_t mark_capacity;
	struct arrow_end *ends;
	uint32_t end_count;
	size_t end_capacity;
	struct ifp_buf args;	    /* of the marks, coded */
	struct ifp_buf key;	    /* of a series */
	struct ifp_intern counters; /* series of the rank */
	uint64_t counter_tracks;    /* in the whole file */
};

/* As a member of an event's args: those that it has beside them. */
#define IFP_PERFETTO_FURTHER "further members"

/* The name of a counter's series. */
void ifp_perfetto_series_name(struct ifp_str counter, struct ifp_str series, struct ifp_buf *out);

/* Whether a member of a counter's args is a number. */
bool ifp_perfetto_is_value(struct ifp_str value);

/* Begins a rank, and its sequence in the file. */
void ifp_perfetto_rank_begin(
	struct ifp_perfetto_rank *rank, struct ifp_perfetto_writer *writer, uint64_t process);

/* Slices lane by lane, by start, longer first; moments behind them. 0 or -ENOMEM. */
int ifp_perfetto_rank_add(struct ifp_perfetto_rank *rank, struct ifp_perfetto_writer *writer,
	const struct ifp_perfetto_mark *mark);

/* An arrow between two slices of the rank: the last ones that were added with these starts. */
int ifp_perfetto_rank_join(struct ifp_perfetto_rank *rank, const struct ifp_sink_flow *flow);

/* Writes all of it and empties it. */
int ifp_perfetto_rank_write(struct ifp_perfetto_rank *rank, struct ifp_perfetto_writer *writer);

void ifp_perfetto_rank_free(struct ifp_perfetto_rank *rank);
