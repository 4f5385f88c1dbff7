/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/span.h"

#include <stdbool.h>
#include <stdlib.h>

#define STRETCH_BITS 44			       /* 2^44 ns: 4.9 hours */
#define NEIGHBOUR (INT64_C(6) << STRETCH_BITS) /* between the starts of two stretches: a day */

static struct ifp_import_stretch *find(struct ifp_import_span *span, int64_t key)
{
	if (span->count && span->stretches[span->recent].key == key)
		return &span->stretches[span->recent];
	for (uint32_t i = 0; i < span->count; i++) {
		if (span->stretches[i].key == key) {
			span->recent = i;
			return &span->stretches[i];
		}
	}
	return NULL;
}

static int64_t key_of(int64_t ns)
{
	return ns & ~((INT64_C(1) << STRETCH_BITS) - 1);
}

static bool is_long(int64_t start_ns, int64_t end_ns)
{
	int64_t length_ns;

	return end_ns > start_ns &&
	       (__builtin_sub_overflow(end_ns, start_ns, &length_ns) || length_ns > NEIGHBOUR);
}

static void add_long(struct ifp_import_span *span, int64_t start_ns, int64_t end_ns)
{
	int64_t start_key = key_of(start_ns), end_key = key_of(end_ns);
	struct ifp_import_long *it = span->longs;
	const struct ifp_import_long *end = it + span->long_count;

	while (it < end && (it->start_key != start_key || it->end_key != end_key))
		it++;
	if (it == end && span->long_count == IFP_IMPORT_SPAN_LONGS) {
		span->scattered++;
		return;
	}
	if (it == end) {
		span->long_count++;
		*it = (struct ifp_import_long){start_key, end_key, end_ns, 0};
	}
	it->count++;
	if (end_ns > it->last_ns)
		it->last_ns = end_ns;
}

void ifp_import_span_add(struct ifp_import_span *span, int64_t start_ns, int64_t end_ns)
{
	int64_t key = key_of(start_ns);
	struct ifp_import_stretch *stretch = find(span, key);

	if (!stretch && span->count == IFP_IMPORT_SPAN_STRETCHES) {
		span->scattered++;
		return;
	}
	if (!stretch) {
		span->recent = span->count;
		stretch = &span->stretches[span->count++];
		*stretch = (struct ifp_import_stretch){key, start_ns, start_ns, 0};
	}
	stretch->count++;
	if (start_ns < stretch->first_ns)
		stretch->first_ns = start_ns;
	if (start_ns > stretch->last_ns)
		stretch->last_ns = start_ns;
	if (is_long(start_ns, end_ns))
		add_long(span, start_ns, end_ns);
	else if (end_ns > stretch->last_ns)
		stretch->last_ns = end_ns;
}

static int compare(const void *a, const void *b)
{
	const struct ifp_import_stretch *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static bool are_neighbours(int64_t low_key, int64_t high_key)
{
	int64_t distance;

	return !__builtin_sub_overflow(high_key, low_key, &distance) && distance <= NEIGHBOUR;
}

/* Of the long slices that begin in the span: how many cannot end where they say. */
static uint64_t judge_longs(
	const struct ifp_import_span *span, int64_t low_key, int64_t high_key, int64_t *last_ns)
{
	uint64_t outside = 0;

	for (uint32_t i = 0; i < span->long_count; i++) {
		const struct ifp_import_long *it = &span->longs[i];

		if (it->start_key < low_key || it->start_key > high_key)
			continue; /* counted by its start */
		if (it->end_key > high_key && !are_neighbours(high_key, it->end_key))
			outside += it->count;
		else if (it->last_ns > *last_ns)
			*last_ns = it->last_ns;
	}
	return outside;
}

uint64_t ifp_import_span_find(struct ifp_import_span *span, int64_t *first_ns, int64_t *last_ns)
{
	const struct ifp_import_stretch *stretches = span->stretches;
	uint64_t outside = span->scattered;
	uint32_t busiest = 0, low, high;

	*first_ns = *last_ns = 0;
	if (!span->count)
		return outside;
	qsort(span->stretches, span->count, sizeof(*stretches), compare);
	span->recent = 0;
	for (uint32_t i = 0; i < span->count; i++)
		if (stretches[i].count > stretches[busiest].count)
			busiest = i;
	for (low = busiest; low && are_neighbours(stretches[low - 1].key, stretches[low].key);
		low--)
		;
	for (high = busiest; high + 1 < span->count &&
			     are_neighbours(stretches[high].key, stretches[high + 1].key);
		high++)
		;
	for (uint32_t i = 0; i < span->count; i++)
		outside += i < low || i > high ? stretches[i].count : 0;
	*first_ns = stretches[low].first_ns;
	for (uint32_t i = low; i <= high; i++)
		if (i == low || stretches[i].last_ns > *last_ns)
			*last_ns = stretches[i].last_ns;
	return outside + judge_longs(span, stretches[low].key, stretches[high].key, last_ns);
}
