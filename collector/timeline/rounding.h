/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plug-in and browsers add start and duration as doubles of microseconds. Two slices that
 * touch, or end together, to the nanosecond may overlap by the last bit there, and the plug-in then
 * drops one of them. So slices are shortened (by a nanosecond or two) until their ends are right in
 * doubles, too.
 */
#pragma once

#include "collector/timeline/slices.h"

#include <stddef.h>
#include <stdint.h>

/* All slices of a rank, arranged. */
void ifp_rounding_fit(struct ifp_slices *slices);

/* Slices as they come, lane by lane, by start, longer first. {0} is a new one. */
struct ifp_rounding {
	uint32_t lane;
	struct ifp_rounding_open *open; /* slices around the next one */
	uint32_t depth;
	size_t capacity;
	int err; /* -ENOMEM: fits no longer */
};

/* The length to draw the next slice with. */
int64_t ifp_rounding_next(
	struct ifp_rounding *rounding, uint32_t lane, int64_t start_ns, int64_t dur_ns);
void ifp_rounding_free(struct ifp_rounding *rounding);
