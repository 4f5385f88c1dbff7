/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/ranks_note.h"

#include "core/buf.h"
#include "core/cleanup.h"

#include <inttypes.h>

#define MAX_NAMED_RANKS 8u

static void append_size(struct ifp_buf *out, uint64_t bytes)
{
	if (bytes < 1000)
		ifp_buf_printf(out, "%" PRIu64 " B", bytes);
	else if (bytes < 1000000)
		ifp_buf_printf(out, "%.1f kB", (double)bytes / 1e3);
	else
		ifp_buf_printf(out, "%.1f MB", (double)bytes / 1e6);
}

static void append_ranks(struct ifp_buf *out, const struct ifp_run *run, const struct ifp_cut *cut,
	uint32_t count, const uint32_t *places)
{
	if (count == cut->rank_count) {
		ifp_buf_printf(out, "all %u ranks", count);
		return;
	}
	ifp_buf_printf(out, "%u of %u ranks", count, cut->rank_count);
	for (uint32_t i = 0; i < count && count <= MAX_NAMED_RANKS; i++)
		ifp_buf_printf(out, "%s%u%s", i ? ", " : " (", ifp_run_rank(run, places[i])->rank,
			i + 1 == count ? ")" : "");
}

static void append_steps(
	struct ifp_buf *out, const struct ifp_cut *cut, const struct ifp_ranks_plan *plan)
{
	int64_t first, last;

	if (plan->steps == cut->count || !cut->by_steps)
		return;
	first = cut->numbers[plan->first_step];
	last = cut->numbers[plan->first_step + plan->steps - 1];
	ifp_buf_printf(out, ", %u of %u steps (%" PRId64, plan->steps, cut->count, first);
	if (last != first)
		ifp_buf_printf(out, " to %" PRId64, last);
	ifp_buf_append_u8(out, ')');
}

static void append_held(struct ifp_buf *out, const struct ifp_run *run, const struct ifp_cut *cut,
	const struct ifp_ranks_plan *plan, const uint32_t *places)
{
	static const char *const details[IFP_ARGS_DETAILS] = {
		[IFP_ARGS_ALL] = "",
		[IFP_ARGS_NO_STACKS] = ", no call stacks",
		[IFP_ARGS_SHORT] = ", of args what is computed with",
		[IFP_ARGS_NO_SHAPES] = ", of args what is computed with, no shapes",
	};

	ifp_buf_append_text(out, "ranks/ holds ");
	append_ranks(out, run, cut, plan->ranks, places);
	append_steps(out, cut, plan);
	ifp_buf_append_text(out, details[plan->detail]);
}

static void append_reasons(struct ifp_buf *out, const struct ifp_cut *cut,
	const struct ifp_ranks_plan *plan, const struct ifp_timeline_limits *limits)
{
	const char *between = ": ";

	if (limits->ranks_files < (int64_t)cut->rank_count) {
		ifp_buf_printf(
			out, "%s--max-ranks-files is %" PRId64, between, limits->ranks_files);
		between = ", ";
	}
	if (plan->whole_bytes > (uint64_t)limits->ranks_bytes) {
		ifp_buf_append_text(out, between);
		append_size(out, plan->whole_bytes);
		ifp_buf_append_text(out, " are more than --ranks-budget ");
		append_size(out, (uint64_t)limits->ranks_bytes);
	}
}

/* Not even the least fits. */
static void append_nothing(struct ifp_buf *out, const struct ifp_cut *cut,
	const struct ifp_ranks_plan *plan, const struct ifp_timeline_limits *limits)
{
	ifp_buf_append_text(out, "ranks/ is empty");
	append_reasons(out, cut, plan, limits);
	if (plan->least_bytes) {
		ifp_buf_printf(out, "; %s of one rank takes ",
			cut->by_steps ? "one step" : "the recording");
		append_size(out, plan->least_bytes);
	}
	ifp_buf_append_text(out, "; --ranks-budget 0 sets no limit");
}

int ifp_ranks_note(struct ifp_run *run, const struct ifp_cut *cut,
	const struct ifp_ranks_plan *plan, const uint32_t *places,
	const struct ifp_timeline_limits *limits)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	struct ifp_ledger_row row = {.rank = IFP_FRAME_NO_RANK, .what = "ranks-reduced"};
	int err;

	if (!cut->rank_count ||
		(plan->ranks == cut->rank_count && plan->bytes == plan->whole_bytes))
		return 0;
	if (plan->ranks) {
		append_held(&text, run, cut, plan, places);
		append_reasons(&text, cut, plan, limits);
	} else {
		append_nothing(&text, cut, plan, limits);
	}
	ifp_buf_append_u8(&text, 0);
	err = ifp_buf_status(&text);
	row.why = (const char *)text.data;
	return err ? err : ifp_run_ledger_add(run, &row);
}
