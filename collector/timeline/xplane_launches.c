/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/xplane_launches.h"

#include "core/array.h"

#include <stdlib.h>

int ifp_xplane_launches_add(
	struct ifp_xplane_launches *launches, const struct ifp_xplane_launch *launch)
{
	int err = IFP_ARRAY_RESERVE(
		launches->items, launches->capacity, launches->count, 1, "launches");

	if (err)
		return err;
	launches->items[launches->count++] = *launch;
	launches->sorted = false;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct ifp_xplane_launch *a = left, *b = right;

	if (a->correlation != b->correlation)
		return a->correlation < b->correlation ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

const struct ifp_xplane_launch *ifp_xplane_launches_find(
	struct ifp_xplane_launches *launches, uint64_t correlation, int64_t at_ns)
{
	const struct ifp_xplane_launch wanted = {.correlation = correlation, .start_ns = at_ns};
	const struct ifp_xplane_launch *found;
	uint32_t low;

	if (!launches->sorted && launches->count)
		qsort(launches->items, launches->count, sizeof(*launches->items), compare);
	launches->sorted = true;
	low = IFP_ARRAY_LOWER_BOUND(i, launches->count, compare(&launches->items[i], &wanted) <= 0);
	if (low && launches->items[low - 1].correlation == correlation)
		return &launches->items[low - 1];
	/* The clocks of GPU and host differ by some us: work may seem to begin before its call. */
	found = &launches->items[low];
	return low < launches->count && found->correlation == correlation ? found : NULL;
}

void ifp_xplane_launches_free(struct ifp_xplane_launches *launches)
{
	free(launches->items);
	*launches = (struct ifp_xplane_launches){0};
}
