/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to numbers: ids of one name space to places in another. Any key but UINT64_MAX. */
#pragma once

#include "core/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_id_map {
	struct ifp_id_slot *slots; /* open addressing */
	uint32_t capacity;	   /* power of two */
	uint32_t count;
};

/* Sets the value of key, new or not: 0 or -ENOMEM. */
int ifp_id_map_set(struct ifp_id_map *map, uint64_t key, uint64_t value);

/* False, and *value untouched, when the key is not there. */
bool ifp_id_map_get(const struct ifp_id_map *map, uint64_t key, uint64_t *value);

void ifp_id_map_free(struct ifp_id_map *map);

#define IFP_CLEANUP_ID_MAP IFP_CLEANUP(ifp_id_map_free)
