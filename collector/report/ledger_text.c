/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/report.h"

#include "collector/report/words.h"
#include "core/array.h"

#include <inttypes.h>
#include <stdlib.h>
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

/* The ranks of rows that are alike, rising: there may be one for each rank, and groups as many. */
struct ranks {
	uint32_t *items;
	size_t count, capacity;
};

static void ranks_free(struct ranks *ranks)
{
	free(ranks->items);
}

static int compare_rank(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool has_rank(const void *context, uint32_t rank)
{
	const struct ranks *ranks = context;

	return bsearch(&rank, ranks->items, ranks->count, sizeof(rank), compare_rank) != NULL;
}

/* Of the rows like row i, none of which stands before it: their ranks, and the sum of counts. */
static int collect(const struct ifp_run *run, uint32_t i, struct ranks *ranks, int64_t *sum)
{
	const struct ifp_ledger_row *like = ifp_run_ledger(run, i);
	int err = 0;

	for (uint32_t j = i; j < ifp_run_ledger_count(run) && !err; j++) {
		const struct ifp_ledger_row *row = ifp_run_ledger(run, j);

		if (!alike(row, like))
			continue;
		if (__builtin_add_overflow(*sum, row->count, sum))
			*sum = INT64_MAX;
		if (row->rank == IFP_FRAME_NO_RANK)
			continue;
		err = IFP_ARRAY_RESERVE(ranks->items, ranks->capacity, ranks->count, 1, "ranks");
		if (!err)
			ranks->items[ranks->count++] = row->rank;
	}
	if (ranks->count)
		qsort(ranks->items, ranks->count, sizeof(*ranks->items), compare_rank);
	return err;
}

static void append_group(struct ifp_buf *out, const struct ifp_run *run, uint32_t i)
{
	const struct ifp_ledger_row *like = ifp_run_ledger(run, i);
	IFP_CLEANUP(ranks_free) struct ranks ranks = {0};
	int64_t sum = 0;

	out->failed |= collect(run, i, &ranks, &sum) < 0;
	ifp_buf_append_text(out, like->what);
	if (sum)
		ifp_buf_printf(out, " %" PRId64, sum);
	if (ranks.count) {
		ifp_buf_append_text(out, ", ");
		ifp_words_ranks(out, ranks.items[ranks.count - 1] + 1, has_rank, &ranks);
	}
	ifp_buf_printf(out, ": %s", like->why);
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
