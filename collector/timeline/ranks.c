/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/ranks.h"

#include "collector/timeline/analysis.h"
#include "collector/timeline/cut.h"
#include "collector/timeline/ranks_note.h"
#include "collector/timeline/ranks_plan.h"
#include "collector/timeline/sheet.h"
#include "core/buf.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "core/str.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ranks are sorted as text by the plug-in: equal widths keep their order. */
#define RANK_DIGITS 4

/* Of files that are whole, while others are not: no viewer looks at such a name. */
#define WAITING_SUFFIX ".pt.trace.waiting.gz"

struct ranks {
	struct ifp_run *run;
	const char *output_dir;
	const struct ifp_timeline_wish *wish;
	struct ifp_timeline_limits limits; /* INT64_MAX = none */
	char suffix[64], waiting[64];	   /* of the files of this run; while they wait */
	struct ifp_cut cut;
	struct ifp_ranks_cost cost;
	struct ifp_ranks_plan plan;
	uint32_t *places; /* in the run, of those that get a file: by preference, then rising */
};

/* A host's name as part of a file's name, in which dots and slashes have a meaning. */
static void append_host(struct ifp_buf *out, const char *host)
{
	for (const char *p = host && *host ? host : "host"; *p; p++)
		ifp_buf_append_u8(out, isalnum((unsigned char)*p) || *p == '-' ? (uint8_t)*p : '-');
}

static int draw_rank(const struct ranks *ranks, uint32_t i, struct ifp_timeline_result *result)
{
	IFP_CLEANUP_BUF struct ifp_buf path = {0};
	const struct ifp_run_rank *rank = ifp_run_rank(ranks->run, i);
	struct ifp_timeline_file file = {0};
	bool written = false;
	int err;

	ifp_buf_printf(&path, "%s/ranks/", ranks->output_dir);
	append_host(&path, rank->host);
	ifp_buf_printf(&path, "_%0*" PRIu32 "%s", RANK_DIGITS, rank->rank, ranks->waiting);
	ifp_buf_append_u8(&path, 0);
	err = ifp_buf_status(&path);
	if (!err)
		err = ifp_analysis_write(ranks->run, i, &ranks->cut, ranks->plan.detail,
			(const char *)path.data, &written, &file);
	if (err || !written)
		return err;
	err = ifp_timeline_result_add(result, &file);
	if (err)
		free(file.path);
	return err;
}

/* Places of the ranks that the caller holds for the most important; NULL without memory. */
static uint32_t *first_places(const struct ranks *ranks, uint32_t *count)
{
	const struct ifp_timeline_wish *wish = ranks->wish;
	uint32_t *places = calloc(wish->first_rank_count + 1u, sizeof(*places));

	*count = 0;
	for (uint32_t k = 0; places && k < wish->first_rank_count; k++)
		for (uint32_t i = 0; i < ifp_run_rank_count(ranks->run); i++)
			if (ifp_run_rank(ranks->run, i)->rank == wish->first_ranks[k])
				places[(*count)++] = i;
	return places;
}

/* As many as there may be files, the one that matters most first. */
static int prefer_ranks(struct ranks *ranks)
{
	const struct ifp_cut *cut = &ranks->cut;
	int64_t most = ranks->limits.ranks_files;
	uint32_t first_count;
	IFP_CLEANUP_FREE uint32_t *first = first_places(ranks, &first_count);

	ranks->plan.ranks = most < (int64_t)cut->rank_count ? (uint32_t)most : cut->rank_count;
	ranks->places = calloc(cut->rank_count + 1u, sizeof(*ranks->places));
	if (!ranks->places || !first)
		return ifp_fail(-ENOMEM, "out of memory for %u ranks", cut->rank_count);
	return ifp_ranks_prefer(
		cut->ranks, cut->rank_count, first, first_count, ranks->plan.ranks, ranks->places);
}

static int compare_place(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static uint64_t most_bytes(const struct ranks *ranks)
{
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < ranks->plan.ranks; k++) {
		const uint32_t *found = bsearch(&ranks->places[k], ranks->cut.ranks,
			ranks->cut.rank_count, sizeof(*found), compare_place);

		bytes += ranks->cut.most_bytes[found - ranks->cut.ranks];
	}
	return bytes;
}

static int make_plan(struct ranks *ranks)
{
	const struct ifp_cut *cut = &ranks->cut;
	const struct ifp_ranks_steps steps = {cut->numbers, cut->length_ns, cut->count};
	uint64_t budget_bytes = (uint64_t)ranks->limits.ranks_bytes;
	int err;

	ranks->plan.steps = cut->count;
	if (most_bytes(ranks) <= budget_bytes)
		return 0; /* whatever it is exactly */
	err = ifp_ranks_cost_new(ranks->plan.ranks, cut->by_steps ? cut->count : 1, &ranks->cost);
	for (uint32_t k = 0; k < ranks->cost.ranks && !err; k++)
		err = ifp_analysis_measure(ranks->run, ranks->places[k], cut, &ranks->cost, k);
	return err ? err : ifp_ranks_plan_make(&ranks->cost, &steps, budget_bytes, &ranks->plan);
}

static bool is_planned(const struct ranks *ranks, uint32_t place)
{
	return bsearch(&place, ranks->places, ranks->plan.ranks, sizeof(place), compare_place);
}

/* A row for every rank that could have a file and has none. */
static int account_ranks(const struct ranks *ranks)
{
	int err = 0;

	for (uint32_t k = 0; k < ranks->cut.rank_count && !err; k++) {
		const struct ifp_run_rank *rank = ifp_run_rank(ranks->run, ranks->cut.ranks[k]);

		if (!is_planned(ranks, ranks->cut.ranks[k]))
			err = ifp_sheet_left_out(ranks->run, rank->rank, rank->event_count,
				"ranks/: no file, for the limits of ranks/");
	}
	return err;
}

static bool is_among(const struct ifp_timeline_result *result, const char *path)
{
	for (uint32_t i = 0; i < result->count; i++)
		if (!strcmp(result->files[i].path, path))
			return true;
	return false;
}

static void directory_close(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* Of an earlier drawing, or of one that was killed. */
static bool is_of_this_run(const struct ranks *ranks, const char *name)
{
	return ifp_str_ends_with(ifp_str(name), ranks->suffix) || strstr(name, ranks->waiting);
}

static int remove_others(const struct ranks *ranks, const struct ifp_timeline_result *result)
{
	IFP_CLEANUP_BUF struct ifp_buf path = {0};
	IFP_CLEANUP(directory_close) DIR *directory = NULL;
	struct dirent *entry;
	int err;

	ifp_buf_printf(&path, "%s/ranks", ranks->output_dir);
	ifp_buf_append_u8(&path, 0);
	if ((err = ifp_buf_status(&path)))
		return err;
	directory = opendir((const char *)path.data);
	if (!directory)
		return ifp_fail_errno("read %s", (const char *)path.data);
	while ((entry = readdir(directory))) {
		if (!is_of_this_run(ranks, entry->d_name))
			continue;
		ifp_buf_clear(&path);
		ifp_buf_printf(&path, "%s/ranks/%s", ranks->output_dir, entry->d_name);
		ifp_buf_append_u8(&path, 0);
		if ((err = ifp_buf_status(&path)))
			return err;
		if (!is_among(result, (const char *)path.data) && unlink((const char *)path.data))
			return ifp_fail_errno("remove %s", (const char *)path.data);
	}
	return 0;
}

/* Gives a file that waits its name. */
static int publish(const struct ranks *ranks, struct ifp_timeline_file *file)
{
	IFP_CLEANUP_FREE char *path = NULL;
	size_t kept = strlen(file->path) - strlen(ranks->waiting);

	if (asprintf(&path, "%.*s%s", (int)kept, file->path, ranks->suffix) < 0) {
		path = NULL;
		return ifp_fail(-ENOMEM, "out of memory for a path");
	}
	if (rename(file->path, path))
		return ifp_fail_errno("rename %s to %s", file->path, path);
	free(file->path);
	file->path = IFP_TAKE_PTR(path);
	return 0;
}

/*
 * Of some ranks alone, the plug-in would compare those as if they were all: files get their names
 * when the last one is whole. A failure before leaves what an earlier drawing has made.
 */
static int draw_planned(struct ranks *ranks, struct ifp_timeline_result *result)
{
	uint32_t first = result->count;
	int err = 0;

	if (ranks->cut.by_steps && ranks->plan.ranks)
		ifp_cut_reduce(&ranks->cut, ranks->plan.first_step, ranks->plan.steps);
	for (uint32_t k = 0; k < ranks->plan.ranks && !err; k++)
		err = draw_rank(ranks, ranks->places[k], result);
	for (uint32_t i = first; err && i < result->count; i++)
		unlink(result->files[i].path);
	for (uint32_t i = first; !err && i < result->count; i++)
		err = publish(ranks, &result->files[i]);
	result->common_steps = ranks->plan.ranks ? ranks->cut.count : 0;
	return err ? err : remove_others(ranks, result);
}

static void ranks_free(struct ranks *ranks)
{
	ifp_cut_free(&ranks->cut);
	ifp_ranks_cost_free(&ranks->cost);
	free(ranks->places);
}

/* 0 = none, as the user writes it. */
static int64_t limit_of(int64_t value)
{
	return value ? value : INT64_MAX;
}

int ifp_ranks_draw(struct ifp_run *run, const char *output_dir, int64_t span_ms,
	const struct ifp_timeline_wish *wish, struct ifp_timeline_result *result)
{
	IFP_CLEANUP(ranks_free)
	struct ranks ranks = {.run = run, .output_dir = output_dir, .wish = wish};
	int err;

	ranks.limits.ranks_bytes = limit_of(wish->limits.ranks_bytes);
	ranks.limits.ranks_files = limit_of(wish->limits.ranks_files);
	snprintf(ranks.suffix, sizeof(ranks.suffix), ".%" PRId64 IFP_TIMELINE_SUFFIX, span_ms);
	snprintf(ranks.waiting, sizeof(ranks.waiting), ".%" PRId64 WAITING_SUFFIX, span_ms);
	err = ifp_cut_find(run, &ranks.cut);
	if (!err)
		err = prefer_ranks(&ranks);
	if (!err)
		err = make_plan(&ranks);
	if (err)
		return err;
	qsort(ranks.places, ranks.plan.ranks, sizeof(*ranks.places), compare_place);
	err = ifp_ranks_note(run, &ranks.cut, &ranks.plan, ranks.places, &ranks.limits);
	if (!err)
		err = account_ranks(&ranks);
	return err ? err : draw_planned(&ranks, result);
}
