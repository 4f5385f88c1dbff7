/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/id_map.h"

#include "core/error.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 1024

struct ifp_id_slot {
	uint64_t key; /* UINT64_MAX = empty */
	uint64_t value;
};

/* Fibonacci hashing (Knuth, TAOCP 6.4): neighbouring ids come apart. */
static uint32_t home(const struct ifp_id_map *map, uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (map->capacity - 1);
}

static struct ifp_id_slot *find(const struct ifp_id_map *map, uint64_t key)
{
	uint32_t i = home(map, key);

	while (map->slots[i].key != UINT64_MAX && map->slots[i].key != key)
		i = (i + 1) & (map->capacity - 1);
	return &map->slots[i];
}

static int grow(struct ifp_id_map *map)
{
	struct ifp_id_map bigger = {
		.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
		.count = map->count,
	};

	bigger.slots = malloc(bigger.capacity * sizeof(*bigger.slots));
	if (!bigger.slots)
		return ifp_fail(-ENOMEM, "out of memory for %u ids", bigger.capacity);
	for (uint32_t i = 0; i < bigger.capacity; i++)
		bigger.slots[i].key = UINT64_MAX;
	for (uint32_t i = 0; i < map->capacity; i++)
		if (map->slots[i].key != UINT64_MAX)
			*find(&bigger, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = bigger;
	return 0;
}

int ifp_id_map_set(struct ifp_id_map *map, uint64_t key, uint64_t value)
{
	struct ifp_id_slot *slot;

	if (map->count >= map->capacity / 2) {
		int err = grow(map);

		if (err)
			return err;
	}
	slot = find(map, key);
	map->count += slot->key == UINT64_MAX;
	*slot = (struct ifp_id_slot){key, value};
	return 0;
}

bool ifp_id_map_get(const struct ifp_id_map *map, uint64_t key, uint64_t *value)
{
	const struct ifp_id_slot *slot;

	if (!map->capacity)
		return false;
	slot = find(map, key);
	if (slot->key == UINT64_MAX)
		return false;
	*value = slot->value;
	return true;
}

void ifp_id_map_free(struct ifp_id_map *map)
{
	free(map->slots);
	*map = (struct ifp_id_map){0};
}
