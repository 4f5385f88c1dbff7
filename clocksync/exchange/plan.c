/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/exchange/plan.h"

#include <stddef.h>

uint32_t ifp_clock_plan(uint32_t nodes, struct ifp_clock_pair *pairs)
{
	uint32_t count = 0, round = 0;

	for (uint64_t bit = 1; bit < nodes; bit <<= 1, round++) {
		for (uint32_t client = 0; client < nodes; client++) {
			uint32_t server = client ^ (uint32_t)bit;

			if (server < client || server >= nodes)
				continue;
			if (pairs)
				pairs[count] = (struct ifp_clock_pair){client, server, round};
			count++;
		}
	}
	return count;
}
