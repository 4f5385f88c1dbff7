/* SPDX-License-Identifier: Apache-2.0 */
/* Events in order of time: what they are sorted by, they themselves being large. Pure. */
#pragma once

#include <stdint.h>

struct ifp_place {
	int64_t start_ns, dur_ns;
	uint32_t block, row;
};

/*
 * By start, longer ones first among equals, else as they stand. In time that grows with their
 * number alone but where many start at one moment. 0 or -ENOMEM.
 */
int ifp_places_sort(struct ifp_place *places, uint64_t count);
