/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of an archive as plain Chrome JSON, which chrome://tracing, Perfetto and Kineto's own
 * tools read: as they were recorded, none left out.
 */
#pragma once

#include "collector/store/run.h"
#include "core/ranges.h"

#include <stdint.h>

struct ifp_exported {
	uint64_t events;
	uint64_t left_out; /* plain Chrome JSON has no place for them */
};

/*
 * One rank with its processes and ids as they were, so that its trace comes back; or several, all
 * where ranks is NULL, with new numbers, so that those of two ranks never meet, processes in the
 * order of the ranks and named by them. Ranks without clock readings are left out with a warning.
 */
int ifp_export_chrome(struct ifp_run *run, const struct ifp_ranges *ranks, const char *path,
	struct ifp_exported *result);
