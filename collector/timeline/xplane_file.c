/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/xplane_file.h"

#include "collector/timeline/xplane_device.h"
#include "collector/timeline/xplane_events.h"
#include "core/array.h"
#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Names of planes are xprof's (xla/tsl/profiler/utils/xplane_schema.cc). */
#define HOST_PLANE "/host:CPU"
#define DEVICE_PLANE "/device:GPU:%" PRId64
/* Shown like those above, and not analysed. */
#define OTHER_PLANE HOST_PLANE " other"
#define NOTES_PLANE "/device:CUSTOM:GPU %" PRId64 " annotations"

/* Equal widths keep the order of ranks, which xprof sorts as text. */
#define FILE_NAME "%s/rank%04" PRIu32 ".xplane.pb"

int ifp_xplane_file_open(
	struct ifp_xplane_file *file, const char *directory, const struct ifp_sink_rank *rank)
{
	int err;

	ifp_xplane_file_free(file);
	file->rank = rank->rank;
	if (asprintf(&file->path, FILE_NAME, directory, rank->rank->rank) < 0) {
		file->path = NULL;
		return ifp_fail(-ENOMEM, "draw %s: out of memory", directory);
	}
	err = ifp_xplane_open(file->path, IFP_XPLANE_MAX_BYTES, &file->writer);
	ifp_buf_append(&file->title, rank->title.ptr, rank->title.len_bytes);
	return err ? err : ifp_buf_status(&file->title);
}

static bool has_plane(const struct ifp_xplane_file *file, const struct ifp_xplane_plane *plane)
{
	for (uint32_t i = 0; i < file->lane_count; i++)
		if (file->lanes[i].plane == plane)
			return true;
	return false;
}

static void find_device(struct ifp_xplane_file *file, int64_t device, struct ifp_xplane_lane *place)
{
	char name[64];

	snprintf(name, sizeof(name), DEVICE_PLANE, device);
	place->plane = ifp_xplane_plane(file->writer, name, device);
	snprintf(name, sizeof(name), NOTES_PLANE, device);
	place->notes = ifp_xplane_plane(file->writer, name, device);
	if (place->plane && !has_plane(file, place->plane))
		ifp_xplane_device(place->plane, file->rank, device);
}

static void find_planes(struct ifp_xplane_file *file, const struct ifp_sink_lane *lane,
	struct ifp_xplane_lane *place)
{
	if (lane->lane.kind == IFP_LANE_STREAM)
		find_device(file, lane->lane.pid, place);
	else if (lane->lane.kind == IFP_LANE_THREAD || lane->of_steps)
		place->plane = ifp_xplane_plane(file->writer, HOST_PLANE, 0);
	else
		place->plane = ifp_xplane_plane(file->writer, OTHER_PLANE, 0);
}

/* The rank's title stands on its first lane: xprof knows ranks by the names of their files. */
static struct ifp_str title_of(struct ifp_xplane_file *file, const struct ifp_sink_lane *lane)
{
	ifp_buf_clear(&file->text);
	ifp_buf_append(&file->text, lane->title.ptr, lane->title.len_bytes);
	if (!file->lane_count) {
		ifp_buf_append_text(&file->text, " · ");
		ifp_buf_append(&file->text, file->title.data, file->title.len_bytes);
	}
	return ifp_arena_copy(&file->titles,
		(struct ifp_str){(const char *)file->text.data, (uint32_t)file->text.len_bytes});
}

void ifp_xplane_file_lane(struct ifp_xplane_file *file, const struct ifp_sink_lane *lane)
{
	struct ifp_xplane_lane place = {.number = lane->number};
	int err = IFP_ARRAY_RESERVE(file->lanes, file->lane_capacity, file->lane_count, 1, "lanes");

	if (err) {
		ifp_xplane_file_keep(file, err);
		return;
	}
	place.title = title_of(file, lane);
	find_planes(file, lane, &place);
	if (place.plane && place.title.ptr)
		file->lanes[file->lane_count++] = place;
	else
		ifp_xplane_file_keep(file, ifp_fail(-ENOMEM, "out of memory for lanes"));
}

struct ifp_xplane_plane *ifp_xplane_file_enter(struct ifp_xplane_file *file,
	const struct ifp_xplane_lane *lane, bool notes, enum ifp_xplane_line line)
{
	enum ifp_xplane_line *open = notes ? &file->open_notes : &file->open_line;
	struct ifp_xplane_plane *plane = notes ? lane->notes : lane->plane;

	if (file->open != lane) {
		file->open = lane;
		file->open_line = file->open_notes = IFP_XPLANE_NO_LINE;
		file->told_until_ns = INT64_MIN;
		file->operator_count = 0;
	}
	if (*open != line && line == IFP_XPLANE_COUNTERS)
		ifp_xplane_line_of_counters(plane);
	else if (*open != line)
		ifp_xplane_line(plane, lane->number, lane->title);
	*open = line;
	return plane;
}

static int account(const struct ifp_xplane_file *file, struct ifp_run *run)
{
	const struct ifp_ledger_row rows[] = {
		{file->rank->rank, "timeline-left-out", (int64_t)file->full,
			"plugins/profile/: the file of a rank cannot be larger than 2 GiB"},
		{file->rank->rank, "timeline-left-out", (int64_t)file->untimely,
			"plugins/profile/: before the start of the job's time, or over 100 days "
			"behind it"},
	};
	int err = 0;

	for (size_t i = 0; i < IFP_ARRAY_SIZE(rows) && !err; i++)
		if (rows[i].count)
			err = ifp_run_ledger_add(run, &rows[i]);
	return err;
}

int ifp_xplane_file_close(
	struct ifp_xplane_file *file, struct ifp_run *run, struct ifp_timeline_file *out)
{
	uint64_t bytes = 0;
	int err;

	ifp_xplane_device_steps(file);
	err = file->err ? file->err : ifp_buf_status(&file->text);
	if (!err)
		err = account(file, run);
	if (!err)
		err = ifp_xplane_close(&file->writer, &bytes);
	if (!err)
		*out = (struct ifp_timeline_file){
			.path = IFP_TAKE_PTR(file->path),
			.rank = file->rank->rank,
			.bytes = bytes,
			.events = file->events,
		};
	ifp_xplane_file_free(file);
	return err;
}

void ifp_xplane_file_free(struct ifp_xplane_file *file)
{
	ifp_xplane_abandon(&file->writer);
	free(file->path);
	free(file->lanes);
	free(file->steps);
	free(file->operators);
	ifp_buf_free(&file->title);
	ifp_buf_free(&file->text);
	ifp_arena_free(&file->titles);
	ifp_intern_free(&file->names);
	ifp_xplane_launches_free(&file->launches);
	*file = (struct ifp_xplane_file){0};
}
