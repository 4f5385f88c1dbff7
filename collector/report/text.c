/* SPDX-License-Identifier: Apache-2.0 */
/* report.txt */
#include "collector/report/report.h"

#include "collector/receive/document.h"
#include "collector/report/words.h"

#include <inttypes.h>
#include <string.h>

/* Pads what was appended since start to a column's width; at least one blank follows. */
static void pad(struct ifp_buf *out, size_t start, size_t width)
{
	do {
		ifp_buf_append_u8(out, ' ');
	} while (!out->failed && out->len_bytes - start < width);
}

static void append_duration_column(struct ifp_buf *out, int64_t ns, size_t width)
{
	size_t start = out->len_bytes;

	if (ns)
		ifp_words_duration(out, ns);
	else
		ifp_buf_append_text(out, "-");
	pad(out, start, width);
}

static void append_end(struct ifp_buf *out, const struct ifp_run_rank *rank)
{
	const char *how = rank->end ? ifp_document_text(rank->end, "how") : NULL;
	int64_t status = 0;

	if (!how) {
		ifp_buf_append_text(out, "not known");
		return;
	}
	ifp_document_int(rank->end, "status", &status);
	if (strcmp(how, "exited") == 0)
		ifp_buf_printf(out, "exited %" PRId64, status);
	else if (strcmp(how, "signalled") == 0)
		ifp_buf_printf(out, "signal %" PRId64 " (%s)", status, strsignal((int)status));
	else
		ifp_buf_append_text(out, how);
}

static void append_clock(struct ifp_buf *out, const struct ifp_run_rank *rank)
{
	struct ifp_clock_summary clock;

	if (!rank->map) {
		ifp_buf_append_text(out, "no readings: its events have no place in time");
		return;
	}
	clock = ifp_clock_map_summary(rank->map);
	if (clock.method == IFP_CLOCK_SHARED) {
		ifp_buf_append_text(out, "shared");
	} else if (clock.bound_ns == INT64_MAX) {
		ifp_buf_append_text(out, "not aligned");
	} else {
		ifp_buf_append_text(out, "+- ");
		ifp_words_duration(out, clock.bound_ns);
		ifp_buf_append_text(out, clock.over_mpi ? " (MPI)" : " (ZeroMQ)");
	}
	if (clock.realtime_steps)
		ifp_buf_printf(out, ", wall clock set %" PRId64 " times", clock.realtime_steps);
}

static void append_rank(struct ifp_buf *out, const struct ifp_report *report, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(report->run, i);
	struct ifp_step_times steps = ifp_activity_step_times(&report->activity.ranks[i]);
	size_t start;

	ifp_buf_printf(out, "%4u  ", rank->rank);
	start = out->len_bytes;
	ifp_buf_append_text(out, rank->host);
	pad(out, start, 16);
	ifp_buf_printf(out, "%6" PRIu64 "  ", steps.steps);
	append_duration_column(out, steps.mean_ns, 10);
	append_duration_column(out, steps.max_ns, 10);
	ifp_buf_printf(out, "%9" PRIu64 "  ", rank->event_count);
	start = out->len_bytes;
	append_end(out, rank);
	pad(out, start, 20);
	append_clock(out, rank);
	ifp_buf_append_text(out, "\n");
}

static void append_ranks(struct ifp_buf *out, const struct ifp_report *report)
{
	ifp_buf_append_text(out, "\nRanks, over the whole run\n"
				 "rank  host             steps  mean      longest      events  "
				 "ended               clock\n");
	for (uint32_t i = 0; i < ifp_run_rank_count(report->run); i++)
		append_rank(out, report, i);
	if (report->job.bound_ns && report->job.bound_ns != INT64_MAX)
		ifp_buf_printf(out,
			"Clock bounds assume that no clock drifts by more than %d ppm.\n",
			IFP_CLOCK_DRIFT_PPM);
}

static bool same_attempt(const cJSON *a, const cJSON *b)
{
	return ifp_document_count(a, "window") == ifp_document_count(b, "window") &&
	       ifp_document_count(a, "attempt") == ifp_document_count(b, "attempt");
}

static bool recorded(const cJSON *window)
{
	const char *outcome = ifp_document_text(window, "outcome");

	return outcome && strcmp(outcome, "recorded") == 0;
}

/* What all ranks together have of one attempt: the first of its documents is number first. */
static void append_attempt(struct ifp_buf *out, const struct ifp_run *run, uint32_t first)
{
	const cJSON *window = ifp_run_window(run, first)->document, *good = NULL;
	uint64_t ranks = 0, events = 0;

	for (uint32_t i = first; i < ifp_run_window_count(run); i++) {
		const cJSON *other = ifp_run_window(run, i)->document;

		if (!same_attempt(window, other) || !recorded(other))
			continue;
		good = other;
		ranks++;
		events += ifp_document_count(other, "events");
	}
	ifp_buf_printf(out, "%4" PRIu64 "  attempt %" PRIu64 ": ",
		ifp_document_count(window, "window"), ifp_document_count(window, "attempt") + 1);
	if (good && ifp_document_count(good, "first_step"))
		ifp_buf_printf(out, "steps %" PRIu64 " to %" PRIu64 ", ",
			ifp_document_count(good, "first_step"),
			ifp_document_count(good, "last_step"));
	ifp_words_count(out, events, "event");
	ifp_buf_append_text(out, " of ");
	ifp_words_count(out, ranks, "rank");
	ifp_buf_append_text(out, "\n");
}

/* The ranks that did not record it, and why. */
static void append_failures(struct ifp_buf *out, const struct ifp_run *run, uint32_t first)
{
	const cJSON *window = ifp_run_window(run, first)->document;

	for (uint32_t i = first; i < ifp_run_window_count(run); i++) {
		const struct ifp_run_window *other = ifp_run_window(run, i);
		const char *outcome = ifp_document_text(other->document, "outcome");
		const char *reason = ifp_document_text(other->document, "reason");

		if (!same_attempt(window, other->document) || recorded(other->document))
			continue;
		ifp_buf_printf(out, "      rank %u: %s%s%s\n", other->rank,
			outcome ? outcome : "not known", reason && *reason ? ": " : "",
			reason ? reason : "");
	}
}

static void append_windows(struct ifp_buf *out, const struct ifp_run *run)
{
	ifp_buf_append_text(out, "\nWindows\n");
	for (uint32_t i = 0; i < ifp_run_window_count(run); i++) {
		bool seen = false;

		for (uint32_t j = 0; j < i && !seen; j++)
			seen = same_attempt(
				ifp_run_window(run, j)->document, ifp_run_window(run, i)->document);
		if (seen)
			continue;
		append_attempt(out, run, i);
		append_failures(out, run, i);
	}
	if (!ifp_run_window_count(run))
		ifp_buf_append_text(out, "      none\n");
}

static void append_ledger(struct ifp_buf *out, const struct ifp_run *run)
{
	ifp_buf_append_text(out, "\nLedger: what did not arrive, or was changed on its way\n");
	for (uint32_t i = 0; i < ifp_run_ledger_count(run); i++) {
		const struct ifp_ledger_row *row = ifp_run_ledger(run, i);

		if (row->rank == IFP_FRAME_NO_RANK)
			ifp_buf_append_text(out, " all  ");
		else
			ifp_buf_printf(out, "%4u  ", row->rank);
		ifp_buf_append_text(out, row->what);
		if (row->count)
			ifp_buf_printf(out, " %" PRId64, row->count);
		ifp_buf_printf(out, ": %s\n", row->why);
	}
	if (!ifp_run_ledger_count(run))
		ifp_buf_append_text(out, "      nothing\n");
}

static void append_run(struct ifp_buf *out, const struct ifp_run *run)
{
	const cJSON *document = ifp_run_document(run);
	const char *id = document ? ifp_document_text(document, "run_id") : NULL;
	const char *program = document ? ifp_document_text(document, "program") : NULL;

	if (program)
		ifp_buf_printf(out, "Program: %s\n", program);
	if (id)
		ifp_buf_printf(out, "Run: %s\n", id);
}

static void append_comparison(struct ifp_buf *out, const struct ifp_verdict *verdict)
{
	size_t before = out->len_bytes;

	ifp_headline_where(verdict, out);
	if (out->len_bytes > before)
		ifp_buf_append_text(out, "\n");
	if (verdict->steps_skipped) {
		ifp_words_count(out, verdict->steps_skipped, "step");
		ifp_buf_append_text(out, " left out: not the same collectives on all ranks.\n");
	}
}

void ifp_report_text(const struct ifp_report *report, struct ifp_buf *out)
{
	ifp_buf_printf(out, "%s\n", report->headline);
	append_comparison(out, &report->verdict);
	ifp_buf_append_text(out, "\n");
	append_run(out, report->run);
	append_ranks(out, report);
	append_windows(out, report->run);
	append_ledger(out, report->run);
}
