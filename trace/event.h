/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event: the one form in which everything that infprof records or imports is held, from the
 * reader or the ring to the archive, and from the archive to the writers and analyses.
 *
 * Time stays as the source gave it: the stamp of the event's own clock domain. Nothing is
 * converted on the way in; clocksync/estimate/map.h converts on the way out.
 */
#pragma once

#include "core/str.h"
#include "core/time.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Names, categories and the texts of lanes are held as they stand between the quotes of JSON
 * (escapes not resolved): writers put them back without work. Names made by infprof itself are
 * escaped when they are made (ifp_json_escape in trace/chrome/escape.h).
 */

/* Numbers are part of the archive format: append only. */
enum ifp_event_kind {
	IFP_EVENT_SLICE = 0,	      /* has a start and a duration ("X") */
	IFP_EVENT_INSTANT = 1,	      /* a moment ("i") */
	IFP_EVENT_COUNTER = 2,	      /* args hold the values ("C") */
	IFP_EVENT_FLOW_START = 3,     /* correlation = id of the flow ("s") */
	IFP_EVENT_FLOW_STEP = 4,      /* ("t") */
	IFP_EVENT_FLOW_END = 5,	      /* ("f") */
	IFP_EVENT_META = 6,	      /* names and order of lanes in imported traces ("M") */
	IFP_EVENT_BEGIN = 7,	      /* half a slice ("B") */
	IFP_EVENT_END = 8,	      /* the other half ("E") */
	IFP_EVENT_ASYNC_BEGIN = 9,    /* ("b") */
	IFP_EVENT_ASYNC_INSTANT = 10, /* ("n") */
	IFP_EVENT_ASYNC_END = 11,     /* ("e") */
	IFP_EVENT_OTHER = 12,	      /* any other phase; kept, not drawn */
	IFP_EVENT_KIND_MAX = 13,
};

/* Where an event comes from. Numbers are part of the archive format: append only. */
enum ifp_event_source {
	IFP_SOURCE_MARK = 0, /* mark.h, import infprof */
	IFP_SOURCE_NVTX = 1,
	IFP_SOURCE_STEP = 2, /* an optimizer step: instant, category "step", correlation = number */
	IFP_SOURCE_KINETO = 3, /* Kineto's JSON: a window of the run, or an imported file */
	IFP_SOURCE_MAX = 4,
};

enum ifp_lane_kind {
	IFP_LANE_THREAD = 0, /* a thread of a process: pid, tid */
	IFP_LANE_STREAM = 1, /* a stream of a GPU: pid = device, tid = stream */
	IFP_LANE_OTHER = 2,  /* what a trace calls a process but is none: texts */
	IFP_LANE_KIND_MAX = 3,
};

/*
 * Where an event happened. Traces may use any JSON scalar as pid and tid: where one is not a plain
 * integer, pid_text (tid_text) holds it as it stood there, quotes included, and pid (tid) is 0, or
 * the number that is in the quotes. A stream has texts only where a trace names its lane otherwise
 * than by device and stream.
 */
struct ifp_lane {
	enum ifp_lane_kind kind;
	int64_t pid;
	int64_t tid;
	struct ifp_str pid_text;
	struct ifp_str tid_text;
};

/*
 * start, dur: ns of RAW or REALTIME, ticks of TSC; dur is 0 for all but slices, and negative where
 * a trace says so: start + dur never overflows there, and job time has such a slice without length.
 * correlation: "correlation" of a launch or kernel, id of a flow, number of a step; 0 = none. What
 * is no number of 63 bits stands for its hash. args: a JSON object as compact text ({"External
 * id":5,...}), or empty. All texts are borrowed from whatever produced the event (a decoded block,
 * a reader's batch) and live as long as it.
 */
struct ifp_event {
	enum ifp_event_kind kind;
	enum ifp_event_source source;
	enum ifp_clock_domain clock;
	int64_t start;
	int64_t dur;
	uint64_t correlation;
	struct ifp_lane lane;
	struct ifp_str name;
	struct ifp_str category;
	struct ifp_str args;
	/* Members of the trace's JSON event beyond those above, as {"s":"t"}; empty for others. */
	struct ifp_str extra;
};

/*
 * Finds the value of a top-level key in args (compact JSON object text): the raw text of the
 * value ("abc" with its quotes, 12, [1,2]). False when absent; *value untouched then.
 */
bool ifp_args_find(struct ifp_str args, const char *key, struct ifp_str *value);

/*
 * The members one after the other: *at is 0 for the first and moves on. False behind the last one,
 * and where the text is no JSON object.
 */
bool ifp_args_next(struct ifp_str args, uint32_t *at, struct ifp_str *key, struct ifp_str *value);

/* The elements of an array, such as [1,[2,3]], in the same way. */
bool ifp_args_next_element(struct ifp_str array, uint32_t *at, struct ifp_str *value);

/* The text of a value as an integer; false where it is none, or does not fit an int64_t. */
bool ifp_args_int(struct ifp_str text, int64_t *value);

/* As ifp_args_find() for an integer value that fits an int64_t. */
bool ifp_args_find_int(struct ifp_str args, const char *key, int64_t *value);
