/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as it is read back: everything behind the archive (timeline, analyses, reports, the
 * command line) sees a run through this interface only. Opening reads the documents and clock
 * samples and solves the clocks; events are loaded one rank at a time.
 *
 * Used by one thread but where it says otherwise. All texts and pointers live as long as the run
 * unless said otherwise.
 */
#pragma once

#include "clocksync/estimate/map.h"
#include "collector/store/gpus.h"
#include "core/buf.h"
#include "trace/archive/archive.h"
#include "trace/archive/block.h"
#include "trace/event.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* One row of the ledger: something that did not reach the user, or was changed on its way. */
struct ifp_ledger_row {
	uint32_t rank;	  /* IFP_FRAME_NO_RANK = the whole run */
	const char *what; /* stable word: "marks-dropped", "window-lost", "not-armed", ... */
	int64_t count;	  /* events or cases; 0 where it makes no sense */
	const char *why;  /* a sentence for people */
};

struct ifp_run_rank {
	uint32_t rank;
	const char *host;		 /* "unknown" when its RANK frame was lost */
	int64_t pid;			 /* of the program */
	bool ended;			 /* an END document is there */
	const cJSON *document;		 /* IFP_FRAME_RANK; NULL when its frame was lost */
	const cJSON *end;		 /* IFP_FRAME_END; NULL = still running or lost */
	const struct ifp_clock_map *map; /* NULL: this rank's events cannot be placed in time */
	uint64_t event_count;		 /* sum over the EVENTS frames */
	const cJSON *imported;		 /* of a trace that existed already; NULL = recorded live */
	int64_t first_ns, last_ns;	 /* imported: REALTIME between which its events belong */
};

/* A window of the run: what was asked, and what every rank recorded. */
struct ifp_run_window {
	const cJSON *document; /* IFP_FRAME_WINDOW as in docs/format-archive.md */
	uint32_t rank;
};

struct ifp_run;

/*
 * Opens whatever of the archive is intact. What is not gets rows in the ledger: damage, ranks of
 * the world that are missing, gaps in a rank's frames, clocks without readings or without an
 * exchange. Of several documents of one kind and rank the last one holds; frames that are there
 * twice count once. Errors are those of ifp_archive_reader_open(), of reading, and -ENOMEM.
 */
int ifp_run_open(const char *archive_path, struct ifp_run **out);

void ifp_run_close(struct ifp_run **run);

const cJSON *ifp_run_document(const struct ifp_run *run); /* IFP_FRAME_RUN; NULL if lost */
struct ifp_archive_damage ifp_run_damage(const struct ifp_run *run);

/* Ranks in order of their numbers. */
uint32_t ifp_run_rank_count(const struct ifp_run *run);
const struct ifp_run_rank *ifp_run_rank(const struct ifp_run *run, uint32_t i);
uint32_t ifp_run_world(const struct ifp_run *run); /* ranks that the job had by its launcher */

uint32_t ifp_run_window_count(const struct ifp_run *run);
const struct ifp_run_window *ifp_run_window(const struct ifp_run *run, uint32_t i);

uint32_t ifp_run_ledger_count(const struct ifp_run *run);
const struct ifp_ledger_row *ifp_run_ledger(const struct ifp_run *run, uint32_t i);
/* For what is found after the archive (left out of the timeline, ...); the row is copied. */
int ifp_run_ledger_add(struct ifp_run *run, const struct ifp_ledger_row *row);

/* Earliest moment of any rank's first clock tuple: base of all output times. */
ifp_global_ns ifp_run_base(const struct ifp_run *run);

/* Index of the rank whose clock is the job's time; UINT32_MAX when no rank has a map. */
uint32_t ifp_run_reference(const struct ifp_run *run);

/* Whether rank i, by its place, is the first that reads its clock, and that clock was measured. */
bool ifp_run_leads_clock(const struct ifp_run *run, uint32_t i);

/* The drift between clocks that the bounds of this run allow for. */
int64_t ifp_run_drift_ppm(const struct ifp_run *run);

/*
 * An event in job time. dur_ns is 0 for all but slices. Events of one look have all but times,
 * correlation and args in common, and their args differ in some numbers at most; 0 = nothing is
 * known.
 */
struct ifp_timed_event {
	/* In front what is looked at most: with the kind it fits a line of the cache. */
	int64_t start_ns; /* ifp_global_ns minus the run's base */
	int64_t dur_ns;
	uint32_t look;
	uint32_t args_at;    /* opaque */
	uint32_t args_bytes; /* of args that are not in event (ifp_rank_events_args()); mostly 0 */
	struct ifp_event event;
};

/*
 * Times of GPUs that contradict causality are moved when events are read (gpus.h), start_ns and
 * dur_ns alone: event has what was recorded. Not so after this, which stands before any reading.
 */
void ifp_run_keep_as_recorded(struct ifp_run *run);

/* All events of one rank, by start, longer ones first among equals. */
struct ifp_rank_events {
	struct ifp_timed_event *events;
	uint64_t count;
	uint32_t look_count; /* looks are below */
	void *memory;	     /* opaque */
};

/*
 * Loads them; free with ifp_rank_events_free(), before or after the run is closed. A damaged block
 * is left out and gets a row in the ledger, once. A rank without a map has no events here.
 */
int ifp_run_load_events(struct ifp_run *run, uint32_t i, struct ifp_rank_events *out);

/*
 * The same without the rows in the ledger: by several threads at once, each for another rank, while
 * nothing else is done with the run. The rows, also those of moved GPUs, come by
 * ifp_run_report_damage(), from one thread.
 * wants_args is asked by look whose events have their args (NULL = all): to put those of all
 * together takes as long as everything else.
 */
int ifp_run_read_events(struct ifp_run *run, uint32_t i,
	bool (*wants_args)(const struct ifp_event *look), struct ifp_rank_events *out);
int ifp_run_report_damage(struct ifp_run *run, uint32_t i);

/*
 * The GPUs of a rank, device by device and window by window; NULL without any, and before its
 * events have been read, or before ifp_run_look_for_gpus(), which decodes them and keeps no more.
 */
const struct ifp_gpu *ifp_run_gpus(const struct ifp_run *run, uint32_t i, uint32_t *count);
int ifp_run_look_for_gpus(struct ifp_run *run, uint32_t i);

/*
 * How far the times of a rank's GPUs may be off after correction, the most of them; 0 without any.
 * An estimate, as above: no part of the clock's bound.
 */
int64_t ifp_run_gpu_doubt(const struct ifp_run *run, uint32_t i);

void ifp_rank_events_free(struct ifp_rank_events *events);

/* The args of an event: its own, or put together in scratch, which is emptied and may fail. */
struct ifp_str ifp_rank_events_args(const struct ifp_rank_events *events,
	const struct ifp_timed_event *timed, struct ifp_buf *scratch);

/* What the args have in common that events of a look do not have with them. */
struct ifp_block_args ifp_rank_events_form(const struct ifp_rank_events *events, uint32_t look);
/* The number of such an event in a column of that. */
uint64_t ifp_rank_events_number(
	const struct ifp_rank_events *events, const struct ifp_timed_event *timed, uint32_t column);
