/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of collector/store share: a run as it is put together from the archive. */
#pragma once

#include "collector/store/run.h"
#include "core/arena.h"

/* No job has more ranks; frames of ranks beyond are damaged, or were written to do harm. */
#define IFP_RUN_WORLD_MAX 1048576u

/* An EVENTS frame of a rank. */
struct ifp_run_block {
	uint64_t frame; /* its number in the archive */
	uint32_t event_count;
	bool damaged;
	bool reported; /* the ledger says so */
};

/* Everything of one rank; seen is what others get to see. */
struct ifp_run_member {
	struct ifp_run_rank seen;
	struct ifp_clock_samples samples; /* of all CLOCK frames, tuples in order of time */
	size_t tuple_capacity, edge_capacity, collective_capacity, suspension_capacity;
	struct ifp_run_block *blocks;
	uint32_t block_count;
	size_t block_capacity;
	uint64_t missing_frames; /* gaps in its sequence numbers */
	/* Its GPUs, device x window; known once its events have been read. Owned. */
	struct ifp_gpu *gpus;
	uint32_t gpu_count;
	int64_t *gpu_cuts; /* REALTIME between windows */
	uint32_t gpu_cut_count;
	bool gpus_known;
	bool gpus_reported; /* the ledger says so */
};

struct ifp_run {
	struct ifp_archive_reader *reader;
	struct ifp_arena arena; /* texts and rows of the ledger */
	cJSON **documents;	/* all that were read; owned */
	uint32_t document_count;
	size_t document_capacity;
	uint64_t damaged_documents; /* intact frames whose payload is not what it should be */
	const cJSON *document;
	uint32_t world;
	struct ifp_run_member *members; /* by rank */
	uint32_t member_count;
	size_t member_capacity;
	struct ifp_run_window *windows;
	uint32_t window_count;
	size_t window_capacity;
	struct ifp_ledger_row **ledger;
	uint32_t ledger_count;
	size_t ledger_capacity;
	struct ifp_clock_solution *solution;
	ifp_global_ns base;
	bool as_recorded; /* GPUs' times are not corrected */
};

/* Reads all frames but the events' payloads (documents.c). */
int ifp_run_read_frames(struct ifp_run *run);

/* Finds a rank's GPUs in its blocks, the first time; nothing where it has none. 0 or -ENOMEM. */
int ifp_run_find_gpus(struct ifp_run *run, struct ifp_run_member *member,
	const struct ifp_block_rows *const *rows, uint32_t count);

/* Whether any time of a GPU of the rank is to be moved. */
bool ifp_run_moves_gpus(const struct ifp_run *run, const struct ifp_run_member *member);

/* A stamp of that GPU, of an event that begins at start, as the host would have read it. */
int64_t ifp_run_gpu_time(
	const struct ifp_run_member *member, int64_t device, int64_t start, int64_t stamp);

/* The ledger's rows about a rank's GPUs, once. */
int ifp_run_report_gpus(struct ifp_run *run, struct ifp_run_member *member);

/* As ifp_run_ledger_add(), with a formatted sentence. */
int ifp_run_ledger_printf(struct ifp_run *run, uint32_t rank, const char *what, int64_t count,
	const char *why_format, ...) __attribute__((format(printf, 5, 6)));
