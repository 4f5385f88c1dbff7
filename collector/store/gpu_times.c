/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of a run's ranks: how their times are wrong, and where their events belong. */
#include "collector/store/run_internal.h"

#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"
#include "trace/wire/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Of a window that Kineto recorded. */
struct extent {
	int64_t start_ns, end_ns;
};

static int compare_extents(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int list_windows(
	const struct ifp_run *run, uint32_t rank, struct extent **extents, uint32_t *count)
{
	IFP_CLEANUP_FREE struct extent *list = NULL;
	uint32_t found = 0;
	size_t capacity = 0;

	for (uint32_t i = 0; i < run->window_count; i++) {
		const cJSON *document = run->windows[i].document;
		struct extent extent;
		int err;

		if (run->windows[i].rank != rank ||
			!ifp_document_get_int(document, "start_realtime_ns", &extent.start_ns) ||
			!ifp_document_get_int(document, "end_realtime_ns", &extent.end_ns) ||
			extent.start_ns <= 0 || extent.end_ns <= extent.start_ns)
			continue;
		err = IFP_ARRAY_RESERVE(list, capacity, found, 1, "windows of a rank");
		if (err)
			return err;
		list[found++] = extent;
	}
	if (found)
		qsort(list, found, sizeof(*list), compare_extents);
	*extents = IFP_TAKE_PTR(list);
	*count = found;
	return 0;
}

/* Between two windows: Kineto compares the clocks anew for each. */
static int find_cuts(const struct ifp_run *run, struct ifp_run_member *member)
{
	IFP_CLEANUP_FREE struct extent *windows = NULL;
	uint32_t count = 0;
	int err = list_windows(run, member->seen.rank, &windows, &count);

	if (err || count < 2)
		return err;
	member->gpu_cuts = malloc(count * sizeof(*member->gpu_cuts));
	if (!member->gpu_cuts)
		return ifp_fail(-ENOMEM, "tell windows apart");
	for (uint32_t i = 1; i < count; i++) {
		int64_t end_ns = windows[i - 1].end_ns, start_ns = windows[i].start_ns;

		if (start_ns > end_ns)
			member->gpu_cuts[member->gpu_cut_count++] =
				end_ns + (start_ns - end_ns) / 2;
	}
	return 0;
}

static bool has_work(const struct ifp_block_rows *const *rows, uint32_t count)
{
	for (uint32_t b = 0; b < count; b++)
		for (uint32_t s = 0; s < rows[b]->shape_count; s++)
			if (ifp_gpu_role_of(&rows[b]->shapes[s]) >= IFP_GPU_WORK)
				return true;
	return false;
}

/* Args are put together for the few that need them. */
static int add_row(struct ifp_gpu_finder *finder, enum ifp_gpu_role role,
	const struct ifp_block_rows *rows, const struct ifp_block_row *row, struct ifp_buf *args)
{
	struct ifp_event event = {.start = row->start,
		.dur = row->dur,
		.correlation = row->correlation,
		.lane = rows->shapes[row->shape].lane,
		.name = rows->shapes[row->shape].name};

	if (role == IFP_GPU_NOTE) {
		ifp_buf_clear(args);
		ifp_buf_reserve(args, row->args_bytes);
		if (args->failed)
			return ifp_buf_status(args);
		if (row->args_bytes)
			ifp_block_rows_write_args(rows, row, (char *)args->data);
		event.args = (struct ifp_str){(const char *)args->data, row->args_bytes};
	}
	return ifp_gpu_finder_add(finder, role, &event);
}

static int add_rows(struct ifp_gpu_finder *finder, const struct ifp_block_rows *rows)
{
	IFP_CLEANUP_BUF struct ifp_buf args = {0};
	IFP_CLEANUP_FREE uint8_t *roles = malloc(rows->shape_count + 1u);
	int err = 0;

	if (!roles)
		return ifp_fail(-ENOMEM, "compare GPUs with their hosts");
	for (uint32_t s = 0; s < rows->shape_count; s++)
		roles[s] = (uint8_t)ifp_gpu_role_of(&rows->shapes[s]);
	for (uint32_t e = 0; !err && e < rows->count; e++) {
		const struct ifp_block_row *row = &rows->items[e];

		if (roles[row->shape] != IFP_GPU_NOTHING)
			err = add_row(finder, roles[row->shape], rows, row, &args);
	}
	return err;
}

int ifp_run_find_gpus(struct ifp_run *run, struct ifp_run_member *member,
	const struct ifp_block_rows *const *rows, uint32_t count)
{
	IFP_CLEANUP(ifp_gpu_finder_free) struct ifp_gpu_finder *finder = NULL;
	int err;

	if (member->gpus_known)
		return 0;
	member->gpus_known = true;
	if (!has_work(rows, count))
		return 0;
	err = find_cuts(run, member);
	if (!err)
		err = ifp_gpu_finder_new(&finder);
	for (uint32_t b = 0; !err && b < count; b++)
		err = add_rows(finder, rows[b]);
	if (!err)
		err = ifp_gpu_finder_settle(finder, member->gpu_cuts, member->gpu_cut_count,
			&member->gpus, &member->gpu_count);
	return err;
}

bool ifp_run_moves_gpus(const struct ifp_run *run, const struct ifp_run_member *member)
{
	for (uint32_t i = 0; !run->as_recorded && i < member->gpu_count; i++)
		if (ifp_gpu_bias_moves(&member->gpus[i].bias))
			return true;
	return false;
}

int64_t ifp_run_gpu_time(
	const struct ifp_run_member *member, int64_t device, int64_t start, int64_t stamp)
{
	uint32_t windows = member->gpu_cut_count + 1;
	int64_t moved;

	for (uint32_t i = 0; i < member->gpu_count; i += windows) {
		uint32_t window;

		if (member->gpus[i].device != device)
			continue;
		window = ifp_gpu_window(member->gpu_cuts, member->gpu_cut_count, start);
		if (__builtin_add_overflow(stamp,
			    ifp_gpu_bias_shift(&member->gpus[i + window].bias, stamp), &moved))
			return stamp;
		return moved;
	}
	return stamp;
}

/* In the ledger's words. */
static void put_interval(const struct ifp_gpu_bias *bias, char *out, size_t size)
{
	if (bias->low_ns == INT64_MIN)
		snprintf(out, size, "at most %+.3f us", (double)bias->high_ns / 1e3);
	else if (bias->high_ns == INT64_MAX)
		snprintf(out, size, "at least %+.3f us", (double)bias->low_ns / 1e3);
	else
		snprintf(out, size, "%+.3f to %+.3f us", (double)bias->low_ns / 1e3,
			(double)bias->high_ns / 1e3);
}

static int report_gpu(struct ifp_run *run, uint32_t rank, const struct ifp_gpu *gpu)
{
	const struct ifp_gpu_bias *bias = &gpu->bias;
	char interval[64];
	int err = 0;

	put_interval(bias, interval, sizeof(interval));
	if (ifp_gpu_bias_moves(bias))
		err = ifp_run_ledger_printf(run, rank, "gpu-shifted", (int64_t)gpu->slices,
			"slices of GPU %" PRId64 " in window %u of rank %" PRIu32
			" are drawn %+.3f us from where they were recorded%s (possible: %s): "
			"%" PRIu32 " of %" PRIu32 " began before their launch, and %" PRIu32
			" of %" PRIu32 " waits returned before what they waited for had ended",
			gpu->device, gpu->window, rank, (double)bias->shift_ns / 1e3,
			bias->fit == IFP_GPU_LINE ? ", and further with time" : "", interval,
			bias->early, bias->begins, bias->late, bias->ends);
	if (!err && (bias->begins_left_out || bias->ends_left_out))
		err = ifp_run_ledger_printf(run, rank, "gpu-contradicted",
			(int64_t)bias->begins_left_out + bias->ends_left_out,
			"with GPU %" PRId64 " in window %u of rank %" PRIu32
			" drawn %+.3f us from where it was recorded, %" PRIu32
			" pieces of work begin before their launch, and %" PRIu32
			" waits return before what they waited for has ended: not moved further",
			gpu->device, gpu->window, rank, (double)bias->shift_ns / 1e3,
			bias->begins_left_out, bias->ends_left_out);
	return err;
}

int ifp_run_report_gpus(struct ifp_run *run, struct ifp_run_member *member)
{
	int err = 0;

	if (member->gpus_reported || run->as_recorded || !member->gpus_known)
		return 0;
	member->gpus_reported = true;
	for (uint32_t i = 0; !err && i < member->gpu_count; i++)
		err = report_gpu(run, member->seen.rank, &member->gpus[i]);
	return err;
}

const struct ifp_gpu *ifp_run_gpus(const struct ifp_run *run, uint32_t i, uint32_t *count)
{
	*count = run->members[i].gpu_count;
	return run->members[i].gpus;
}

int64_t ifp_run_gpu_doubt(const struct ifp_run *run, uint32_t i)
{
	const struct ifp_run_member *member = &run->members[i];
	int64_t most_ns = 0;

	for (uint32_t g = 0; g < member->gpu_count; g++)
		if (member->gpus[g].slices && member->gpus[g].bias.doubt_ns > most_ns)
			most_ns = member->gpus[g].bias.doubt_ns;
	return most_ns;
}

void ifp_run_keep_as_recorded(struct ifp_run *run)
{
	run->as_recorded = true;
}
