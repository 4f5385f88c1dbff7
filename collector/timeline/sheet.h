/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sheet: one trace file while it is drawn. What the merged timeline and the analysis files do in
 * the same way: rows with names, counting, closing, and the ledger.
 */
#pragma once

#include "collector/timeline/flows.h"
#include "collector/timeline/rank_view.h"
#include "collector/timeline/slices.h"
#include "collector/timeline/timeline.h"
#include "core/buf.h"
#include "trace/chrome/writer.h"

#include <stdint.h>

struct ifp_sheet {
	char *path;
	struct ifp_chrome_writer *writer; /* NULL: elements are measured, not written */
	struct ifp_buf text;		  /* args and names while one element is made */
	uint32_t next_tid;		  /* invented, counted over the whole file: never 0 */
	uint64_t events;
	struct ifp_buf measured;
	uint64_t measured_bytes;
};

/* {.next_tid = 1} is one that has no file: it only measures. */
int ifp_sheet_open(const char *path, const char *members, struct ifp_sheet *sheet);

void ifp_sheet_add(struct ifp_sheet *sheet, const struct ifp_chrome_element *element);

/* "process_name", "process_sort_index" of a process. name: the inside of a JSON string. */
void ifp_sheet_process(struct ifp_sheet *sheet, int64_t pid, struct ifp_str name, int64_t order);

/* "thread_name", "thread_sort_index" of a row; sorted by its tid. */
void ifp_sheet_row(struct ifp_sheet *sheet, int64_t pid, int64_t tid, struct ifp_str name);

/*
 * Gives numbers to all rows in use (sublanes > 0) in the order in which they are drawn, and names
 * them. pid_of tells the process of a row.
 */
int ifp_sheet_rows(struct ifp_sheet *sheet, struct ifp_rank_view *view,
	int64_t (*pid_of)(const struct ifp_lane_row *row, const void *context),
	const void *context);

/* Both halves of an arrow between two slices that have been drawn. */
void ifp_sheet_flow(struct ifp_sheet *sheet, const struct ifp_chrome_element *half, uint64_t id,
	const struct ifp_chrome_element *from, const struct ifp_chrome_element *to);

/* Finishes the file and fills *file. */
int ifp_sheet_close(struct ifp_sheet *sheet, uint32_t rank, struct ifp_timeline_file *file);
void ifp_sheet_abandon(struct ifp_sheet *sheet);

#define IFP_CLEANUP_SHEET IFP_CLEANUP(ifp_sheet_abandon)

/* A row of the ledger, when count is not 0. */
int ifp_sheet_left_out(struct ifp_run *run, uint32_t rank, uint64_t count, const char *why);
