/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of whole numbers as people write them: "0,3-5". Owned by whoever declares one; {0} is the
 * empty set.
 */
#pragma once

#include "core/buf.h"
#include "core/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ifp_range {
	int64_t first, last; /* both belong to it; 0 <= first <= last */
};

struct ifp_ranges {
	struct ifp_range *items; /* as they were added */
	size_t count, capacity;
};

/*
 * Reads numbers and ranges of them with commas between; none is negative. option names where the
 * text comes from ("--ranks"). -EINVAL with a cause that says what is wrong, -ENOMEM.
 */
int ifp_ranges_parse(const char *text, const char *option, struct ifp_ranges *out);

/*
 * Adds a number that is not below any other; one that follows the last range, or ends it already,
 * makes no new one. 0 or -ENOMEM.
 */
int ifp_ranges_add(struct ifp_ranges *ranges, int64_t number);

bool ifp_ranges_hold(const struct ifp_ranges *ranges, int64_t number);

/* True, and the first number of wanted that ranges does not hold, when there is one. */
bool ifp_ranges_lack(
	const struct ifp_ranges *ranges, const struct ifp_ranges *wanted, int64_t *number);

/* "0, 3-5"; of very many ranges the first ones. */
void ifp_ranges_print(const struct ifp_ranges *ranges, struct ifp_buf *out);

void ifp_ranges_free(struct ifp_ranges *ranges);

#define IFP_CLEANUP_RANGES IFP_CLEANUP(ifp_ranges_free)
