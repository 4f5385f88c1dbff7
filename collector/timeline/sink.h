/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a picture of a run goes: one implementation for each format that a viewer loads
 * (sink_chrome.c, sink_perfetto.c, sink_xplane.c). The picture decides what is shown and where
 * (lanes, folds, arrows); a sink only writes it down.
 *
 * Order of the calls: for each rank, in rank order: rank(), lane() for each of its lanes in the
 * order in which they are drawn, then slices lane by lane (by start, longer first: any two on one
 * lane nest or lie apart), moments by lane, flows within the rank. Flows between ranks come behind
 * the last rank. All times are ns since the job's base. Texts are the insides of JSON strings
 * (names, titles) or JSON objects (args), borrowed for the call. Categories are as recorded; what a
 * format makes of them is the sink's business.
 *
 * Calls do not fail: a sink keeps its first error and gives it to close(). One thread.
 *
 * A sink with a budget tells in advance what an element will take, at most (the calls *_bytes,
 * from any thread and several at once), and is given as much as fits (levels.h). What does not is
 * in folds, and a note says so.
 */
#pragma once

#include "collector/store/run.h"
#include "collector/timeline/once.h"
#include "collector/timeline/plan.h"
#include "collector/timeline/timeline.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_sink_rank {
	const struct ifp_run_rank *rank;
	uint32_t order;	      /* place among all ranks of the run, from 0 */
	struct ifp_str title; /* "rank 3 · node03 · ±1.2 us" */
};

struct ifp_sink_lane {
	uint32_t number; /* from 1, counted over the whole picture */
	struct ifp_str title;
	struct ifp_lane lane; /* which thread or stream of the trace it shows */
	bool of_steps;	      /* holds the step slices of its rank */
	bool main_thread;
	uint32_t sublane; /* > 0: holds what overlaps partly on sub-lane 0 */
};

enum ifp_sink_kind {
	IFP_SINK_EVENT, /* an event of the archive, as it is */
	IFP_SINK_STEP,	/* a step: number */
	IFP_SINK_FOLD,	/* stands for many events: args say which (fold.h) */
	IFP_SINK_VALUE, /* a counter that was computed from events (counters.h) */
};

struct ifp_sink_slice {
	enum ifp_sink_kind kind;
	uint32_t lane;
	int64_t start_ns, dur_ns;
	struct ifp_str name, category, args, extra;
	const struct ifp_timed_event *event; /* IFP_SINK_EVENT: with its full args; else NULL */
	int64_t step;			     /* number of the step it starts in; -1 = none */
};

struct ifp_sink_moment {
	enum ifp_sink_kind kind; /* IFP_SINK_STEP: the end of a step whose start is not known */
	uint32_t lane;
	bool counter; /* args hold the values; otherwise an instant */
	int64_t at_ns;
	struct ifp_str name, category, args;
};

/*
 * An arrow between two slices that have been (or will be) given to the sink, by their starts; that
 * between ranks may end at a later moment at which its slice is open.
 */
struct ifp_sink_flow {
	uint64_t id; /* unique in the picture, below 2^53 */
	struct ifp_str name, category;
	struct ifp_sink_flow_end {
		uint32_t rank_order, lane;
		int64_t start_ns;
	} from, to;
};

/* What the viewer should know of the picture as a whole; in a row of its own above the ranks. */
struct ifp_sink_note {
	enum ifp_sink_note_kind {
		IFP_SINK_NOTE_SHOWN,  /* what is not shown: "--budget 64MB: ..." */
		IFP_SINK_NOTE_CLOCKS, /* an alarm, red where the format has colours */
	} kind;
	struct ifp_str text;
	int64_t start_ns, end_ns; /* of everything drawn */
};

struct ifp_sink;

struct ifp_sink_ops {
	void (*rank)(struct ifp_sink *sink, const struct ifp_sink_rank *rank);
	void (*lane)(struct ifp_sink *sink, const struct ifp_sink_lane *lane);
	void (*slice)(struct ifp_sink *sink, const struct ifp_sink_slice *slice);
	void (*moment)(struct ifp_sink *sink, const struct ifp_sink_moment *moment);
	void (*flow)(struct ifp_sink *sink, const struct ifp_sink_flow *flow);
	/*
	 * Optional: an event without a picture (half a slice alone, of unknown kind), for a format
	 * that can hold it as it is; false when it cannot hold this one. Comes among the
	 * moments; only excerpts have such.
	 */
	bool (*other)(struct ifp_sink *sink, uint32_t lane, const struct ifp_timed_event *timed);
	/*
	 * Optional: what follows behind the last rank and the arrows between ranks is of the whole
	 * run, in a row of its own above the ranks: counters and the note.
	 */
	void (*whole_run)(struct ifp_sink *sink);
	/* Optional: at most one of each kind, as the last elements. */
	void (*note)(struct ifp_sink *sink, const struct ifp_sink_note *note);

	/*
	 * What elements take; NULL, all of them, for formats without a budget of bytes. Lanes have
	 * the highest number that there may be; of folds, texts have a length only. Texts that the
	 * file holds once for each rank do not count: they go to once, with what they take there.
	 */
	uint64_t (*rank_bytes)(const struct ifp_sink *sink, const struct ifp_sink_rank *rank);
	uint64_t (*lane_bytes)(const struct ifp_sink *sink, const struct ifp_sink_lane *lane);
	uint64_t (*slice_bytes)(const struct ifp_sink *sink, const struct ifp_sink_slice *slice,
		struct ifp_once *once);
	/* Lean sinks: what of slice_bytes() depends on the times. */
	int64_t (*times_bytes)(int64_t start_ns, int64_t dur_ns);
	uint64_t (*moment_bytes)(const struct ifp_sink *sink, const struct ifp_sink_moment *moment,
		struct ifp_once *once);
	uint64_t (*flow_bytes)(const struct ifp_sink *sink, const struct ifp_sink_flow *flow,
		struct ifp_once *once);
	/* Of the file without any of them, and with a note of such length. */
	uint64_t (*frame_bytes)(const struct ifp_sink *sink, uint64_t note_text_bytes);

	/* Finishes the file(s) and frees the sink; adds a row per file to *result. */
	int (*close)(struct ifp_sink *sink, struct ifp_timeline_result *result);
	/* Gives up: nothing stays. */
	void (*abandon)(struct ifp_sink *sink);
};

/* First member of every implementation. */
struct ifp_sink {
	const struct ifp_sink_ops *ops;
	/* In front of what the ledger says was left out: of this format ("merged/"), and of all
	 * that is drawn with it ("merged/, ranks/"). */
	const char *label, *label_of_all;
	/*
	 * Takes the args from the elements alone: those of slice->event may be missing. Of texts,
	 * slice_bytes() looks at the lengths only, counts every further byte of args as one, and
	 * gives nothing to once.
	 */
	bool lean;
	/*
	 * What reads the file computes from it: a fold would be an event to it. What finds no
	 * sub-lane is left out.
	 */
	bool no_folds;
	struct ifp_budget budget;
	struct ifp_shown shown; /* the picture says here what it showed */
	int err;		/* the first one of a call; close() gives it */
};

/* Keeps what a call failed with; 0 is no failure. */
static inline void ifp_sink_keep(struct ifp_sink *sink, int err)
{
	if (!sink->err)
		sink->err = err;
}
