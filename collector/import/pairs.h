/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must come in pairs: the start and the end of an arrow, a launch and its kernel. A table of
 * ids with the sides that were seen, 8 bytes an id; beyond its limit new ids are not counted, so
 * memory does not grow with the file. Private to collector/import.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define IFP_IMPORT_PAIRS_MAX 262144u /* ids */

enum ifp_import_side {
	IFP_IMPORT_SIDE_FIRST = 1,
	IFP_IMPORT_SIDE_SECOND = 2,
};

/* {0} is empty. */
struct ifp_import_pairs {
	uint64_t *slots; /* hash of an id, with its sides in the low two bits; 0 = free */
	uint32_t capacity, count;
	bool full; /* an id was not counted */
};

/* id is any number that stands for the pair. 0 or -ENOMEM. */
int ifp_import_pairs_add(struct ifp_import_pairs *pairs, uint64_t id, enum ifp_import_side side);

/* Ids of which exactly the given sides (one, or both ored) were seen. */
uint64_t ifp_import_pairs_count(const struct ifp_import_pairs *pairs, unsigned int sides);

void ifp_import_pairs_free(struct ifp_import_pairs *pairs);
