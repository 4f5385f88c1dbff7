/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that exist already, one file per rank, into an archive. Stages:
 *
 *   files      what the user named, directories searched            (files.c)
 *   reading    each file once, on as many threads as there are      (reading.c, workers.c)
 *              cores; its events go to a spill file as blocks
 *   identity   which file is which rank                             (identity.c)
 *   archive    the blocks put together in order of ranks            (archive.c)
 *
 * Identity comes behind the reading because a trace may state its rank behind its events. The
 * bytes of the archive depend on the files alone, not on which thread read what.
 *
 * Whatever is not as it should be becomes a note: a row of the archive's ledger, and, where it is a
 * fault, a line for the user.
 */
#pragma once

#include "core/arena.h"
#include "trace/archive/clock_samples.h"
#include "trace/archive/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ifp_import_note {
	const char *what; /* stable word of the ledger; NULL = readers of the archive see it */
	int64_t count;	  /* events or cases; 0 where it makes no sense */
	bool fault;	  /* something is wrong, not only told */
	char *why;	  /* a sentence for people */
};

/* {0} is empty. */
struct ifp_import_notes {
	struct ifp_import_note *items;
	uint32_t count;
	size_t capacity;
};

/* A block of events in a spill file. */
struct ifp_import_block {
	uint64_t offset;
	uint32_t bytes;
	uint32_t events;
};

/* One trace. */
struct ifp_import_file {
	char *path;
	const char *name; /* behind the last slash of path */
	char *utf8_path;  /* for JSON: U+FFFD stands for what is no UTF-8 */
	char *label; /* for people, on one line: the name, or the path where names are the same */
	uint64_t file_bytes;
	bool named;	  /* by the user; false: found in a directory */
	uint32_t process; /* that reads it; 0 where there is but one */

	/* What reading.c finds in it. part.c carries it from one process to another. */
	uint64_t json_bytes;
	uint64_t elements;		   /* of the file's traceEvents: events + left_out */
	uint64_t events;		   /* that are in the archive */
	uint64_t left_out;		   /* no events, or too large to store: notes say why */
	uint64_t lost_bytes;		   /* of JSON, to damage */
	uint64_t unread_bytes;		   /* of the packed file, to damage */
	int64_t first_ns, last_ns;	   /* REALTIME, of the events whose times fit together */
	int64_t drawn_first_ns, drawn_last_ns; /* of those, that are drawn */
	int64_t base_time_ns;		   /* that the file states; 0 = none */
	int64_t stated_rank, stated_world; /* by distributedInfo; -1 = not stated */
	char *distributed_info, *device_properties, *others; /* JSON text; NULL = none */
	struct ifp_import_block *blocks;		     /* in the spill file of the process */
	uint32_t block_count;
	size_t block_capacity;
	struct ifp_import_notes notes;
	struct ifp_clock_samples samples; /* its collectives */

	uint32_t rank; /* IFP_FRAME_NO_RANK: nothing of it is in the archive */
};

/* Starts as IFP_IMPORT_EMPTY. */
struct ifp_import {
	struct ifp_import_file *files;
	uint32_t file_count;
	size_t file_capacity;
	struct ifp_import_notes notes; /* of no file in particular */
	uint32_t world;
	int spill;	  /* file of this process' blocks; -1 = none */
	char *spills;	  /* directory with those of other processes (part.h); owned; NULL = none */
	uint32_t process; /* this one's number */
	struct ifp_arena words; /* of notes from other processes */
};

#define IFP_IMPORT_EMPTY ((struct ifp_import){.spill = -1})

/* How far the reading has come, in this process. */
struct ifp_import_progress {
	uint32_t processes; /* that are still read by others; 0 while this one reads */
	uint32_t files, files_done;
	uint64_t file_bytes, file_bytes_done; /* on the disk */
	uint64_t events;
};

struct ifp_import_options {
	/* For the spill file, which has no name there; NULL = only look: nothing can be written
	 * then. */
	const char *output_dir;
	const char *spill_path; /* gives it one; or NULL */
	const char *rank_from; /* POSIX extended expression, its first group is the rank; or NULL */
	bool in_order;	       /* ranks are counted in the order of the arguments */
	uint32_t threads;      /* 0 = one for each core */
	/*
	 * Called four times a second, in the thread of ifp_import_read_files(); NULL = never. An
	 * error (with a cause) ends the reading.
	 */
	int (*progress)(void *context, const struct ifp_import_progress *progress);
	void *context;
};

/* -EINVAL (with a cause) when it is no POSIX extended expression with a group. */
int ifp_import_check_rank_from(const char *rank_from);

/*
 * Finds the files. Paths that cannot be used become notes. -EINVAL (with a cause) when nothing is
 * left, -ENOMEM.
 */
int ifp_import_find_files(struct ifp_import *import, const struct ifp_import_options *options,
	char *const *paths, size_t count);

/* Reads those of the import's process. Damage and unreadable files become notes; errors are those
 * of the spill files. */
int ifp_import_read_files(struct ifp_import *import, const struct ifp_import_options *options);

/*
 * Decides the rank of each file that has events. -EINVAL when rank_from is no expression with a
 * group, or when no file has an event.
 */
int ifp_import_identify(struct ifp_import *import, const struct ifp_import_options *options);

/*
 * Writes the archive, which must not exist (-EEXIST). It is called unfinished, on the same file
 * system, until it is whole: so nothing stays of it after an error, nor its name after a death.
 */
int ifp_import_write(struct ifp_import *import, const char *unfinished, const char *archive_path);

void ifp_import_free(struct ifp_import *import);

#define IFP_CLEANUP_IMPORT IFP_CLEANUP(ifp_import_free)

/* A copy in which U+FFFD stands for what is no UTF-8; free it. NULL when out of memory. */
char *ifp_import_as_utf8(const char *text);

/* Whether any note is a fault. */
bool ifp_import_has_faults(const struct ifp_import *import);
