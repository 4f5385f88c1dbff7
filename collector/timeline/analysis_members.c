/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/analysis_members.h"

#include "core/error.h"

#include <errno.h>
#include <string.h>

static int64_t largest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* -1 when there is none. */
static int64_t last_device(const struct ifp_rank_view *view)
{
	int64_t last = -1;

	for (uint32_t i = 0; i < view->lanes.count; i++)
		if (view->lanes.rows[i].lane.kind == IFP_LANE_STREAM)
			last = largest(last, view->lanes.rows[i].lane.pid);
	for (uint64_t i = 0; i < view->loaded.count; i++) {
		const struct ifp_event *event = &view->loaded.events[i].event;
		int64_t device;

		if (event->kind == IFP_EVENT_INSTANT && ifp_str_is(event->name, "[memory]") &&
			ifp_args_find_int(event->args, "Device Id", &device))
			last = largest(last, device);
	}
	return last;
}

static int append_devices(const struct ifp_rank_view *view, struct ifp_buf *out)
{
	const cJSON *devices =
		cJSON_GetObjectItemCaseSensitive(view->rank->imported, "device_properties");
	char *text;

	if (!cJSON_IsArray(devices) || cJSON_GetArraySize(devices) <= last_device(view))
		return 0;
	text = cJSON_PrintUnformatted(devices);
	if (!text)
		return ifp_fail(-ENOMEM, "out of memory for the GPUs of a rank");
	if (strlen(text) < IFP_ANALYSIS_MOST_MEMBERS_BYTES) {
		ifp_buf_append_text(out, ",\"deviceProperties\":");
		ifp_buf_append_text(out, text);
	}
	cJSON_free(text);
	return 0;
}

int ifp_analysis_members(
	const struct ifp_run *run, const struct ifp_rank_view *view, struct ifp_buf *out)
{
	int err;

	ifp_buf_printf(out,
		"\"schemaVersion\":1,\"displayTimeUnit\":\"ms\","
		"\"distributedInfo\":{\"rank\":%u,\"world_size\":%u}",
		view->rank->rank, ifp_run_world(run));
	err = append_devices(view, out);
	return err ? err : ifp_buf_status(out);
}
