/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/plan.h"

#include <errno.h>
#include <stdbool.h>

void ifp_plan_merge(struct ifp_plan *plan, const struct ifp_plan *other)
{
	ifp_size_add(&plan->always, other->always);
	for (unsigned int i = 0; i < IFP_LEVEL_COUNT; i++)
		ifp_size_add(&plan->steps[i], other->steps[i]);
}

static bool fits(struct ifp_size size, const struct ifp_budget *budget)
{
	return (!budget->bytes || (uint64_t)size.bytes <= budget->bytes) &&
	       (!budget->events || (uint64_t)size.events <= budget->events);
}

int ifp_plan_choose(const struct ifp_plan *plan, const struct ifp_budget *budget, uint16_t *level,
	struct ifp_size *size)
{
	struct ifp_size total = plan->always, least = {INT64_MAX, INT64_MAX}, found = {0};
	int err = -E2BIG;

	for (uint16_t i = 0; i < IFP_LEVEL_COUNT; i++) {
		ifp_size_add(&total, plan->steps[i]);
		if (total.bytes < least.bytes)
			least.bytes = total.bytes;
		if (total.events < least.events)
			least.events = total.events;
		if (!fits(total, budget))
			continue;
		*level = i;
		found = total;
		err = 0;
	}
	*size = err ? least : found;
	return err;
}
