/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which collectives of several ranks' traces are one. Traces begin and end at different ones and
 * do not number them, so each rank's series within a process group is laid beside that of the
 * group's first rank: at the shift where the same operations stand beside each other and the times
 * between them agree best, which no other shift comes near unless a program is as regular as a
 * clock. Where several agree equally well - few pairs can hardly tell them apart - the steps of
 * torch.profiler decide, then the wall clock, if it favours one clearly; else they stay apart.
 * Pure. Private to clocksync/estimate.
 */
#pragma once

#include "clocksync/estimate/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In true time: exit_ns of every part that waits >= enter_ns of every part that is awaited. */
struct ifp_instance_part {
	uint32_t rank; /* index into the array of ranks */
	bool awaited, waits;
	int64_t enter_ns, exit_ns;
};

/* One operation, of two ranks at least: parts[first] to parts[first + count - 1], by rank. */
struct ifp_instance {
	uint64_t kind;
	size_t first;
	uint32_t count;
	bool joint; /* all are awaited and wait: it ends at nearly one moment */
};

struct ifp_instances {
	struct ifp_instance *items; /* by group, then in order */
	uint32_t count;
	struct ifp_instance_part *parts;
	size_t part_count;
};

/* Of the ranks that are unmeasured. -ENOMEM only. Free with ifp_instances_free(). */
int ifp_instances_match(
	const struct ifp_clock_rank *ranks, uint32_t count, struct ifp_instances *out);
void ifp_instances_free(struct ifp_instances *instances);
