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

/* So many that start together are put in order by moving one after the other. */
#define FEW 16u

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

/* Digit number pass of a start, counted from the lowest one. */
static unsigned int digit_of(const struct ifp_place *place, int64_t lowest, unsigned int pass)
{
	uint64_t since = (uint64_t)place->start_ns - (uint64_t)lowest;

	return (unsigned int)(since >> pass * DIGIT_BITS) & (DIGITS - 1);
}

/* By pass and digit: how many places there are with a smaller digit. */
static void count_digits(const struct ifp_place *places, uint64_t count, int64_t lowest,
	unsigned int passes, uint64_t first[][DIGITS])
{
	for (uint64_t i = 0; i < count; i++)
		for (unsigned int pass = 0; pass < passes; pass++)
			first[pass][digit_of(&places[i], lowest, pass)]++;
	for (unsigned int pass = 0; pass < passes; pass++) {
		uint64_t sum = 0;

		for (unsigned int digit = 0; digit < DIGITS; digit++) {
			uint64_t size = first[pass][digit];

			first[pass][digit] = sum;
			sum += size;
		}
	}
}

static void sort_few(struct ifp_place *places, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++) {
		struct ifp_place place = places[i];
		uint64_t to = i;

		for (; to && compare(&places[to - 1], &place) > 0; to--)
			places[to] = places[to - 1];
		places[to] = place;
	}
}

/* Those that start together, by length: mostly a slice and the arrow that begins with it. */
static void sort_equals(struct ifp_place *places, uint64_t count)
{
	for (uint64_t i = 0, end; i < count; i = end) {
		end = i + 1;
		while (end < count && places[end].start_ns == places[i].start_ns)
			end++;
		if (end - i > FEW)
			qsort(places + i, end - i, sizeof(*places), compare);
		else
			sort_few(places + i, end - i);
	}
}

static bool is_sorted(const struct ifp_place *places, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++)
		if (places[i - 1].start_ns > places[i].start_ns)
			return false;
	return true;
}

/* The digits of the starts from the last one on. */
static int sort_digits(struct ifp_place *places, uint64_t count)
{
	IFP_CLEANUP_FREE struct ifp_place *other = malloc(count * sizeof(*other));
	IFP_CLEANUP_FREE uint64_t(*first)[DIGITS] = NULL;
	struct ifp_place *from = places, *to = other;
	int64_t lowest;
	unsigned int bits = differing_bits(places, count, &lowest);
	unsigned int passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS;

	first = calloc(passes + 1u, sizeof(*first));
	if (!first || !other)
		return ifp_fail(-ENOMEM, "sort %" PRIu64 " events", count);
	count_digits(places, count, lowest, passes, first);
	for (unsigned int pass = 0; pass < passes; pass++) {
		struct ifp_place *sorted = to;

		for (uint64_t i = 0; i < count; i++)
			to[first[pass][digit_of(&from[i], lowest, pass)]++] = from[i];
		to = from;
		from = sorted;
	}
	if (from != places)
		memcpy(places, from, count * sizeof(*places));
	return 0;
}

int ifp_places_sort(struct ifp_place *places, uint64_t count)
{
	int err = 0;

	if (count < LEAST_COUNT) {
		if (count)
			qsort(places, count, sizeof(*places), compare);
		return 0;
	}
	if (!is_sorted(places, count))
		err = sort_digits(places, count);
	if (!err)
		sort_equals(places, count);
	return err;
}
