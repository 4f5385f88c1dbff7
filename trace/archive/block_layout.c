/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/archive/block_layout.h"

void ifp_group(
	const uint32_t *group_of, uint32_t count, uint32_t groups, uint32_t *first, uint32_t *order)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		first[group_of[i]]++;
	for (uint32_t g = 0; g < groups; g++) {
		uint32_t size = first[g];

		first[g] = sum;
		sum += size;
	}
	for (uint32_t i = 0; i < count; i++)
		order[first[group_of[i]]++] = i;
	/* Every place has moved on to where the next group starts. */
	for (uint32_t g = groups; g > 0; g--)
		first[g] = first[g - 1];
	first[0] = 0;
}
