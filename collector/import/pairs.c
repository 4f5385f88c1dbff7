/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/import/pairs.h"

#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

#define SIDES UINT64_C(3)
#define SMALLEST 1024u

/* Steele, Lea, Flood 2014: the finalizer of SplitMix64, a bijection. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The slot of a hash, or the free one where it belongs. At most half of the slots are taken. */
static uint64_t *find(const struct ifp_import_pairs *pairs, uint64_t hash)
{
	uint32_t i = (uint32_t)(hash >> 32) & (pairs->capacity - 1);

	while (pairs->slots[i] && (pairs->slots[i] & ~SIDES) != hash)
		i = (i + 1) & (pairs->capacity - 1);
	return &pairs->slots[i];
}

static int grow(struct ifp_import_pairs *pairs)
{
	struct ifp_import_pairs larger = {
		.capacity = pairs->capacity ? pairs->capacity * 2 : SMALLEST};

	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return ifp_fail(-ENOMEM, "no memory for %u ids", larger.capacity);
	for (uint32_t i = 0; i < pairs->capacity; i++)
		if (pairs->slots[i])
			*find(&larger, pairs->slots[i] & ~SIDES) = pairs->slots[i];
	larger.count = pairs->count;
	larger.full = pairs->full;
	free(pairs->slots);
	*pairs = larger;
	return 0;
}

int ifp_import_pairs_add(struct ifp_import_pairs *pairs, uint64_t id, enum ifp_import_side side)
{
	uint64_t hash = mix(id) & ~SIDES, *slot;

	if (pairs->count >= pairs->capacity / 2 && pairs->count < IFP_IMPORT_PAIRS_MAX) {
		int err = grow(pairs);

		if (err)
			return err;
	}
	slot = find(pairs, hash);
	if (!*slot && pairs->count >= IFP_IMPORT_PAIRS_MAX) {
		pairs->full = true;
		return 0;
	}
	pairs->count += !*slot;
	*slot = hash | (*slot & SIDES) | (uint64_t)side;
	return 0;
}

uint64_t ifp_import_pairs_count(const struct ifp_import_pairs *pairs, unsigned int sides)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < pairs->capacity; i++)
		count += pairs->slots[i] && (pairs->slots[i] & SIDES) == sides;
	return count;
}

void ifp_import_pairs_free(struct ifp_import_pairs *pairs)
{
	free(pairs->slots);
	*pairs = (struct ifp_import_pairs){0};
}
