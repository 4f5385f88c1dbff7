/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds archives of runs that never took place, for tests: ranks on hosts with clocks of their
 * own, steps, collectives with given arrivals, and whatever events a test adds. Failures fail the
 * test. All times are ns of job time from 0, the start of the run; the maker turns them into each
 * rank's own clocks, so a test gets back what it gave exactly where ranks share a clock, and
 * within the bound of the exchange where they do not.
 *
 *	struct archive_maker maker;
 *
 *	archive_maker_open(&maker, path, 4);
 *	archive_maker_collective(&maker, "gloo:all_reduce", (int64_t[]){10, 12, 11, 500}, 20);
 *	archive_maker_steps(&maker, 1, 600);
 *	archive_maker_close(&maker);
 */
#pragma once

#include "trace/archive/archive.h"
#include "trace/archive/block.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stdint.h>

/* The moment 0 of a run on the clocks of rank 0 (of all ranks without an offset). */
#define ARCHIVE_MAKER_RAW_NS INT64_C(5000000000000)
#define ARCHIVE_MAKER_REALTIME_NS INT64_C(1700000000000000000)

#define ARCHIVE_MAKER_MAX_RANKS 64u

struct archive_maker_rank {
	const char *host;      /* "host0" unless set; ranks of one host share one clock */
	int64_t raw_offset_ns; /* of the host's RAW clock against rank 0's */
	int64_t edge_ns;       /* half width of its exchanges with rank 0; 0 = never exchanged */
	bool absent;	       /* nothing of this rank is in the archive */
	bool no_tuples;	       /* no readings of its clocks are */
	bool no_end;	       /* it has no END document: still running, or lost */
	uint64_t sequence;     /* of its last frame */
	struct ifp_block_builder *builder;
};

struct archive_maker {
	struct ifp_archive_writer *writer;
	uint32_t world;
	int64_t end_ns; /* latest moment that any event has reached */
	/* Set members of a rank before the first event is added. */
	struct archive_maker_rank ranks[ARCHIVE_MAKER_MAX_RANKS];
};

/*
 * cmocka's set-up and tear-down for tests that have one archive each: between them an empty file
 * stands at the path.
 */
extern char archive_maker_path[64];
int archive_maker_make_path(void **state);
int archive_maker_remove_path(void **state);

/* A new archive with its RUN document. */
void archive_maker_open(struct archive_maker *maker, const char *path, uint32_t world);

/* Any event of a rank. start and dur are job time; clock RAW or REALTIME says how it is stamped. */
void archive_maker_event(struct archive_maker *maker, uint32_t rank, const struct ifp_event *event);

/* A slice as Kineto records it on a thread (tid) of the rank, with REALTIME stamps. */
void archive_maker_slice(struct archive_maker *maker, uint32_t rank, const char *category,
	const char *name, int64_t tid, int64_t start_ns, int64_t dur_ns);

/*
 * One collective of all ranks, as slices of category "user_annotation" on thread 1: each rank's
 * starts at its arrival and ends wire_ns after the last arrival. One arrival per rank of the world.
 */
void archive_maker_collective(
	struct archive_maker *maker, const char *name, const int64_t *arrival_ns, int64_t wire_ns);

/* The mark of an optimizer step, RAW stamps: on one rank, on all ranks at the same moment. */
void archive_maker_step(struct archive_maker *maker, uint32_t rank, uint64_t step, int64_t end_ns);
void archive_maker_steps(struct archive_maker *maker, uint64_t step, int64_t end_ns);

/* A frame of a rank with a JSON document; rank may be IFP_FRAME_NO_RANK. */
void archive_maker_document(
	struct archive_maker *maker, enum ifp_frame_type type, uint32_t rank, const char *json);

/* Writes the events of a rank that wait in its block: the next ones begin another frame. */
void archive_maker_flush(struct archive_maker *maker, uint32_t rank);

/*
 * Writes the rest: blocks, RANK documents, clock samples from 0 to the end of the events, END
 * documents ("exited", 0), the index.
 */
void archive_maker_close(struct archive_maker *maker);
