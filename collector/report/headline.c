/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/headline.h"

#include "collector/report/words.h"
#include "core/cleanup.h"

/* How well clocks are aligned: where ranks are compared, when that is clearly better. */
static void append_alignment(
	struct ifp_buf *out, const struct ifp_job *job, const struct ifp_verdict *verdict)
{
	ifp_buf_append_text(out, ", clocks aligned to ");
	if (!verdict->steps || verdict->aligned_ns > job->bound_ns / 10 * 9) {
		ifp_words_duration(out, job->bound_ns);
		return;
	}
	ifp_words_duration(out, verdict->aligned_ns);
	ifp_buf_append_text(out, " where compared (");
	ifp_words_duration(out, job->bound_ns);
	ifp_buf_append_text(out, " over the run)");
}

static void append_job(
	struct ifp_buf *out, const struct ifp_job *job, const struct ifp_verdict *verdict)
{
	ifp_buf_printf(out, "%u of %u ranks, ", job->ranks, job->world);
	if (verdict->ranks && verdict->ranks < job->ranks)
		ifp_buf_printf(out, "%u with collectives, ", verdict->ranks);
	/* there may have been many: they are in the report */
	if (verdict->steps)
		ifp_words_count(out, verdict->steps, "step");
	else
		ifp_buf_append_text(out, "no step compared");
	if (job->hosts == 1)
		ifp_buf_append_text(out, ", one host");
	else if (job->hosts)
		ifp_buf_printf(out, ", %u hosts", job->hosts);
	if (job->one_clock)
		ifp_buf_append_text(out, ", one clock");
	else if (job->bound_ns == INT64_MAX)
		ifp_buf_append_text(out, ", clocks not aligned");
	else
		append_alignment(out, job, verdict);
}

static void append_late(struct ifp_buf *out, const struct ifp_verdict *verdict)
{
	ifp_buf_printf(out, "rank %u is late: ", verdict->rank);
	ifp_words_duration(out, verdict->late_ns);
	if (verdict->from_marks)
		ifp_buf_printf(out, " at the end of %u of ", verdict->steps_late);
	else
		ifp_buf_printf(out, " at %s in %u of ", verdict->at, verdict->steps_late);
	ifp_words_count(out, verdict->steps, "step");
}

static void append_candidate(struct ifp_buf *out, const struct ifp_verdict *verdict)
{
	ifp_buf_printf(out, "rank %u is last in %u of ", verdict->rank, verdict->steps_late);
	ifp_words_count(out, verdict->steps, "step");
}

/* Nearly always the last one, but within what may be noise. */
static void append_unclear(struct ifp_buf *out, const struct ifp_verdict *verdict)
{
	append_candidate(out, verdict);
	ifp_buf_append_text(out, ", but not clearly enough: ");
	if (verdict->more_steps_tell) {
		ifp_buf_append_text(out, "more steps would tell");
		return;
	}
	ifp_words_duration(out, verdict->gap_ns);
	ifp_buf_append_text(out, " +- ");
	ifp_words_duration(out, verdict->deviation_ns);
	ifp_buf_append_text(out, " behind the second last, the others within ");
	ifp_words_duration(out, verdict->others_ns);
}

static void append_nobody(struct ifp_buf *out, const struct ifp_verdict *verdict)
{
	ifp_buf_append_text(out, "no rank is late: ");
	if (verdict->reason == IFP_REASON_SMALL) {
		append_candidate(out, verdict);
		ifp_buf_append_text(out, ", by ");
		ifp_words_duration(out, verdict->late_ns);
		ifp_buf_append_text(out, " only");
		return;
	}
	ifp_buf_append_text(out, "spread ");
	ifp_words_range(out, verdict->spread_min_ns, verdict->spread_max_ns);
	ifp_buf_append_text(out, ", ");
	if (verdict->another_each_time) {
		ifp_buf_append_text(out, "no rank was the last twice in a row");
	} else if (ifp_lateness_regular(verdict->steps_late, verdict->steps)) {
		append_unclear(out, verdict);
	} else {
		ifp_buf_printf(out, "none last in more than %u of %u steps", verdict->most_last,
			verdict->steps);
	}
}

static void append_few_steps(struct ifp_buf *out, const struct ifp_verdict *verdict)
{
	ifp_buf_printf(
		out, "%u ranks need %u steps for that, ", verdict->ranks, verdict->steps_needed);
	ifp_buf_printf(out, "%u %s compared", verdict->steps, verdict->steps == 1 ? "was" : "were");
	if (verdict->steps_skipped)
		ifp_buf_printf(out, ", %u left out", verdict->steps_skipped);
}

static void append_unknown(
	struct ifp_buf *out, const struct ifp_job *job, const struct ifp_verdict *verdict)
{
	ifp_buf_append_text(out, "cannot tell whether a rank is late: ");
	switch (verdict->reason) {
	case IFP_REASON_ONE_RANK:
		ifp_buf_append_text(out, "there is only one");
		break;
	case IFP_REASON_NO_STEPS:
		ifp_buf_append_text(out,
			job->imported ? "the traces have collectives, but no ProfilerStep#N: the "
					"program has to call prof.step() after each step"
				      : "collectives were recorded, but no step was marked");
		break;
	case IFP_REASON_OTHER_COLLECTIVES:
		ifp_buf_append_text(out, "the ranks did other collectives in each step");
		break;
	case IFP_REASON_CLOCKS:
		ifp_buf_append_text(out, "their clocks are not aligned");
		break;
	case IFP_REASON_FEW_STEPS:
		append_few_steps(out, verdict);
		break;
	case IFP_REASON_BOUND:
		append_candidate(out, verdict);
		ifp_buf_append_text(out, " by ");
		ifp_words_duration(out, verdict->late_ns);
		ifp_buf_append_text(out, ", which the clocks cannot tell from 0 (bound ");
		ifp_words_duration(out, verdict->bound_ns);
		ifp_buf_append_text(out, ")");
		break;
	default:
		ifp_buf_append_text(out, "no collectives of two ranks were recorded");
	}
}

void ifp_headline(const struct ifp_job *job, const struct ifp_verdict *verdict, struct ifp_buf *out)
{
	append_job(out, job, verdict);
	ifp_buf_append_text(out, "; ");
	switch (verdict->kind) {
	case IFP_VERDICT_LATE:
		append_late(out, verdict);
		break;
	case IFP_VERDICT_NOBODY:
		append_nobody(out, verdict);
		break;
	default:
		append_unknown(out, job, verdict);
	}
}

void ifp_headline_bound(const struct ifp_verdict *verdict, struct ifp_buf *out)
{
	const struct {
		int64_t ns;
		const char *of;
	} parts[] = {{verdict->bound.clocks_ns, "clocks"}, {verdict->bound.gpus_ns, "GPUs"},
		{verdict->bound.stamps_ns, "stamps"}};
	const char *before = ": ";

	if (!verdict->steps)
		return;
	ifp_buf_printf(out, "A lateness of rank %u is certain beyond ", verdict->rank);
	ifp_words_duration(out, verdict->bound_ns);
	for (size_t i = 0; i < IFP_ARRAY_SIZE(parts); i++) {
		if (!parts[i].ns)
			continue;
		ifp_buf_append_text(out, before);
		ifp_words_duration(out, parts[i].ns);
		ifp_buf_printf(out, " of %s", parts[i].of);
		before = ", ";
	}
	ifp_buf_append_text(out, ".");
}

void ifp_headline_where(const struct ifp_verdict *verdict, struct ifp_buf *out)
{
	if (verdict->kind != IFP_VERDICT_LATE)
		return;
	ifp_buf_printf(out, "Rank %u loses the time ", verdict->rank);
	if (verdict->from_marks || verdict->late_before_step)
		ifp_buf_append_text(
			out, "between the last collective of a step and the step's end.");
	else
		ifp_buf_printf(out, "between the start of a step and its %s.", verdict->at);
}
