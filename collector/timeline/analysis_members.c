/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/analysis_members.h"

#include "trace/wire/document.h"

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

static void append_devices(const struct ifp_rank_view *view, struct ifp_buf *out)
{
	const char *text = ifp_document_get_text(view->rank->imported, "device_properties");
	IFP_CLEANUP_DOCUMENT cJSON *devices = text ? cJSON_Parse(text) : NULL;

	if (!cJSON_IsArray(devices) || cJSON_GetArraySize(devices) <= last_device(view) ||
		strlen(text) >= IFP_ANALYSIS_MOST_MEMBERS_BYTES)
		return;
	ifp_buf_append_text(out, ",\"deviceProperties\":");
	ifp_buf_append_text(out, text);
}

int ifp_analysis_members(
	const struct ifp_run *run, const struct ifp_rank_view *view, struct ifp_buf *out)
{
	ifp_buf_printf(out,
		"\"schemaVersion\":1,\"displayTimeUnit\":\"ms\","
		"\"distributedInfo\":{\"rank\":%u,\"world_size\":%u}",
		view->rank->rank, ifp_run_world(run));
	append_devices(view, out);
	return ifp_buf_status(out);
}
