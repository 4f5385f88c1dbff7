/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/report.h"

#include "collector/report/words.h"

#include <inttypes.h>
#include <string.h>

/* Rows that say the same of several ranks. */
static bool alike(const struct ifp_ledger_row *a, const struct ifp_ledger_row *b)
{
	return strcmp(a->what, b->what) == 0 && strcmp(a->why, b->why) == 0;
}

static bool seen_before(const struct ifp_run *run, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++) {
		if (alike(ifp_run_ledger(run, j), ifp_run_ledger(run, i)))
			return true;
	}
	return false;
}

/* Rows like one of a run. */
struct rows {
	const struct ifp_run *run;
	const struct ifp_ledger_row *like;
};

static bool has_rank(const void *context, uint32_t rank)
{
	const struct rows *rows = context;

	for (uint32_t i = 0; i < ifp_run_ledger_count(rows->run); i++) {
		const struct ifp_ledger_row *row = ifp_run_ledger(rows->run, i);

		if (row->rank == rank && alike(row, rows->like))
			return true;
	}
	return false;
}

static void append_group(struct ifp_buf *out, const struct ifp_run *run, uint32_t i)
{
	const struct rows rows = {run, ifp_run_ledger(run, i)};
	int64_t sum = 0;
	uint32_t limit = 0;

	for (uint32_t j = i; j < ifp_run_ledger_count(run); j++) {
		const struct ifp_ledger_row *row = ifp_run_ledger(run, j);

		if (!alike(row, rows.like))
			continue;
		if (__builtin_add_overflow(sum, row->count, &sum))
			sum = INT64_MAX;
		if (row->rank != IFP_FRAME_NO_RANK && row->rank >= limit)
			limit = row->rank + 1;
	}
	ifp_buf_append_text(out, rows.like->what);
	if (sum)
		ifp_buf_printf(out, " %" PRId64, sum);
	if (limit) {
		ifp_buf_append_text(out, ", ");
		ifp_words_ranks(out, limit, has_rank, &rows);
	}
	ifp_buf_printf(out, ": %s", rows.like->why);
}

const struct ifp_ledger_row *ifp_report_ledger_group(
	const struct ifp_run *run, uint32_t *next, struct ifp_buf *out)
{
	while (*next < ifp_run_ledger_count(run)) {
		uint32_t i = (*next)++;

		if (seen_before(run, i))
			continue;
		append_group(out, run, i);
		return ifp_run_ledger(run, i);
	}
	return NULL;
}

void ifp_report_ledger_text(const struct ifp_run *run, struct ifp_buf *out)
{
	IFP_CLEANUP_BUF struct ifp_buf line = {0};
	uint32_t next = 0;

	ifp_buf_append_text(out, "\nLedger: what did not arrive, or was changed on its way\n");
	while (ifp_report_ledger_group(run, &next, &line)) {
		ifp_buf_append_text(out, "      ");
		ifp_buf_append(out, line.data, line.len_bytes);
		ifp_buf_append_text(out, "\n");
		ifp_buf_clear(&line);
	}
	if (!ifp_run_ledger_count(run))
		ifp_buf_append_text(out, "      nothing\n");
}
