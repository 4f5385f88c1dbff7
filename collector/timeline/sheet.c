/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/sheet.h"

#include "core/error.h"
#include "trace/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GZIP_LEVEL 6
#define BETWEEN_BYTES 2 /* a comma and an end of line */

int ifp_sheet_open(const char *path, const char *members, struct ifp_sheet *sheet)
{
	IFP_CLEANUP_SHEET struct ifp_sheet opening = {.next_tid = 1, .path = strdup(path)};
	int err;

	if (!opening.path)
		return ifp_fail(-ENOMEM, "draw %s: out of memory", path);
	err = ifp_chrome_writer_open(path, GZIP_LEVEL, ifp_str(members), &opening.writer);
	if (err)
		return err;
	*sheet = opening;
	opening = (struct ifp_sheet){0};
	return 0;
}

void ifp_sheet_abandon(struct ifp_sheet *sheet)
{
	if (sheet->writer)
		ifp_chrome_writer_abandon(&sheet->writer);
	ifp_buf_free(&sheet->text);
	ifp_buf_free(&sheet->measured);
	free(sheet->path);
	*sheet = (struct ifp_sheet){0};
}

void ifp_sheet_add(struct ifp_sheet *sheet, const struct ifp_chrome_element *element)
{
	sheet->events++;
	if (sheet->writer) {
		ifp_chrome_writer_add(sheet->writer, element);
		return;
	}
	ifp_buf_clear(&sheet->measured);
	ifp_chrome_element_append(&sheet->measured, element);
	sheet->measured_bytes += sheet->measured.len_bytes + BETWEEN_BYTES;
}

static struct ifp_str text_of(const struct ifp_sheet *sheet)
{
	return (struct ifp_str){(const char *)sheet->text.data, (uint32_t)sheet->text.len_bytes};
}

static void add_meta(struct ifp_sheet *sheet, const char *name, int64_t pid, int64_t tid)
{
	ifp_sheet_add(sheet, &(struct ifp_chrome_element){.phase = 'M',
				     .name = ifp_str(name),
				     .pid = pid,
				     .tid = tid,
				     .args = text_of(sheet)});
}

static void add_order(
	struct ifp_sheet *sheet, const char *name, int64_t pid, int64_t tid, int64_t order)
{
	ifp_buf_clear(&sheet->text);
	ifp_buf_printf(&sheet->text, "{\"sort_index\":%" PRId64 "}", order);
	add_meta(sheet, name, pid, tid);
}

static void add_name(
	struct ifp_sheet *sheet, const char *what, int64_t pid, int64_t tid, struct ifp_str name)
{
	ifp_buf_clear(&sheet->text);
	ifp_buf_append_text(&sheet->text, "{\"name\":\"");
	ifp_buf_append(&sheet->text, name.ptr, name.len_bytes);
	ifp_buf_append_text(&sheet->text, "\"}");
	add_meta(sheet, what, pid, tid);
}

void ifp_sheet_process(struct ifp_sheet *sheet, int64_t pid, struct ifp_str name, int64_t order)
{
	add_name(sheet, "process_name", pid, 0, name);
	add_order(sheet, "process_sort_index", pid, 0, order);
}

void ifp_sheet_row(struct ifp_sheet *sheet, int64_t pid, int64_t tid, struct ifp_str name)
{
	add_name(sheet, "thread_name", pid, tid, name);
	add_order(sheet, "thread_sort_index", pid, tid, tid);
}

int ifp_sheet_rows(struct ifp_sheet *sheet, struct ifp_rank_view *view,
	int64_t (*pid_of)(const struct ifp_lane_row *row, const void *context), const void *context)
{
	IFP_CLEANUP_FREE uint32_t *order = NULL;
	IFP_CLEANUP_BUF struct ifp_buf title = {0};
	int err = ifp_lanes_order(&view->lanes, view->rank->pid, &order);

	if (err)
		return err;
	for (uint32_t i = 0; i < view->lanes.count; i++) {
		struct ifp_lane_row *row = &view->lanes.rows[order[i]];

		row->first_tid = sheet->next_tid;
		sheet->next_tid += row->sublanes;
		for (uint32_t k = 0; k < row->sublanes; k++) {
			ifp_lanes_title(row, k, true, &title);
			ifp_sheet_row(sheet, pid_of(row, context), (int64_t)row->first_tid + k,
				(struct ifp_str){
					(const char *)title.data, (uint32_t)title.len_bytes});
		}
	}
	return ifp_buf_status(&title);
}

void ifp_sheet_flow(struct ifp_sheet *sheet, const struct ifp_chrome_element *half, uint64_t id,
	const struct ifp_chrome_element *from, const struct ifp_chrome_element *to)
{
	struct ifp_chrome_element element = *half;

	element.has_id = true;
	element.id = id;
	element.phase = 's';
	element.pid = from->pid;
	element.tid = from->tid;
	element.start_ns = from->start_ns;
	ifp_sheet_add(sheet, &element);
	/* Bound to the slice around it, not to the next one. */
	element.extra = ifp_str("{\"bp\":\"e\"}");
	element.phase = 'f';
	element.pid = to->pid;
	element.tid = to->tid;
	element.start_ns = to->start_ns;
	ifp_sheet_add(sheet, &element);
}

int ifp_sheet_close(struct ifp_sheet *sheet, uint32_t rank, struct ifp_timeline_file *file)
{
	struct stat status;
	int err;

	/* A name or args that did not find memory would be cut, and the file broken. */
	err = ifp_buf_status(&sheet->text);
	if (err)
		return err;
	*file = (struct ifp_timeline_file){
		.rank = rank,
		.json_bytes = ifp_chrome_writer_bytes(sheet->writer),
		.events = sheet->events,
	};
	err = ifp_chrome_writer_close(&sheet->writer);
	if (err)
		return err;
	if (strcmp(sheet->path, IFP_OUTPUT_STANDARD) != 0) {
		if (stat(sheet->path, &status))
			return ifp_fail_errno("stat %s", sheet->path);
		file->bytes = (uint64_t)status.st_size;
	}
	file->path = IFP_TAKE_PTR(sheet->path);
	return 0;
}

int ifp_sheet_left_out(struct ifp_run *run, uint32_t rank, uint64_t count, const char *why)
{
	struct ifp_ledger_row row = {
		.rank = rank,
		.what = "timeline-left-out",
		.count = (int64_t)count,
		.why = why,
	};

	return count ? ifp_run_ledger_add(run, &row) : 0;
}
