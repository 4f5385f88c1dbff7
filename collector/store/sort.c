/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/store/sort.h"

#include "core/cleanup.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

/* Fewer are sorted by comparing. */
#define LEAST_COUNT 512u

static int compare(const void *a, const void *b)
{
	const struct ifp_place *left = a, *right = b;

	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	if (left->dur_ns != right->dur_ns)
		return left->dur_ns > right->dur_ns ? -1 : 1;
	if (left->block != right->block)
		return left->block < right->block ? -1 : 1;
	return (left->row > right->row) - (left->row < right->row);
}

/* Bits in which the starts differ, counted from the lowest start. */
static unsigned int differing_bits(const struct ifp_place *places, uint64_t count, int64_t *lowest)
{
	int64_t least = places[0].start_ns, most = least;

	for (uint64_t i = 1; i < count; i++) {
		least = places[i].start_ns < least ? places[i].start_ns : least;
		most = places[i].start_ns > most ? places[i].start_ns : most;
	}
	*lowest = least;
	return most == least
		       ? 0
		       : 64u - (unsigned int)__builtin_clzll((uint64_t)most - (uint64_t)least);
}

/* One pass of a radix sort, by the digit at shift. */
static void distribute(const struct ifp_place *from, uint64_t count, int64_t lowest,
	unsigned int shift, struct ifp_place *to)
{
	uint64_t next[DIGITS] = {0}, sum = 0;

	for (uint64_t i = 0; i < count; i++)
		next[((uint64_t)from[i].start_ns - (uint64_t)lowest) >> shift & (DIGITS - 1)]++;
	for (unsigned int digit = 0; digit < DIGITS; digit++) {
		uint64_t size = next[digit];

		next[digit] = sum;
		sum += size;
	}
	for (uint64_t i = 0; i < count; i++)
		to[next[((uint64_t)from[i].start_ns - (uint64_t)lowest) >> shift &
			(DIGITS - 1)]++] = from[i];
}

/* Those that start together, by length. */
static void sort_equals(struct ifp_place *places, uint64_t count)
{
	for (uint64_t i = 0, end; i < count; i = end) {
		end = i + 1;
		while (end < count && places[end].start_ns == places[i].start_ns)
			end++;
		if (end - i > 1)
			qsort(places + i, end - i, sizeof(*places), compare);
	}
}

static bool is_sorted(const struct ifp_place *places, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++)
		if (places[i - 1].start_ns > places[i].start_ns)
			return false;
	return true;
}

int ifp_places_sort(struct ifp_place *places, uint64_t count)
{
	IFP_CLEANUP_FREE struct ifp_place *other = NULL;
	struct ifp_place *from = places, *to;
	unsigned int bits;
	int64_t lowest;

	if (count < LEAST_COUNT) {
		if (count)
			qsort(places, count, sizeof(*places), compare);
		return 0;
	}
	if (!is_sorted(places, count)) {
		to = other = malloc(count * sizeof(*other));
		if (!other)
			return ifp_fail(-ENOMEM, "sort %" PRIu64 " events", count);
		bits = differing_bits(places, count, &lowest);
		for (unsigned int shift = 0; shift < bits; shift += DIGIT_BITS) {
			struct ifp_place *sorted = to;

			distribute(from, count, lowest, shift, to);
			to = from;
			from = sorted;
		}
		if (from != places)
			memcpy(places, from, count * sizeof(*places));
	}
	sort_equals(places, count);
	return 0;
}
