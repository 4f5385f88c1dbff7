/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which collectives of which ranks are one: the k-th ones of a step within a process group. Where
 * a trace does not tell the group (only NCCL's kernels do), all ranks are one.
 */
#pragma once

#include "collector/analyse/activity.h"
#include "core/buf.h"

/* One operation, and what each of its ranks did for it. */
struct ifp_meeting {
	uint32_t count;
	const uint32_t *ranks; /* places in the activity */
	const struct ifp_collective *const *parts;
};

/*
 * Gives every operation of which all ranks were recorded to take, until that fails: kernels where
 * all ranks with collectives have some, else ranges of the host. By group, then in order. What take
 * returned, or -ENOMEM.
 */
int ifp_groups_meet(const struct ifp_activity *activity,
	int (*take)(void *context, const struct ifp_meeting *meeting), void *context);

/*
 * What tells the group of a collective with such args from others, in key, which is emptied: empty
 * where they do not say it.
 */
void ifp_group_key(struct ifp_str args, struct ifp_buf *key);
