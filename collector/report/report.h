/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report on a run: a verdict of one line, report.txt for people and report.json for programs
 * (docs/report.md).
 */
#pragma once

#include "collector/analyse/verdict.h"
#include "collector/report/headline.h"
#include "collector/store/run.h"
#include "core/buf.h"
#include "core/cleanup.h"

/* Everything that is computed for a report. The run is borrowed and must outlive it. */
struct ifp_report {
	const struct ifp_run *run;
	struct ifp_activity activity;
	struct ifp_verdict verdict;
	struct ifp_job job;
	char headline[512]; /* the verdict in one line */
	/* To look at before all others: a late rank, the earliest, the one in the middle. */
	uint32_t first_ranks[3];
	uint32_t first_rank_count;
};

/* Reads all events of the run. */
int ifp_report_make(struct ifp_run *run, struct ifp_report *out);
void ifp_report_free(struct ifp_report *report);

#define IFP_CLEANUP_REPORT IFP_CLEANUP(ifp_report_free)

/* Append the whole report; a lack of memory shows in the buffer's status. */
void ifp_report_text(const struct ifp_report *report, struct ifp_buf *out);
void ifp_report_json(const struct ifp_report *report, struct ifp_buf *out);

/*
 * The ledger in lines: equal rows of several ranks become one. Appends the next line (without an
 * end of line) to *out, moves *next (0 at first), and returns the first row behind the line; NULL
 * when there are no more.
 */
const struct ifp_ledger_row *ifp_report_ledger_group(
	const struct ifp_run *run, uint32_t *next, struct ifp_buf *out);

/* The part of the text on the ledger. */
void ifp_report_ledger_text(const struct ifp_run *run, struct ifp_buf *out);

/* Writes report.txt and report.json into a directory that exists, each whole or not at all. */
int ifp_report_write(const struct ifp_report *report, const char *directory);

/*
 * -EEXIST when a directory that exists holds the archive or the report of another run: what is
 * written beside it would look like one run. A report that cannot be read is none.
 */
int ifp_report_check_directory(const struct ifp_run *run, const char *directory);

/*
 * Adds the rows of the ledger in the directory's report.json that are wanted to the run's, when it
 * is a report of this run. Nothing without one. 0 or -ENOMEM.
 */
int ifp_report_take_rows(struct ifp_run *run, const char *directory,
	bool (*wanted)(const void *context, const struct ifp_ledger_row *row), const void *context);
