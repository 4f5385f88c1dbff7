/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file is which rank. A way of telling ranks makes a claim for each file, or none. It is
 * taken when it names every file, each another rank; next best is one that names some. Two files
 * that claim one rank spoil a way for the whole set: its other claims are not trusted either.
 */
#include "collector/import/notes.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define WHAT "trace-identity"
#define NONE IFP_FRAME_NO_RANK

/* "rank0", "rank-34", "rank_not_found" (none) */
#define NAME_PATTERN "(^|[^[:alpha:]])rank[-_.=]?([0-9]+)"

/* One way of telling ranks, and what it says of each file with events. */
struct way {
	const char *name;
	uint32_t *claims;
	uint32_t named;	  /* files with a claim */
	uint32_t twice;	  /* a rank that two files claim; NONE = there is none */
	uint32_t highest; /* rank claimed */
};

struct ways {
	struct way stated, named, order, asked;
};

/* The files that become ranks, in order of the list. */
struct ranked {
	struct ifp_import *import;
	struct ifp_import_file **files;
	uint32_t count;
};

static int compare_claims(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* Fills the counts of a way from its claims. */
static int weigh(struct way *way, uint32_t count)
{
	IFP_CLEANUP_FREE uint32_t *sorted = calloc(count, sizeof(*sorted));

	if (!sorted)
		return ifp_fail(-ENOMEM, "no memory for the ranks of %u files", count);
	memcpy(sorted, way->claims, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_claims);
	way->named = way->highest = 0;
	way->twice = NONE;
	for (uint32_t i = 0; i < count && sorted[i] != NONE; i++) {
		way->named++;
		way->highest = sorted[i];
		if (i && sorted[i] == sorted[i - 1])
			way->twice = sorted[i];
	}
	return 0;
}

/* A number in a group of a match, below IFP_IMPORT_RANK_LIMIT; NONE otherwise. */
static uint32_t number_in(const char *text, const regmatch_t *group)
{
	uint32_t value = 0;

	if (group->rm_so < 0 || group->rm_so == group->rm_eo)
		return NONE;
	for (regoff_t i = group->rm_so; i < group->rm_eo; i++) {
		if (text[i] < '0' || text[i] > '9')
			return NONE;
		value = value * 10 + (uint32_t)(text[i] - '0');
		if (value >= IFP_IMPORT_RANK_LIMIT)
			return NONE;
	}
	return value;
}

static uint32_t match_rank(const regex_t *expression, const char *text, size_t group)
{
	regmatch_t groups[3];

	if (regexec(expression, text, IFP_ARRAY_SIZE(groups), groups, 0))
		return NONE;
	return number_in(text, &groups[group]);
}

/* By the file's name or, where that has no rank, by its directory's (rank3/trace.json). */
static uint32_t rank_in_path(const regex_t *expression, const struct ifp_import_file *file)
{
	size_t length = (size_t)(file->name - file->path);
	IFP_CLEANUP_FREE char *directory = NULL;
	uint32_t rank = match_rank(expression, file->name, 2);
	const char *slash;

	if (rank != NONE || length < 2)
		return rank;
	directory = strndup(file->path, length - 1);
	if (!directory)
		return NONE;
	slash = strrchr(directory, '/');
	return match_rank(expression, slash ? slash + 1 : directory, 2);
}

static int claim_by_name(const struct ranked *ranked, struct way *way)
{
	regex_t expression;

	if (regcomp(&expression, NAME_PATTERN, REG_EXTENDED | REG_ICASE))
		return ifp_fail(-ENOMEM, "no memory for an expression");
	for (uint32_t i = 0; i < ranked->count; i++)
		way->claims[i] = rank_in_path(&expression, ranked->files[i]);
	regfree(&expression);
	return weigh(way, ranked->count);
}

/* On success the expression is the caller's, for regfree(). */
static int compile_rank_from(const char *text, regex_t *expression)
{
	char message[128];
	int err = regcomp(expression, text, REG_EXTENDED);

	if (err) {
		regerror(err, expression, message, sizeof(message));
		return ifp_fail(-EINVAL, "--rank-from \"%s\": %s", text, message);
	}
	if (expression->re_nsub)
		return 0;
	regfree(expression);
	return ifp_fail(
		-EINVAL, "--rank-from \"%s\" has no group in parentheses for the rank", text);
}

int ifp_import_check_rank_from(const char *rank_from)
{
	regex_t expression;
	int err = compile_rank_from(rank_from, &expression);

	if (!err)
		regfree(&expression);
	return err;
}

static int claim_by_expression(const struct ranked *ranked, const char *text, struct way *way)
{
	regex_t expression;
	int err = compile_rank_from(text, &expression);

	if (err)
		return err;
	for (uint32_t i = 0; i < ranked->count; i++)
		way->claims[i] = match_rank(&expression, ranked->files[i]->path, 1);
	regfree(&expression);
	return weigh(way, ranked->count);
}

/* What the files state counts only where they agree about the size of the job. */
static int claim_by_statement(const struct ranked *ranked, struct way *way, int64_t *world)
{
	bool agree = true;

	*world = -1;
	for (uint32_t i = 0; i < ranked->count; i++) {
		const struct ifp_import_file *file = ranked->files[i];
		int64_t rank = file->stated_rank;

		way->claims[i] = rank >= 0 && rank < IFP_IMPORT_RANK_LIMIT ? (uint32_t)rank : NONE;
		if (file->stated_world < 1)
			continue;
		agree = agree && (*world < 0 || *world == file->stated_world) &&
			rank < file->stated_world;
		*world = file->stated_world;
	}
	if (!agree || *world > IFP_IMPORT_RANK_LIMIT)
		*world = -1;
	if (agree)
		return weigh(way, ranked->count);
	memset(way->claims, 0xff, ranked->count * sizeof(*way->claims));
	way->twice = NONE;
	return ifp_import_note(&ranked->import->notes, WHAT, 0, true,
		"the traces state different numbers of ranks in distributedInfo, which is not "
		"believed");
}

static void claim_by_order(const struct ranked *ranked, struct way *way)
{
	for (uint32_t i = 0; i < ranked->count; i++)
		way->claims[i] = i;
	way->named = ranked->count;
	way->highest = ranked->count - 1;
	way->twice = NONE;
}

static bool is_whole(const struct way *way, uint32_t count)
{
	return way->named == count && way->twice == NONE;
}

static bool is_part(const struct way *way)
{
	return way->named && way->twice == NONE;
}

/* Says where a way cannot be followed because two files claim one rank. */
static int note_conflict(const struct ranked *ranked, const struct way *way)
{
	const char *names[2] = {"", ""};
	uint32_t found = 0;

	for (uint32_t i = 0; i < ranked->count && found < 2; i++)
		if (way->claims[i] == way->twice)
			names[found++] = ranked->files[i]->label;
	return ifp_import_note(&ranked->import->notes, WHAT, 0, true,
		"%s and %s are both rank %" PRIu32 " by %s, which is not believed", names[0],
		names[1], way->twice, way->name);
}

/* Numbers the files without a claim behind all others, and says so. */
static int take(struct ranked *ranked, const struct way *way)
{
	struct ifp_import *import = ranked->import;
	uint32_t next = way->highest + 1 > import->world ? way->highest + 1 : import->world;
	int err = 0;

	for (uint32_t i = 0; i < ranked->count && !err; i++) {
		struct ifp_import_file *file = ranked->files[i];

		file->rank = way->claims[i];
		if (file->rank != NONE)
			continue;
		file->rank = next++;
		err = ifp_import_note(&import->notes, WHAT, 0, true,
			"%s has no rank by %s: it is shown as rank %" PRIu32 ", behind the others",
			file->label, way->name, file->rank);
	}
	if (import->world < way->highest + 1)
		import->world = way->highest + 1;
	if (import->world < next && way->named < ranked->count)
		import->world = next;
	return err;
}

/* The names say one thing and the traces another: the names hold, and the user is told. */
static int note_contradiction(
	const struct ranked *ranked, const struct way *taken, const struct way *stated)
{
	for (uint32_t i = 0; i < ranked->count; i++) {
		if (stated->claims[i] == NONE || taken->claims[i] == NONE ||
			stated->claims[i] == taken->claims[i])
			continue;
		return ifp_import_note(&ranked->import->notes, WHAT, 0, true,
			"%s is rank %" PRIu32 " by %s, but states that it is rank %" PRIu32,
			ranked->files[i]->label, taken->claims[i], taken->name, stated->claims[i]);
	}
	return 0;
}

/* The ways that nobody has asked for, best first; order is the last resort. */
static const struct way *choose(
	const struct way *stated, const struct way *named, const struct way *order, uint32_t count)
{
	if (is_whole(stated, count))
		return stated;
	if (is_whole(named, count))
		return named;
	if (is_part(stated))
		return stated;
	return is_part(named) ? named : order;
}

static int claim_all(struct ranked *ranked, const struct ifp_import_options *options,
	struct ways *ways, int64_t *world)
{
	int err = claim_by_statement(ranked, &ways->stated, world);

	if (!err)
		err = claim_by_name(ranked, &ways->named);
	if (!err && options->rank_from)
		err = claim_by_expression(ranked, options->rank_from, &ways->asked);
	claim_by_order(ranked, &ways->order);
	return err;
}

/* That nobody knows, with what was tried. */
static int note_order(const struct ranked *ranked, const struct ifp_import_options *options,
	const struct ways *ways)
{
	struct ifp_import_notes *notes = &ranked->import->notes;

	if (options->rank_from && !ways->asked.named)
		return ifp_import_note(notes, WHAT, 0, true,
			"--rank-from \"%s\" finds a number in no path, not in %s either: the files "
			"are numbered in the order of their names (--in-order tells that it is so)",
			options->rank_from, ranked->files[0]->utf8_path);
	return ifp_import_note(notes, WHAT, 0, true,
		"the ranks of the files are not known %s: they are numbered in the "
		"order of the file names (%s--in-order tells them)",
		options->rank_from ? "by --rank-from"
				   : "by distributedInfo or \"rank\" and a number in their names",
		options->rank_from ? "" : "--rank-from or ");
}

/* Why the taken way is not the one that a user would expect. */
static int note_choice(struct ranked *ranked, const struct ifp_import_options *options,
	const struct ways *ways, const struct way *taken)
{
	const struct way *expected = options->rank_from ? &ways->asked : &ways->stated;
	int err = 0;

	if (options->in_order)
		return 0;
	if (expected->twice != NONE)
		err = note_conflict(ranked, expected);
	if (!err && taken == &ways->order && ways->named.twice != NONE)
		err = note_conflict(ranked, &ways->named);
	if (!err && taken == &ways->order && (ranked->count > 1 || options->rank_from))
		err = note_order(ranked, options, ways);
	if (!err && taken != &ways->order && ways->stated.twice == NONE)
		err = note_contradiction(ranked, taken, &ways->stated);
	return err;
}

static int follow(
	struct ranked *ranked, const struct ifp_import_options *options, struct ways *ways)
{
	const struct way *taken = &ways->order;
	int64_t world;
	int err = claim_all(ranked, options, ways, &world);

	if (err)
		return err;
	if (options->rank_from && is_part(&ways->asked))
		taken = &ways->asked;
	else if (!options->rank_from && !options->in_order)
		taken = choose(&ways->stated, &ways->named, &ways->order, ranked->count);
	if (world > 0 && (taken != &ways->order || options->in_order))
		ranked->import->world = (uint32_t)world;
	err = note_choice(ranked, options, ways, taken);
	return err ? err : take(ranked, taken);
}

static int note_missing(struct ifp_import *import, const struct ranked *ranked)
{
	uint32_t missing = import->world - ranked->count;

	if (!missing)
		return 0;
	return ifp_import_note(&import->notes, NULL, missing, true,
		"%" PRIu32 " of the %" PRIu32 " ranks of the job are missing: no file is theirs",
		missing, import->world);
}

static int compare_ranks(const void *a, const void *b)
{
	const struct ifp_import_file *left = a, *right = b;

	if (left->rank != right->rank)
		return left->rank > right->rank ? 1 : -1;
	return strcmp(left->path, right->path);
}

int ifp_import_identify(struct ifp_import *import, const struct ifp_import_options *options)
{
	size_t count = import->file_count;
	IFP_CLEANUP_FREE struct ifp_import_file **files = calloc(count, sizeof(*files));
	IFP_CLEANUP_FREE uint32_t *claims = calloc(count, 4 * sizeof(*claims));
	struct ranked ranked = {.import = import, .files = files};
	struct ways ways = {.stated = {.name = "distributedInfo", .claims = claims},
		.named = {.name = "the file names", .claims = claims + count},
		.order = {.name = "the order of the file names", .claims = claims + 2 * count},
		.asked = {.name = "--rank-from", .claims = claims + 3 * count}};
	int err;

	if (!files || !claims)
		return ifp_fail(-ENOMEM, "no memory for the ranks of %zu files", count);
	for (size_t i = 0; i < count; i++)
		if (import->files[i].events)
			files[ranked.count++] = &import->files[i];
	if (!ranked.count)
		return ifp_fail(-EINVAL, "no file holds an event%s%s",
			import->files[0].notes.count ? ": " : "",
			import->files[0].notes.count ? import->files[0].notes.items[0].why : "");
	err = follow(&ranked, options, &ways);
	if (!err)
		err = note_missing(import, &ranked);
	if (!err)
		qsort(import->files, count, sizeof(*import->files), compare_ranks);
	return err;
}
