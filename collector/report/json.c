/* SPDX-License-Identifier: Apache-2.0 */
/* report.json: integers in full, which a JSON library that keeps doubles would round. */
#include "collector/report/report.h"

#include "collector/report/clocks.h"
#include "collector/report/gpus.h"
#include "collector/report/json_words.h"
#include "infprof/version.h"
#include "trace/wire/document.h"

#include <inttypes.h>
#include <stdbool.h>

#define SCHEMA 1

static const char *kind_word(enum ifp_verdict_kind kind)
{
	static const char *const words[] = {[IFP_VERDICT_LATE] = "late",
		[IFP_VERDICT_NOBODY] = "nobody",
		[IFP_VERDICT_UNKNOWN] = "unknown"};

	return words[kind];
}

static const char *reason_word(const struct ifp_verdict *verdict)
{
	static const char *const words[] = {[IFP_REASON_NOISE] = "noise",
		[IFP_REASON_SMALL] = "small",
		[IFP_REASON_ONE_RANK] = "one-rank",
		[IFP_REASON_NO_COLLECTIVES] = "no-collectives",
		[IFP_REASON_NO_STEPS] = "no-steps",
		[IFP_REASON_OTHER_COLLECTIVES] = "other-collectives",
		[IFP_REASON_CLOCKS] = "clocks-not-aligned",
		[IFP_REASON_FEW_STEPS] = "too-few-steps",
		[IFP_REASON_BOUND] = "within-bound"};

	return verdict->kind == IFP_VERDICT_LATE ? NULL : words[verdict->reason];
}

static void candidate(struct ifp_buf *out, const struct ifp_verdict *verdict)
{
	ifp_buf_append_text(out, "\"candidate\":");
	if (!verdict->steps) {
		ifp_buf_append_text(out, "null,");
		return;
	}
	ifp_buf_printf(out, "{\"rank\":%u,\"late_ns\":%" PRId64 ",\"steps_late\":%u,\"p\":%.6f},",
		verdict->rank, verdict->late_ns, verdict->steps_late, verdict->p);
}

static void verdict_object(struct ifp_buf *out, const struct ifp_verdict *verdict)
{
	bool late = verdict->kind == IFP_VERDICT_LATE;

	ifp_buf_append_text(out, "\"verdict\":{\"rank\":");
	if (late)
		ifp_buf_printf(out, "%u", verdict->rank);
	else
		ifp_buf_append_text(out, "null");
	ifp_buf_printf(out,
		",\"late_ns\":%" PRId64 ",\"steps_late\":%u,\"steps\":%u,\"bound_ns\":%" PRId64 ",",
		late ? verdict->late_ns : 0, late ? verdict->steps_late : 0, verdict->steps,
		verdict->bound_ns);
	ifp_buf_printf(out,
		"\"bound\":{\"clocks_ns\":%" PRId64 ",\"gpus_ns\":%" PRId64
		",\"stamps_ns\":%" PRId64 "},",
		verdict->bound.clocks_ns, verdict->bound.gpus_ns, verdict->bound.stamps_ns);
	ifp_json_words_member(out, "kind", kind_word(verdict->kind));
	ifp_json_words_member(out, "reason", reason_word(verdict));
	ifp_json_words_member(out, "at", late && *verdict->at ? verdict->at : NULL);
	ifp_json_words_member(out, "by",
		!late		      ? NULL
		: verdict->from_marks ? "marks"
				      : "collectives");
	ifp_json_words_member(out, "lost",
		!late						   ? NULL
		: verdict->from_marks || verdict->late_before_step ? "after-collectives"
								   : "before-collective");
	candidate(out, verdict);
	ifp_buf_printf(out,
		"\"ranks\":%u,\"steps_skipped\":%u,\"most_last\":%u,\"spread_min_ns\":%" PRId64
		",\"spread_max_ns\":%" PRId64 "},",
		verdict->ranks, verdict->steps_skipped, verdict->most_last, verdict->spread_min_ns,
		verdict->spread_max_ns);
}

/* null where not all clocks are aligned, or nothing was compared. */
static void aligned_object(struct ifp_buf *out, const struct ifp_report *report)
{
	ifp_buf_append_text(out, "\"aligned\":{");
	ifp_json_words_bound(out, "compared_ns",
		report->verdict.steps ? report->verdict.aligned_ns : INT64_MAX);
	ifp_json_words_bound(out, "run_ns", report->job.bound_ns);
	ifp_json_words_end(out, "},");
}

static void clock_object(struct ifp_buf *out, const struct ifp_run_rank *rank)
{
	struct ifp_clock_summary clock;

	ifp_buf_printf(out, "{\"rank\":%u,", rank->rank);
	ifp_clocks_json_method(rank->map, out);
	if (!rank->map) {
		ifp_json_words_end(out, "},");
		return;
	}
	clock = ifp_clock_map_summary(rank->map);
	ifp_buf_printf(out, "\"epochs\":%u,", clock.epochs);
	ifp_clocks_json_members(&clock, out);
	ifp_buf_printf(out, "\"realtime_steps\":%" PRId64 "},", clock.realtime_steps);
}

static void end_object(struct ifp_buf *out, const cJSON *document)
{
	static const char *const counts[] = {"ended_realtime_ns", "marks", "marks_dropped",
		"agent_cpu_ns", "agent_peak_bytes", "program_cpu_ns"};
	int64_t value = 0;

	ifp_buf_append_text(out, "\"end\":");
	if (!document) {
		ifp_buf_append_text(out, "null");
		return;
	}
	ifp_buf_append_text(out, "{");
	ifp_json_words_member(out, "how", ifp_document_get_text(document, "how"));
	ifp_document_get_int(document, "status", &value);
	ifp_buf_printf(out, "\"status\":%" PRId64 ",", value);
	for (size_t i = 0; i < IFP_ARRAY_SIZE(counts); i++)
		ifp_buf_printf(out, "\"%s\":%" PRIu64 ",", counts[i],
			ifp_document_get_count(document, counts[i]));
	ifp_json_words_end(out, "}");
}

static void rank_object(struct ifp_buf *out, const struct ifp_report *report, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(report->run, i);
	struct ifp_step_times steps = ifp_activity_step_times(&report->activity.ranks[i]);

	ifp_buf_printf(out, "{\"rank\":%u,", rank->rank);
	ifp_json_words_member(out, "host", rank->host);
	ifp_buf_printf(out,
		"\"pid\":%" PRId64 ",\"events\":%" PRIu64 ",\"steps\":%" PRIu64
		",\"step_mean_ns\":%" PRId64 ",\"step_max_ns\":%" PRId64 ",",
		rank->pid, rank->event_count, steps.steps, steps.mean_ns, steps.max_ns);
	ifp_buf_printf(out, "\"started_realtime_ns\":%" PRIu64 ",",
		rank->document ? ifp_document_get_count(rank->document, "started_realtime_ns") : 0);
	end_object(out, rank->end);
	ifp_buf_append_text(out, "},");
}

static void window_object(struct ifp_buf *out, const struct ifp_run_window *window)
{
	static const char *const counts[] = {"window", "attempt", "asked_first", "asked_count",
		"first_step", "last_step", "events", "start_realtime_ns", "end_realtime_ns"};

	ifp_buf_printf(out, "{\"rank\":%u,", window->rank);
	for (size_t i = 0; i < IFP_ARRAY_SIZE(counts); i++)
		ifp_buf_printf(out, "\"%s\":%" PRIu64 ",", counts[i],
			ifp_document_get_count(window->document, counts[i]));
	ifp_json_words_member(out, "kind", ifp_document_get_text(window->document, "kind"));
	ifp_json_words_member(out, "outcome", ifp_document_get_text(window->document, "outcome"));
	ifp_json_words_member(out, "reason", ifp_document_get_text(window->document, "reason"));
	ifp_json_words_end(out, "},");
}

static void ledger_row(struct ifp_buf *out, const struct ifp_ledger_row *row)
{
	if (row->rank == IFP_FRAME_NO_RANK)
		ifp_buf_append_text(out, "{\"rank\":null,");
	else
		ifp_buf_printf(out, "{\"rank\":%u,", row->rank);
	ifp_json_words_member(out, "what", row->what);
	ifp_buf_printf(out, "\"count\":%" PRId64 ",\"why\":", row->count);
	ifp_json_words_text(out, row->why);
	ifp_buf_append_text(out, "},");
}

static void run_members(struct ifp_buf *out, const struct ifp_report *report)
{
	const cJSON *document = ifp_run_document(report->run);

	ifp_json_words_member(out, "infprof", INFPROF_VERSION);
	ifp_json_words_member(
		out, "run_id", document ? ifp_document_get_text(document, "run_id") : NULL);
	ifp_json_words_member(
		out, "program", document ? ifp_document_get_text(document, "program") : NULL);
	ifp_json_words_member(out, "headline", report->headline);
}

void ifp_report_json(const struct ifp_report *report, struct ifp_buf *out)
{
	const struct ifp_run *run = report->run;
	struct ifp_archive_damage damage = ifp_run_damage(run);

	ifp_buf_printf(out, "{\"schema\":%d,\"ranks\":%u,\"world\":%u,\"steps\":%u,", SCHEMA,
		ifp_run_rank_count(run), report->job.world, report->verdict.steps);
	run_members(out, report);
	verdict_object(out, &report->verdict);
	aligned_object(out, report);
	ifp_buf_printf(
		out, "\"drift_assumed_ppm\":%" PRId64 ",\"clocks\":[", ifp_run_drift_ppm(run));
	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++)
		clock_object(out, ifp_run_rank(run, i));
	ifp_json_words_end(out, "],");
	ifp_gpus_json(run, out);
	ifp_buf_append_text(out, "\"per_rank\":[");
	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++)
		rank_object(out, report, i);
	ifp_json_words_end(out, "],\"windows\":[");
	for (uint32_t i = 0; i < ifp_run_window_count(run); i++)
		window_object(out, ifp_run_window(run, i));
	ifp_json_words_end(out, "],\"ledger\":[");
	for (uint32_t i = 0; i < ifp_run_ledger_count(run); i++)
		ledger_row(out, ifp_run_ledger(run, i));
	ifp_json_words_end(out, "],");
	ifp_buf_printf(out,
		"\"archive\":{\"index_missing\":%s,\"damaged_frames\":%" PRIu64
		",\"damaged_bytes\":%" PRIu64 "}}\n",
		damage.index_missing ? "true" : "false", damage.damaged_frames,
		damage.damaged_bytes);
}
