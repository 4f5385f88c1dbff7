/* SPDX-License-Identifier: Apache-2.0 */
/* report.txt */
#include "collector/report/report.h"

#include "collector/report/clocks.h"
#include "collector/report/gpus.h"
#include "collector/report/words.h"
#include "core/array.h"
#include "core/ranges.h"
#include "trace/wire/document.h"

#include <inttypes.h>
#include <string.h>

/* What to do where a program has ended before its window. */
#define EARLIER " (--warmup 0 and fewer --steps let a window begin and end earlier)"

/* Of "+- 57.8 us (collectives)" and a gap. */
#define CLOCK_WIDTH 26

#define MAX_STEP_LISTS 8u /* ranks that have other steps than those before them */

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
	const char *how = rank->end ? ifp_document_get_text(rank->end, "how") : NULL;
	int64_t status = 0;

	if (!how) {
		ifp_buf_append_text(out, rank->imported ? "imported" : "not known");
		return;
	}
	ifp_document_get_int(rank->end, "status", &status);
	if (strcmp(how, "exited") == 0)
		ifp_buf_printf(out, "exited %" PRId64, status);
	else if (strcmp(how, "signalled") == 0)
		ifp_buf_printf(out, "signal %" PRId64 " (%s)", status, strsignal((int)status));
	else
		ifp_buf_append_text(out, how);
}

static void append_clock(struct ifp_buf *out, const struct ifp_run *run, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(run, i);
	const char *method = ifp_clocks_method(run, i);
	struct ifp_clock_summary clock = {.bound_ns = INT64_MAX};

	if (rank->map)
		clock = ifp_clock_map_summary(rank->map);
	if (clock.method == IFP_CLOCK_SHARED || clock.bound_ns == INT64_MAX) {
		ifp_buf_append_text(out, method);
	} else {
		ifp_buf_append_text(out, "+- ");
		ifp_words_duration(out, clock.bound_ns);
		ifp_buf_printf(out, " (%s)", method);
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
	append_clock(out, report->run, i);
	pad(out, start, CLOCK_WIDTH);
	append_end(out, rank);
	ifp_buf_append_text(out, "\n");
}

static void append_ranks(struct ifp_buf *out, const struct ifp_report *report)
{
	ifp_buf_printf(out,
		"\nRanks, over the whole run\n"
		"rank  host             steps  mean      longest      events  %-*sended\n",
		CLOCK_WIDTH, "clock");
	for (uint32_t i = 0; i < ifp_run_rank_count(report->run); i++)
		append_rank(out, report, i);
}

static bool is_marked(const struct ifp_rank_activity *rank, uint64_t step)
{
	size_t low = IFP_ARRAY_LOWER_BOUND(i, rank->mark_count, rank->marks[i].step < step);

	return low < rank->mark_count && rank->marks[low].step == step;
}

static bool has_all_steps(
	const struct ifp_rank_activity *rank, const struct ifp_rank_activity *other)
{
	for (size_t i = 0; i < other->mark_count; i++)
		if (!is_marked(rank, other->marks[i].step))
			return false;
	return true;
}

static void append_step_numbers(struct ifp_buf *out, const struct ifp_rank_activity *rank)
{
	IFP_CLEANUP_RANGES struct ifp_ranges numbers = {0};

	for (size_t i = 0; i < rank->mark_count; i++)
		if (rank->marks[i].step <= INT64_MAX &&
			ifp_ranges_add(&numbers, (int64_t)rank->marks[i].step))
			return;
	ifp_ranges_print(&numbers, out);
}

/* Of traces, which have the steps that they have: of a run of infprof all are there, from 1 on. */
static void append_steps(struct ifp_buf *out, const struct ifp_report *report)
{
	const struct ifp_rank_activity *ranks = report->activity.ranks, *before = NULL;
	uint32_t told = 0;

	for (uint32_t i = 0; i < ifp_run_rank_count(report->run) && told <= MAX_STEP_LISTS; i++) {
		if (!ifp_run_rank(report->run, i)->imported || !ranks[i].mark_count ||
			(before && has_all_steps(before, &ranks[i]) &&
				has_all_steps(&ranks[i], before)))
			continue;
		ifp_buf_append_text(out, told ? "; " : "Steps: ");
		before = &ranks[i];
		if (told++ == MAX_STEP_LISTS) {
			ifp_buf_append_text(out, "...");
			break;
		}
		if (told > 1)
			ifp_buf_printf(out, "from rank %u on ", ranks[i].rank);
		append_step_numbers(out, before);
	}
	if (told)
		ifp_buf_append_text(out, "\n");
}

static void append_clocks(struct ifp_buf *out, const struct ifp_report *report)
{
	if (report->job.one_clock) {
		ifp_gpus_text(report->run, out);
		return;
	}
	ifp_buf_append_text(out, "\nClocks\n");
	ifp_clocks_text(report->run, IFP_CLOCKS_PLAIN, false, out);
}

static bool same_attempt(const cJSON *a, const cJSON *b)
{
	return ifp_document_get_count(a, "window") == ifp_document_get_count(b, "window") &&
	       ifp_document_get_count(a, "attempt") == ifp_document_get_count(b, "attempt");
}

static bool recorded(const cJSON *window)
{
	const char *outcome = ifp_document_get_text(window, "outcome");

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
		events += ifp_document_get_count(other, "events");
	}
	ifp_buf_printf(out, "%4" PRIu64 "  attempt %" PRIu64 ": ",
		ifp_document_get_count(window, "window"),
		ifp_document_get_count(window, "attempt") + 1);
	if (good && ifp_document_get_count(good, "first_step"))
		ifp_buf_printf(out, "steps %" PRIu64 " to %" PRIu64 ", ",
			ifp_document_get_count(good, "first_step"),
			ifp_document_get_count(good, "last_step"));
	if (ranks) {
		ifp_words_count(out, events, "event");
		ifp_buf_append_text(out, " of ");
		ifp_words_count(out, ranks, "rank");
	} else {
		ifp_buf_append_text(out, "no rank has recorded it");
	}
	ifp_buf_append_text(out, "\n");
}

/* Windows of one attempt that came to the same. */
struct failures {
	const struct ifp_run *run;
	const cJSON *like;
};

static bool same_text(const cJSON *a, const cJSON *b, const char *name)
{
	const char *x = ifp_document_get_text(a, name), *y = ifp_document_get_text(b, name);

	return strcmp(x ? x : "", y ? y : "") == 0;
}

static bool same_failure(const cJSON *a, const cJSON *b)
{
	return same_attempt(a, b) && same_text(a, b, "outcome") && same_text(a, b, "reason");
}

static bool has_failed(const void *context, uint32_t rank)
{
	const struct failures *failures = context;

	for (uint32_t i = 0; i < ifp_run_window_count(failures->run); i++) {
		const struct ifp_run_window *window = ifp_run_window(failures->run, i);

		if (window->rank == rank && same_failure(window->document, failures->like))
			return true;
	}
	return false;
}

static bool first_of_failure(const struct ifp_run *run, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++) {
		if (same_failure(
			    ifp_run_window(run, j)->document, ifp_run_window(run, i)->document))
			return false;
	}
	return true;
}

/* The ranks that did not record it, and why. */
static void append_failures(struct ifp_buf *out, const struct ifp_run *run, uint32_t first)
{
	const cJSON *window = ifp_run_window(run, first)->document;

	for (uint32_t i = first; i < ifp_run_window_count(run); i++) {
		const cJSON *other = ifp_run_window(run, i)->document;
		const struct failures failures = {run, other};
		const char *outcome = ifp_document_get_text(other, "outcome");
		const char *reason = ifp_document_get_text(other, "reason");

		if (!same_attempt(window, other) || recorded(other) || !first_of_failure(run, i))
			continue;
		ifp_buf_append_text(out, "      ");
		ifp_words_ranks(out, ifp_run_world(run), has_failed, &failures);
		ifp_buf_printf(out, ": %s%s%s%s\n", outcome ? outcome : "not known",
			reason && *reason ? ": " : "", reason ? reason : "",
			outcome && !strcmp(outcome, "ended") ? EARLIER : "");
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

static void append_run(struct ifp_buf *out, const struct ifp_run *run)
{
	const cJSON *document = ifp_run_document(run);
	const char *id = document ? ifp_document_get_text(document, "run_id") : NULL;
	const char *program = document ? ifp_document_get_text(document, "program") : NULL;

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
	before = out->len_bytes;
	ifp_headline_bound(verdict, out);
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
	append_steps(out, report);
	append_clocks(out, report);
	append_windows(out, report->run);
	ifp_report_ledger_text(report->run, out);
}
