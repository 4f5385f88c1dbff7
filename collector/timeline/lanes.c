/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/lanes.h"

#include "collector/timeline/brief.h"
#include "core/array.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static void make_key(struct ifp_buf *key, const struct ifp_lane *lane)
{
	ifp_buf_clear(key);
	ifp_buf_append_u8(key, (uint8_t)lane->kind);
	ifp_buf_append_u64(key, (uint64_t)lane->pid);
	ifp_buf_append_u64(key, (uint64_t)lane->tid);
	ifp_buf_append_u32(key, lane->pid_text.len_bytes);
	ifp_buf_append(key, lane->pid_text.ptr, lane->pid_text.len_bytes);
	ifp_buf_append(key, lane->tid_text.ptr, lane->tid_text.len_bytes);
}

static int add_row(struct ifp_lanes *lanes, const struct ifp_lane *lane)
{
	int err = IFP_ARRAY_RESERVE(lanes->rows, lanes->capacity, lanes->count, 1, "lanes");

	if (!err)
		lanes->rows[lanes->count++] = (struct ifp_lane_row){.lane = *lane};
	return err;
}

static bool same_text(struct ifp_str a, struct ifp_str b)
{
	return a.ptr == b.ptr && a.len_bytes == b.len_bytes;
}

static bool same_lane(const struct ifp_lane *a, const struct ifp_lane *b)
{
	return a->kind == b->kind && a->pid == b->pid && a->tid == b->tid &&
	       same_text(a->pid_text, b->pid_text) && same_text(a->tid_text, b->tid_text);
}

static int find(struct ifp_lanes *lanes, const struct ifp_lane *lane, uint32_t *row)
{
	struct ifp_str key;
	uint32_t id;
	int err;

	make_key(&lanes->key, lane);
	err = ifp_buf_status(&lanes->key);
	if (err)
		return err;
	key = (struct ifp_str){(const char *)lanes->key.data, (uint32_t)lanes->key.len_bytes};
	err = ifp_intern(&lanes->keys, key, &id);
	if (!err && id == lanes->count)
		err = add_row(lanes, lane);
	if (!err)
		*row = id;
	return err;
}

int ifp_lanes_find(struct ifp_lanes *lanes, const struct ifp_lane *lane, uint32_t *row)
{
	uint64_t place = ((uint64_t)lane->kind + (uint64_t)lane->pid * 5 + (uint64_t)lane->tid) %
			 IFP_LANES_RECENT;
	int err;

	if (lanes->recent[place].used && same_lane(&lanes->recent[place].lane, lane)) {
		*row = lanes->recent[place].row;
		return 0;
	}
	err = find(lanes, lane, row);
	if (err)
		return err;
	lanes->recent[place].used = true;
	lanes->recent[place].lane = *lane;
	lanes->recent[place].row = *row;
	return 0;
}

struct order {
	const struct ifp_lane_row *row;
	uint32_t index;
	unsigned int class;
};

static unsigned int class_of(const struct ifp_lane_row *row, int64_t main_pid)
{
	if (row->of_steps)
		return 0;
	if (row->main_thread)
		return 1;
	switch (row->lane.kind) {
	case IFP_LANE_THREAD:
		return row->lane.pid == main_pid ? 2 : 3;
	case IFP_LANE_STREAM:
		return 4;
	default:
		return 5;
	}
}

static int compare_number(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
	const struct order *a = left, *b = right;
	int result = compare_number(a->class, b->class);

	if (!result)
		result = compare_number(a->row->lane.pid, b->row->lane.pid);
	if (!result)
		result = compare_number(a->row->lane.tid, b->row->lane.tid);
	return result ? result : compare_number(a->index, b->index);
}

int ifp_lanes_order(const struct ifp_lanes *lanes, int64_t main_pid, uint32_t **order)
{
	IFP_CLEANUP_FREE struct order *sorted = calloc(lanes->count + 1u, sizeof(*sorted));
	uint32_t *indices = calloc(lanes->count + 1u, sizeof(*indices));

	if (!sorted || !indices) {
		free(indices);
		return ifp_fail(-ENOMEM, "out of memory for %u lanes", lanes->count);
	}
	for (uint32_t i = 0; i < lanes->count; i++)
		sorted[i] = (struct order){&lanes->rows[i], i, class_of(&lanes->rows[i], main_pid)};
	qsort(sorted, lanes->count, sizeof(*sorted), compare);
	for (uint32_t i = 0; i < lanes->count; i++)
		indices[i] = sorted[i].index;
	*order = indices;
	return 0;
}

/* Texts of lanes stand as JSON scalars: quotes are taken off. */
static void append_scalar(struct ifp_buf *out, struct ifp_str text, int64_t number)
{
	if (!text.len_bytes)
		ifp_buf_printf(out, "%" PRId64, number);
	else if (text.ptr[0] == '"')
		ifp_buf_append(out, text.ptr + 1, text.len_bytes - 2);
	else
		ifp_buf_append(out, text.ptr, text.len_bytes);
}

/*
 * Kineto calls a thread "thread 6839 (pt_gloo_runloop)": viewers cut long titles at their end, so
 * what tells lanes apart goes in front, "pt_gloo_runloop 6839".
 */
static void append_thread(struct ifp_buf *out, struct ifp_str title, int64_t tid)
{
	static const char before[] = "thread ";
	const char *open = memchr(title.ptr, '(', title.len_bytes);
	const char *end = title.ptr + title.len_bytes;

	if (!ifp_str_starts_with(title, before) || !open || end[-1] != ')') {
		ifp_buf_append(out, title.ptr, title.len_bytes);
		return;
	}
	ifp_buf_append(out, open + 1, (size_t)(end - open) - 2);
	ifp_buf_printf(out, " %" PRId64, tid);
}

/* Without what tells sub-lanes apart. */
static void append_title(const struct ifp_lane_row *row, struct ifp_buf *out)
{
	const struct ifp_lane *lane = &row->lane;

	if (row->main_thread) {
		ifp_buf_printf(out, "main %" PRId64, lane->tid);
	} else if (row->of_steps) {
		ifp_buf_append_text(out, "steps");
	} else if (lane->kind == IFP_LANE_STREAM) {
		ifp_buf_printf(out, "GPU %" PRId64 " stream %" PRId64, lane->pid, lane->tid);
	} else if (row->title.len_bytes) {
		append_thread(out, row->title, lane->tid);
	} else if (lane->kind == IFP_LANE_THREAD) {
		ifp_buf_printf(out, "thread %" PRId64, lane->tid);
	} else {
		append_scalar(out, lane->pid_text, lane->pid);
		ifp_buf_append_text(out, " ");
		append_scalar(out, lane->tid_text, lane->tid);
	}
}

/* A lack of memory for the short one leaves the whole one. */
static void cut(struct ifp_buf *out)
{
	IFP_CLEANUP_BUF struct ifp_buf scratch = {0};
	struct ifp_str whole = {(const char *)out->data, (uint32_t)out->len_bytes};
	struct ifp_str brief = ifp_brief_text(whole, IFP_BRIEF_NAME_BYTES, &scratch);

	if (brief.ptr == whole.ptr || scratch.failed)
		return;
	ifp_buf_clear(out);
	ifp_buf_append(out, brief.ptr, brief.len_bytes);
}

void ifp_lanes_title(
	const struct ifp_lane_row *row, uint32_t sublane, bool brief, struct ifp_buf *out)
{
	ifp_buf_clear(out);
	append_title(row, out);
	if (brief)
		cut(out);
	if (sublane)
		ifp_buf_printf(out, " · overlapping %u%s", sublane,
			sublane == IFP_MAX_SUBLANES ? " and more" : "");
}

void ifp_lanes_free(struct ifp_lanes *lanes)
{
	ifp_intern_free(&lanes->keys);
	ifp_buf_free(&lanes->key);
	free(lanes->rows);
	*lanes = (struct ifp_lanes){0};
}
