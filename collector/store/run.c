/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/store/run_internal.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows for missing ranks one by one up to here; what goes beyond is one row. */
#define MISSING_RANK_ROWS 32u

int ifp_run_ledger_add(struct ifp_run *run, const struct ifp_ledger_row *row)
{
	struct ifp_ledger_row *copy = ifp_arena_alloc(&run->arena, sizeof(*copy));
	int err = IFP_ARRAY_RESERVE(
		run->ledger, run->ledger_capacity, run->ledger_count, 1, "rows of the ledger");

	if (err)
		return err;
	if (copy) {
		*copy = *row;
		copy->what = ifp_arena_copy(&run->arena, ifp_str(row->what)).ptr;
		copy->why = ifp_arena_copy(&run->arena, ifp_str(row->why)).ptr;
	}
	if (!copy || !copy->what || !copy->why)
		return ifp_fail(-ENOMEM, "add to the ledger: %s", row->what);
	run->ledger[run->ledger_count++] = copy;
	return 0;
}

int ifp_run_ledger_printf(struct ifp_run *run, uint32_t rank, const char *what, int64_t count,
	const char *why_format, ...)
{
	IFP_CLEANUP_FREE char *why = NULL;
	va_list args;
	int len;

	va_start(args, why_format);
	len = vasprintf(&why, why_format, args);
	va_end(args);
	if (len < 0) {
		why = NULL;
		return ifp_fail(-ENOMEM, "add to the ledger: %s", what);
	}
	return ifp_run_ledger_add(run, &(struct ifp_ledger_row){rank, what, count, why});
}

static void free_member(struct ifp_run_member *member)
{
	ifp_clock_samples_free(&member->samples);
	free(member->blocks);
	free(member->gpus);
	free(member->gpu_cuts);
}

/* A rank of which only the collector spoke ("not started") is not there. */
static void drop_empty_members(struct ifp_run *run)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < run->member_count; i++) {
		struct ifp_run_member *member = &run->members[i];

		if (member->seen.document || member->block_count || member->samples.tuple_count)
			run->members[kept++] = *member;
		else
			free_member(member);
	}
	run->member_count = kept;
}

static void find_world(struct ifp_run *run)
{
	int64_t world = 0;
	uint32_t least = 0;

	ifp_document_get_int(run->document, "world", &world);
	for (uint32_t i = 0; i < run->member_count; i++) {
		if (world < 1)
			ifp_document_get_int(run->members[i].seen.document, "world", &world);
		least = run->members[i].seen.rank + 1;
	}
	if (world > IFP_RUN_WORLD_MAX)
		world = IFP_RUN_WORLD_MAX;
	run->world = world > least ? (uint32_t)world : least;
}

/* Empty where the rank's document is lost: such a rank shares its clock with nobody. */
static struct ifp_clock_identity read_identity(const struct ifp_run_rank *rank)
{
	struct ifp_clock_identity identity = {0};
	const char *boot_id = ifp_document_get_text(rank->document, "boot_id");

	if (boot_id)
		snprintf(identity.boot_id, sizeof(identity.boot_id), "%s", boot_id);
	identity.time_namespace = ifp_document_get_count(rank->document, "time_namespace");
	return identity;
}

/* An imported rank has no readings of clocks: the moments of its first and last event stand for it.
 */
static int place_imported(struct ifp_run_member *member, struct ifp_clock_rank *rank)
{
	const cJSON *imported = cJSON_GetObjectItemCaseSensitive(member->seen.document, "imported");
	struct ifp_clock_samples *samples = &member->samples;
	int64_t first_ns, last_ns;
	int err;

	if (samples->tuple_count || !ifp_document_get_int(imported, "first_ns", &first_ns) ||
		!ifp_document_get_int(imported, "last_ns", &last_ns))
		return 0;
	err = IFP_ARRAY_RESERVE(samples->tuples, member->tuple_capacity, 0, 2, "readings");
	if (err)
		return err;
	samples->tuples[samples->tuple_count++] =
		(struct ifp_clock_tuple){.raw_ns = first_ns, .realtime_ns = first_ns};
	if (last_ns > first_ns)
		samples->tuples[samples->tuple_count++] =
			(struct ifp_clock_tuple){.raw_ns = last_ns, .realtime_ns = last_ns};
	rank->drawn_first_ns = first_ns;
	rank->drawn_last_ns = last_ns;
	ifp_document_get_int(imported, "drawn_first_ns", &rank->drawn_first_ns);
	ifp_document_get_int(imported, "drawn_last_ns", &rank->drawn_last_ns);
	member->seen.imported = imported;
	member->seen.first_ns = first_ns;
	member->seen.last_ns = last_ns;
	rank->unmeasured = true;
	return 0;
}

static int solve_clocks(struct ifp_run *run)
{
	IFP_CLEANUP_FREE struct ifp_clock_rank *ranks =
		calloc((size_t)run->member_count + 1, sizeof(*ranks));
	bool has_base = false;
	int err;

	if (!ranks)
		return ifp_fail(-ENOMEM, "solve the clocks of %u ranks", run->member_count);
	for (uint32_t i = 0; i < run->member_count; i++) {
		struct ifp_run_member *member = &run->members[i];

		ranks[i] = (struct ifp_clock_rank){.rank = member->seen.rank,
			.identity = read_identity(&member->seen),
			.samples = &member->samples};
		err = place_imported(member, &ranks[i]);
		if (err)
			return err;
	}
	err = ifp_clock_solve(ranks, run->member_count, &run->solution);
	if (err)
		return ifp_fail(err, "solve the clocks of %u ranks", run->member_count);
	for (uint32_t i = 0; i < run->member_count; i++) {
		struct ifp_run_member *member = &run->members[i];
		ifp_global_ns first;

		member->seen.map = ifp_clock_solution_map(run->solution, i);
		if (!member->seen.map)
			continue;
		first = ifp_clock_map_global(member->seen.map,
			ranks[i].unmeasured ? IFP_CLOCK_REALTIME : IFP_CLOCK_RAW,
			member->samples.tuples[0].raw_ns);
		if (!has_base || first.ns < run->base.ns)
			run->base = first;
		has_base = true;
	}
	return 0;
}

static int report_missing_ranks(struct ifp_run *run)
{
	uint32_t missing = 0, next = 0;
	int err = 0;

	for (uint32_t rank = 0; !err && rank < run->world; rank++) {
		if (next < run->member_count && run->members[next].seen.rank == rank) {
			next++;
			continue;
		}
		if (++missing <= MISSING_RANK_ROWS)
			err = ifp_run_ledger_printf(run, rank, "rank-missing", 0,
				"nothing of rank %" PRIu32 " is in the archive", rank);
	}
	if (!err && missing > MISSING_RANK_ROWS)
		err = ifp_run_ledger_printf(run, IFP_FRAME_NO_RANK, "rank-missing",
			missing - MISSING_RANK_ROWS,
			"nothing of %" PRIu32 " further ranks is in the archive",
			missing - MISSING_RANK_ROWS);
	return err;
}

/* Ends of operations that lay before those had come that they wait for. */
static int report_repairs(struct ifp_run *run, const struct ifp_run_rank *rank)
{
	struct ifp_clock_repairs repairs = ifp_clock_map_repairs(rank->map);
	int err = 0;

	if (repairs.repaired)
		err = ifp_run_ledger_printf(run, rank->rank, "clock-moved",
			(int64_t)repairs.repaired,
			"%" PRIu64 " of %" PRIu64 " ends of operations on rank %" PRIu32
			" lay before the last rank had come: its clock was moved later there, by "
			"up to %" PRId64 " ns and inside of the bound, through %" PRId64
			" us of the run in all",
			repairs.repaired, repairs.exits, rank->rank, repairs.largest_ns,
			repairs.stretch_ns / IFP_NS_PER_US);
	if (!err && repairs.left)
		err = ifp_run_ledger_printf(run, rank->rank, "order-impossible",
			(int64_t)repairs.left,
			"%" PRIu64 " of %" PRIu64 " ends of operations on rank %" PRIu32
			" lie before the last rank has come, by up to %" PRId64
			" ns, and stay: the bound of its clock leaves no room to move it",
			repairs.left, repairs.exits, rank->rank, repairs.largest_left_ns);
	return err;
}

/* Of a trace it is told why its collectives did not do. */
static int report_unaligned(struct ifp_run *run, const struct ifp_run_member *member)
{
	const struct ifp_run_rank *rank = &member->seen;
	uint64_t collectives = member->samples.collective_count;

	if (!rank->imported)
		return ifp_run_ledger_printf(run, rank->rank, "clock-unaligned",
			(int64_t)rank->event_count,
			"the clock of rank %" PRIu32
			" was not measured against the others: it is placed by wall-clock time",
			rank->rank);
	if (!collectives)
		return ifp_run_ledger_printf(run, rank->rank, "clock-unaligned",
			(int64_t)rank->event_count,
			"the trace of rank %" PRIu32
			" has no collectives by which it could be aligned with the others (sends "
			"and receives are none): it is placed by wall-clock time",
			rank->rank);
	return ifp_run_ledger_printf(run, rank->rank, "clock-unaligned", (int64_t)rank->event_count,
		"the %" PRIu64 " collectives of rank %" PRIu32
		" do not align it: they are of groups without ranks that are here, too few of them "
		"are the others' too, or they contradict each other; it is placed by wall-clock "
		"time",
		collectives, rank->rank);
}

static int report_member(struct ifp_run *run, const struct ifp_run_member *member)
{
	const struct ifp_run_rank *rank = &member->seen;
	int err = 0;

	if (member->missing_frames)
		err = ifp_run_ledger_printf(run, rank->rank, "frames-missing",
			(int64_t)member->missing_frames,
			"%" PRIu64 " of the frames that rank %" PRIu32
			" sent are not in the archive",
			member->missing_frames, rank->rank);
	if (!err && !rank->map)
		err = ifp_run_ledger_printf(run, rank->rank, "clock-missing",
			(int64_t)rank->event_count,
			"no reading of the clocks of rank %" PRIu32
			" is in the archive: its events cannot be placed in time",
			rank->rank);
	if (!err && rank->map && ifp_clock_map_summary(rank->map).method == IFP_CLOCK_UNALIGNED)
		err = report_unaligned(run, member);
	if (!err && rank->map)
		err = report_repairs(run, rank);
	return err;
}

/* What calls of MPI could not say of a clock: a row of the first rank that reads it. */
static int report_calls(struct ifp_run *run, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(run, i);
	struct ifp_clock_calls left_out;
	int err = 0;

	if (!ifp_run_leads_clock(run, i))
		return 0;
	left_out = ifp_clock_map_summary(rank->map).calls_left_out;
	if (left_out.contradicting)
		err = ifp_run_ledger_printf(run, rank->rank, "clock-calls-unused",
			(int64_t)left_out.contradicting,
			"MPI calls contradict the exchanges of the clock of rank %" PRIu32
			": its bound is by the exchanges alone",
			rank->rank);
	if (!err && left_out.unmatched)
		err = ifp_run_ledger_printf(run, rank->rank, "clock-calls-unused",
			(int64_t)left_out.unmatched,
			"rank %" PRIu32 " has called other MPI functions in another order than the "
			"reference, or some where they are not seen: these calls say nothing of "
			"its "
			"clock",
			rank->rank);
	return err;
}

static int report_damage(struct ifp_run *run)
{
	struct ifp_archive_damage damage = ifp_archive_reader_damage(run->reader);
	int err = 0;

	if (damage.damaged_frames)
		err = ifp_run_ledger_printf(run, IFP_FRAME_NO_RANK, "archive-damaged",
			(int64_t)damage.damaged_frames,
			"%" PRIu64 " stretches of the archive, %" PRIu64
			" bytes together, are damaged and were left out",
			damage.damaged_frames, damage.damaged_bytes);
	if (!err && run->damaged_documents)
		err = ifp_run_ledger_printf(run, IFP_FRAME_NO_RANK, "archive-damaged",
			(int64_t)run->damaged_documents,
			"%" PRIu64 " documents of the archive cannot be read",
			run->damaged_documents);
	if (!err && !run->document)
		err = ifp_run_ledger_printf(run, IFP_FRAME_NO_RANK, "archive-damaged", 0,
			"the archive does not say which run it is of");
	for (uint32_t i = 0; !err && i < run->member_count; i++)
		err = report_member(run, &run->members[i]);
	for (uint32_t i = 0; !err && i < run->member_count; i++)
		err = report_calls(run, i);
	return err ? err : report_missing_ranks(run);
}

int ifp_run_open(const char *archive_path, struct ifp_run **out)
{
	IFP_CLEANUP(ifp_run_close) struct ifp_run *run = calloc(1, sizeof(*run));
	int err;

	if (!run)
		return ifp_fail(-ENOMEM, "open %s", archive_path);
	err = ifp_archive_reader_open(archive_path, &run->reader);
	if (err)
		return err;
	err = ifp_run_read_frames(run);
	if (!err) {
		drop_empty_members(run);
		find_world(run);
		err = solve_clocks(run);
	}
	if (!err)
		err = report_damage(run);
	if (err)
		return ifp_fail(err, "read the run in %s", archive_path);
	*out = IFP_TAKE_PTR(run);
	return 0;
}

void ifp_run_close(struct ifp_run **run)
{
	struct ifp_run *closed = *run;

	if (!closed)
		return;
	*run = NULL;
	ifp_clock_solution_free(&closed->solution);
	for (uint32_t i = 0; i < closed->member_count; i++)
		free_member(&closed->members[i]);
	for (uint32_t i = 0; i < closed->document_count; i++)
		cJSON_Delete(closed->documents[i]);
	ifp_archive_reader_close(&closed->reader);
	ifp_arena_free(&closed->arena);
	free(closed->members);
	free(closed->documents);
	free(closed->windows);
	free(closed->ledger);
	free(closed);
}

const cJSON *ifp_run_document(const struct ifp_run *run)
{
	return run->document;
}

struct ifp_archive_damage ifp_run_damage(const struct ifp_run *run)
{
	return ifp_archive_reader_damage(run->reader);
}

uint32_t ifp_run_rank_count(const struct ifp_run *run)
{
	return run->member_count;
}

const struct ifp_run_rank *ifp_run_rank(const struct ifp_run *run, uint32_t i)
{
	return &run->members[i].seen;
}

uint32_t ifp_run_world(const struct ifp_run *run)
{
	return run->world;
}

uint32_t ifp_run_window_count(const struct ifp_run *run)
{
	return run->window_count;
}

const struct ifp_run_window *ifp_run_window(const struct ifp_run *run, uint32_t i)
{
	return &run->windows[i];
}

uint32_t ifp_run_ledger_count(const struct ifp_run *run)
{
	return run->ledger_count;
}

const struct ifp_ledger_row *ifp_run_ledger(const struct ifp_run *run, uint32_t i)
{
	return run->ledger[i];
}

ifp_global_ns ifp_run_base(const struct ifp_run *run)
{
	return run->base;
}

uint32_t ifp_run_reference(const struct ifp_run *run)
{
	return ifp_clock_solution_reference(run->solution);
}

bool ifp_run_leads_clock(const struct ifp_run *run, uint32_t i)
{
	const struct ifp_clock_map *map = ifp_run_rank(run, i)->map;

	if (!map || !ifp_clock_map_epoch_count(map))
		return false;
	for (uint32_t j = 0; j < i; j++) {
		const struct ifp_clock_map *other = ifp_run_rank(run, j)->map;

		if (other && ifp_clock_map_same_clock(other, map))
			return false;
	}
	return true;
}

int64_t ifp_run_drift_ppm(const struct ifp_run *run)
{
	return ifp_clock_solution_drift_ppm(run->solution);
}
