/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/xplane_device.h"

#include "core/cleanup.h"
#include "trace/chrome/escape.h"
#include "trace/wire/document.h"

#include <strings.h>

/* Kineto's names of properties and xprof's. */
static const struct {
	const char *recorded, *name;
} numbers[] = {
	{"numSms", "core_count"},
	{"totalGlobalMem", "memory_size"},
	{"computeMajor", "compute_cap_major"},
	{"computeMinor", "compute_cap_minor"},
};

static const cJSON *find_device(const cJSON *list, int64_t device)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		int64_t id;

		if (ifp_document_get_int(item, "id", &id) && id == device)
			return item;
	}
	return NULL;
}

static void add_text(struct ifp_xplane_plane *plane, const char *name, const char *value)
{
	IFP_CLEANUP_BUF struct ifp_buf text = {0};

	ifp_json_escape(&text, ifp_str(value));
	ifp_xplane_stat_text(plane, ifp_xplane_stat_name(plane, ifp_str(name)),
		(struct ifp_str){(const char *)text.data, (uint32_t)text.len_bytes});
}

static void add(struct ifp_xplane_plane *plane, const cJSON *properties)
{
	const char *name = ifp_document_get_text(properties, "name");
	int64_t value;

	for (size_t i = 0; i < IFP_ARRAY_SIZE(numbers); i++)
		if (ifp_document_get_int(properties, numbers[i].recorded, &value) && value >= 0)
			ifp_xplane_stat_uint(plane,
				ifp_xplane_stat_name(plane, ifp_str(numbers[i].name)),
				(uint64_t)value);
	if (!name)
		return;
	add_text(plane, "gpu_device_name", name);
	add_text(plane, "device_vendor", strncasecmp(name, "AMD", 3) ? "Nvidia" : "AMD");
}

void ifp_xplane_device(
	struct ifp_xplane_plane *plane, const struct ifp_run_rank *rank, int64_t device)
{
	/* As it stood in the trace: an array. */
	const char *text = ifp_document_get_text(rank->imported, "device_properties");
	IFP_CLEANUP_DOCUMENT cJSON *list = text ? cJSON_Parse(text) : NULL;

	add(plane, find_device(list, device));
}
