/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many stamps of one rank to the job's time, fast. Stamps are cut into cells of equal length (8 ms,
 * or as many ticks); within a cell the map's line is straight to a nanosecond, so two of its points
 * are worked out and the rest lies between them. Where it is not (a clock was set, or slewed hard),
 * every stamp of the cell is worked out. What the map moves is looked up for each stamp.
 *
 * Results differ from ifp_clock_map_global() by IFP_CONVERTER_ROUNDING_NS at most, within a lift by
 * as much on the line; never run backwards where the map does not, and do not depend on what was
 * converted before. A map that changes nothing changes nothing here. One thread; no allocation.
 */
#pragma once

#include "clocksync/estimate/map.h"
#include "clocksync/estimate/moves.h"

#define IFP_CONVERTER_SHIFT 23
#define IFP_CONVERTER_CELLS 64u
#define IFP_CONVERTER_ROUNDING_NS 3

struct ifp_clock_cell {
	int64_t number;	 /* the cell's stamps, shifted */
	int64_t from_ns; /* job time of its first stamp */
	int64_t rise_ns; /* ... from there to that of the next cell's; negative = no straight line
			  */
};

struct ifp_clock_converter {
	const struct ifp_clock_map *map; /* borrowed */
	const struct ifp_moves *moves;	 /* ... its; NULL = none */
	struct ifp_clock_cell cells[IFP_CLOCK_DOMAIN_MAX][IFP_CONVERTER_CELLS];
};

void ifp_clock_converter_init(
	struct ifp_clock_converter *converter, const struct ifp_clock_map *map);

/* Where a cell is when it is there: it has that number then. */
static inline struct ifp_clock_cell *ifp_clock_converter_cell(
	struct ifp_clock_converter *converter, enum ifp_clock_domain domain, int64_t number)
{
	return &converter->cells[domain][(uint64_t)number % IFP_CONVERTER_CELLS];
}

/* For ifp_clock_convert(): works a cell out. */
void ifp_clock_converter_fill(
	struct ifp_clock_converter *converter, enum ifp_clock_domain domain, int64_t number);

/* By the line alone, without moves. */
static inline ifp_global_ns ifp_clock_convert_line(
	struct ifp_clock_converter *converter, enum ifp_clock_domain domain, int64_t stamp)
{
	int64_t number = stamp >> IFP_CONVERTER_SHIFT;
	int64_t inside = stamp & ((INT64_C(1) << IFP_CONVERTER_SHIFT) - 1);
	struct ifp_clock_cell *cell = ifp_clock_converter_cell(converter, domain, number);

	if (cell->number != number)
		ifp_clock_converter_fill(converter, domain, number);
	if (cell->rise_ns < 0)
		return ifp_clock_map_line(converter->map, domain, stamp);
	inside = inside * cell->rise_ns + (INT64_C(1) << (IFP_CONVERTER_SHIFT - 1));
	return (ifp_global_ns){cell->from_ns + (inside >> IFP_CONVERTER_SHIFT)};
}

static inline ifp_global_ns ifp_clock_convert(
	struct ifp_clock_converter *converter, enum ifp_clock_domain domain, int64_t stamp)
{
	int64_t line_ns = ifp_clock_convert_line(converter, domain, stamp).ns;

	return (ifp_global_ns){
		line_ns + (converter->moves ? ifp_moves_at(converter->moves, line_ns) : 0)};
}
