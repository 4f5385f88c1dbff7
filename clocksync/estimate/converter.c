/* SPDX-License-Identifier: Apache-2.0 */
#include "clocksync/estimate/converter.h"

#include <stdbool.h>
#include <stdlib.h>

#define CELL (INT64_C(1) << IFP_CONVERTER_SHIFT)

/*
 * Moments beyond 109 years, counted from 1970 where the clock is, are worked out one by one:
 * differences of nearer ones, and sums within a cell, cannot overflow.
 */
#define FAR (INT64_C(3) << 60)

void ifp_clock_converter_init(
	struct ifp_clock_converter *converter, const struct ifp_clock_map *map)
{
	converter->map = map;
	converter->moves = ifp_clock_map_moves(map);
	for (int domain = 0; domain < IFP_CLOCK_DOMAIN_MAX; domain++)
		for (uint32_t i = 0; i < IFP_CONVERTER_CELLS; i++)
			converter->cells[domain][i].number = INT64_MIN; /* no stamp has it */
}

static bool is_far(int64_t x)
{
	return x <= -FAR || x >= FAR;
}

/* Where a cell begins: the one before it, which mostly is there, says so. */
static int64_t border_ns(
	struct ifp_clock_converter *converter, enum ifp_clock_domain domain, int64_t number)
{
	const struct ifp_clock_cell *before =
		ifp_clock_converter_cell(converter, domain, number - 1);

	if (before->number == number - 1 && before->rise_ns >= 0)
		return before->from_ns + before->rise_ns;
	return ifp_clock_map_line(converter->map, domain, number * CELL).ns;
}

/*
 * The middle decides: where the map bends once within the cell, it is nowhere farther from the line
 * than twice what it is there.
 */
void ifp_clock_converter_fill(
	struct ifp_clock_converter *converter, enum ifp_clock_domain domain, int64_t number)
{
	const struct ifp_clock_map *map = converter->map;
	struct ifp_clock_cell *cell = ifp_clock_converter_cell(converter, domain, number);
	int64_t from, to, middle, first = number * CELL;

	*cell = (struct ifp_clock_cell){.number = number, .rise_ns = -1};
	if (is_far(first))
		return;
	from = border_ns(converter, domain, number);
	to = ifp_clock_map_line(map, domain, first + CELL).ns;
	middle = ifp_clock_map_line(map, domain, first + CELL / 2).ns;
	if (is_far(from) || is_far(to) || is_far(middle) || to < from || to - from > 2 * CELL)
		return;
	if (llabs(middle - from - (to - from) / 2) > 1)
		return;
	cell->from_ns = from;
	cell->rise_ns = to - from;
}
