/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/account.h"

#include "core/array.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Of slices for which IFP_MAX_SUBLANES are not enough. */
#define CROWDED "64 or more others on their lane"

static int add_row(const struct ifp_account *account, uint32_t rank, const char *what,
	uint64_t count, struct ifp_buf *why)
{
	int err;

	ifp_buf_append_u8(why, 0);
	err = ifp_buf_status(why);
	if (err || !count)
		return err;
	return ifp_run_ledger_add(account->run, &(struct ifp_ledger_row){
							.rank = rank,
							.what = what,
							.count = (int64_t)count,
							.why = (const char *)why->data,
						});
}

int ifp_account_left_out(const struct ifp_account *account, const struct ifp_run_rank *rank,
	const char *label, uint64_t count, const char *why)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};

	ifp_buf_printf(&text, "%s: %s", label, why);
	return add_row(account, rank->rank, "timeline-left-out", count, &text);
}

int ifp_account_scene(const struct ifp_account *account, const struct ifp_scene *scene)
{
	const struct ifp_run_rank *rank = scene->view.rank;
	const struct ifp_sink *sink = account->sink;
	int err = ifp_account_left_out(account, rank, sink->label,
		sink->no_folds ? scene->slices.crowded : 0, IFP_TIMELINE_CROWDED);

	if (!err)
		err = ifp_account_left_out(account, rank, sink->label_of_all, scene->view.misplaced,
			rank->imported ? IFP_TIMELINE_MISPLACED
				       : "the time is more than a year away from the run's");
	if (!err)
		err = ifp_account_left_out(account, rank, sink->label, scene->flows.halves,
			"halves of arrows whose other half was not recorded, and steps of "
			"arrows");
	if (!err)
		err = ifp_account_left_out(account, rank, sink->label, scene->unpictured,
			"halves of slices whose other half was not recorded, and events of kinds "
			"that have no picture");
	return err;
}

int ifp_account_folded(struct ifp_account *account, struct ifp_str category, uint64_t count)
{
	size_t before = account->folded_capacity;
	uint32_t id;
	int err;

	if (!count)
		return 0;
	err = ifp_intern(&account->categories, category, &id);
	if (!err)
		err = IFP_ARRAY_RESERVE(
			account->folded, account->folded_capacity, id, 1, "categories");
	if (err)
		return err;
	if (account->folded_capacity > before)
		memset(account->folded + before, 0,
			(account->folded_capacity - before) * sizeof(*account->folded));
	account->folded[id] += count;
	return 0;
}

/* As a user writes it behind --budget. */
static void append_bytes(struct ifp_buf *out, uint64_t bytes)
{
	if (bytes && bytes % 1000000000 == 0)
		ifp_buf_printf(out, "%" PRIu64 "GB", bytes / 1000000000);
	else if (bytes && bytes % 1000000 == 0)
		ifp_buf_printf(out, "%" PRIu64 "MB", bytes / 1000000);
	else if (bytes && bytes % 1000 == 0)
		ifp_buf_printf(out, "%" PRIu64 "KB", bytes / 1000);
	else
		ifp_buf_printf(out, "%" PRIu64, bytes);
}

static void append_budget(struct ifp_buf *out, const struct ifp_budget *budget)
{
	if (budget->bytes) {
		ifp_buf_append_text(out, "--budget ");
		append_bytes(out, budget->bytes);
	}
	if (budget->events)
		ifp_buf_printf(
			out, "%s--max-events %" PRIu64, budget->bytes ? ", " : "", budget->events);
}

/* How many of a rank's events are in folds for the budget. */
struct ifp_account_rank {
	uint32_t rank;
	uint64_t folded;
};

/* What they are is known when all ranks have been drawn. */
static int note_folded(struct ifp_account *account, uint32_t rank, uint64_t folded)
{
	int err;

	if (!folded)
		return 0;
	err = IFP_ARRAY_RESERVE(
		account->ranks, account->rank_capacity, account->rank_count, 1, "ranks");
	if (!err)
		account->ranks[account->rank_count++] = (struct ifp_account_rank){rank, folded};
	return err;
}

int ifp_account_rank(struct ifp_account *account, const struct ifp_run_rank *rank,
	const struct ifp_rank_account *of_rank)
{
	IFP_CLEANUP_BUF struct ifp_buf why = {0};
	int err;

	account->shown += of_rank->shown;
	account->recorded += of_rank->recorded;
	account->crowded += of_rank->crowded;
	account->arrows += of_rank->arrows;
	ifp_buf_printf(&why, "%s: they overlap " CROWDED, account->sink->label);
	err = add_row(account, rank->rank, "timeline-folded", of_rank->crowded, &why);
	if (err)
		return err;
	return note_folded(
		account, rank->rank, of_rank->recorded - of_rank->shown - of_rank->crowded);
}

static int add_ranks(const struct ifp_account *account)
{
	int err = 0;

	for (size_t i = 0; i < account->rank_count && !err; i++) {
		IFP_CLEANUP_BUF struct ifp_buf why = {0};

		ifp_buf_printf(&why, "%s: ", account->sink->label);
		ifp_level_text(account->level, account->kinds, &why);
		ifp_buf_append_text(&why, " within ");
		append_budget(&why, &account->sink->budget);
		err = add_row(account, account->ranks[i].rank, "timeline-folded",
			account->ranks[i].folded, &why);
	}
	return err;
}

static int add_categories(struct ifp_account *account)
{
	int err = 0;

	for (uint32_t i = 0; i < account->categories.count && !err; i++) {
		IFP_CLEANUP_BUF struct ifp_buf why = {0};
		struct ifp_str text = ifp_intern_text(&account->categories, i);

		ifp_buf_printf(&why, "%s: of them, those of category \"" IFP_STR_FORMAT "\"",
			account->sink->label, IFP_STR_ARGS(text));
		err = add_row(account, IFP_FRAME_NO_RANK, "timeline-folded-by-category",
			account->folded[i], &why);
	}
	return err;
}

static int add_arrows(struct ifp_account *account)
{
	IFP_CLEANUP_BUF struct ifp_buf why = {0};

	if (account->sink->no_folds) {
		ifp_buf_printf(
			&why, "%s: arrows from or to what is left out", account->sink->label);
		return add_row(
			account, IFP_FRAME_NO_RANK, "timeline-left-out", account->arrows, &why);
	}
	ifp_buf_printf(&why, "%s: arrows from or to what is folded", account->sink->label);
	return add_row(account, IFP_FRAME_NO_RANK, "timeline-folded-arrows", account->arrows, &why);
}

int ifp_account_end(struct ifp_account *account, struct ifp_shown *shown)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	int err = add_ranks(account);

	if (!err)
		err = add_categories(account);
	if (!err)
		err = add_arrows(account);
	*shown = (struct ifp_shown){.events = account->shown, .recorded = account->recorded};
	if (err || (account->level == IFP_LEVEL_FULL && !account->crowded))
		return err;
	append_budget(&text, &account->sink->budget);
	ifp_buf_printf(&text, "%s%" PRIu64 " of %" PRIu64 " events are shown",
		text.len_bytes ? ": " : "", account->shown, account->recorded);
	if (account->level != IFP_LEVEL_FULL) {
		ifp_buf_append_text(&text, ", ");
		ifp_level_text(account->level, account->kinds, &text);
	}
	if (account->crowded)
		ifp_buf_printf(&text,
			", %" PRIu64 " that overlap " CROWDED " are folded whatever the budget",
			account->crowded);
	ifp_buf_append_u8(&text, 0);
	snprintf(shown->text, sizeof(shown->text), "%s", text.data ? (const char *)text.data : "");
	return ifp_buf_status(&text);
}

void ifp_account_clocks(const struct ifp_run *run, struct ifp_buf *out)
{
	uint32_t unaligned = 0, drawn = 0, first = 0;

	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++) {
		const struct ifp_run_rank *rank = ifp_run_rank(run, i);

		if (!rank->map)
			continue;
		drawn++;
		if (ifp_clock_map_summary(rank->map).method != IFP_CLOCK_UNALIGNED)
			continue;
		if (!unaligned++)
			first = rank->rank;
	}
	if (!unaligned)
		return;
	ifp_buf_append_text(out, "NOT ALIGNED: ");
	if (unaligned == drawn)
		ifp_buf_append_text(out, "all ranks");
	else
		ifp_buf_printf(out, "%" PRIu32 " of %" PRIu32 " ranks (first: rank %" PRIu32 ")",
			unaligned, drawn, first);
	ifp_buf_append_text(out, " placed by wall clocks");
}

int ifp_account_too_little(const struct ifp_budget *budget, struct ifp_size least, uint32_t ranks)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};
	bool bytes = budget->bytes && (uint64_t)least.bytes > budget->bytes;

	append_budget(&text, budget);
	ifp_buf_printf(&text, " is less than a timeline of %" PRIu32 " rank%s needs: give %s ",
		ranks, ranks == 1 ? "" : "s", bytes ? "--budget" : "--max-events");
	if (bytes)
		append_bytes(&text, ((uint64_t)least.bytes + 999) / 1000 * 1000);
	else
		ifp_buf_printf(&text, "%" PRId64, least.events);
	ifp_buf_append_text(&text, " or more");
	ifp_buf_append_u8(&text, 0);
	return ifp_fail(-E2BIG, "%s", text.data ? (const char *)text.data : "out of memory");
}

void ifp_account_free(struct ifp_account *account)
{
	ifp_intern_free(&account->categories);
	free(account->folded);
	free(account->ranks);
}
