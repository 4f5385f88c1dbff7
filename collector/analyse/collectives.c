/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/analyse/collectives.h"

#include "collector/analyse/activity.h"
#include "core/cleanup.h"

#include <string.h>

static struct ifp_str behind(struct ifp_str text, const char *prefix)
{
	uint32_t len_bytes = (uint32_t)strlen(prefix);

	return (struct ifp_str){text.ptr + len_bytes, text.len_bytes - len_bytes};
}

bool ifp_collective_of_host(const struct ifp_event *event, struct ifp_str *name)
{
	struct ifp_str rest;

	if (event->kind != IFP_EVENT_SLICE || event->source != IFP_SOURCE_KINETO)
		return false;
	if (!ifp_str_is(event->category, "user_annotation") &&
		!ifp_str_is(event->category, "cpu_op"))
		return false;
	if (!ifp_str_starts_with(event->name, "gloo:") &&
		!ifp_str_starts_with(event->name, "nccl:"))
		return false;
	rest = behind(event->name, "gloo:");
	if (ifp_str_starts_with(rest, "send") || ifp_str_starts_with(rest, "recv"))
		return false;
	*name = rest;
	return true;
}

bool ifp_collective_of_mpi(const struct ifp_event *event, struct ifp_str *name)
{
	if (event->kind != IFP_EVENT_SLICE || event->source != IFP_SOURCE_MARK ||
		!ifp_str_is(event->category, "mpi") || !ifp_str_starts_with(event->name, "mpi:"))
		return false;
	*name = behind(event->name, "mpi:");
	return true;
}

bool ifp_collective_of_device(const struct ifp_event *event, struct ifp_str *name)
{
	static const char *const prefixes[] = {"ncclDevKernel_", "ncclKernel_"};

	if (event->kind != IFP_EVENT_SLICE || !ifp_str_is(event->category, "kernel"))
		return false;
	for (size_t i = 0; i < IFP_ARRAY_SIZE(prefixes); i++) {
		if (ifp_str_starts_with(event->name, prefixes[i])) {
			uint32_t n = 0;

			*name = behind(event->name, prefixes[i]);
			while (n < name->len_bytes && !strchr("_(", name->ptr[n]))
				n++;
			name->len_bytes = n;
			return !ifp_str_is(*name, "SendRecv");
		}
	}
	return false;
}

bool ifp_activity_is_collective(const struct ifp_event *event, struct ifp_str *name, bool *device)
{
	*device = ifp_collective_of_device(event, name);
	return *device || ifp_collective_of_host(event, name) || ifp_collective_of_mpi(event, name);
}
