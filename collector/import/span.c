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

void ifp_import_span_add(struct ifp_import_span *span, int64_t start_ns, int64_t end_ns)
{
	int64_t key = start_ns & ~((INT64_C(1) << STRETCH_BITS) - 1);
	struct ifp_import_stretch *stretch = find(span, key);

	if (!stretch && span->count == IFP_IMPORT_SPAN_STRETCHES) {
		span->scattered++;
		return;
	}
	if (!stretch) {
		span->recent = span->count;
		stretch = &span->stretches[span->count++];
		*stretch = (struct ifp_import_stretch){key, start_ns, end_ns, 0};
	}
	stretch->count++;
	if (start_ns < stretch->first_ns)
		stretch->first_ns = start_ns;
	if (end_ns > stretch->last_ns)
		stretch->last_ns = end_ns;
}

static int compare(const void *a, const void *b)
{
	const struct ifp_import_stretch *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static bool are_neighbours(const struct ifp_import_stretch *low)
{
	int64_t distance;

	return !__builtin_sub_overflow(low[1].key, low[0].key, &distance) && distance <= NEIGHBOUR;
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
	for (low = busiest; low && are_neighbours(&stretches[low - 1]); low--)
		;
	for (high = busiest; high + 1 < span->count && are_neighbours(&stretches[high]); high++)
		;
	for (uint32_t i = 0; i < span->count; i++)
		outside += i < low || i > high ? stretches[i].count : 0;
	*first_ns = stretches[low].first_ns;
	for (uint32_t i = low; i <= high; i++)
		if (i == low || stretches[i].last_ns > *last_ns)
			*last_ns = stretches[i].last_ns;
	return outside;
}
