/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sequence numbers of which ranks an archive holds. Frames arrive nearly in order, so the
 * numbers are kept as ranges: one per rank as long as nothing is missing. Owned by one thread; {0}
 * is a valid empty set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ifp_sequence_range {
	uint64_t first, last;
};

struct ifp_sequence_rank {
	uint32_t rank;
	uint32_t count;
	size_t capacity;
	struct ifp_sequence_range *ranges; /* ascending, with gaps between them */
};

struct ifp_sequence_set {
	struct ifp_sequence_rank *ranks; /* ascending */
	uint32_t count;
	size_t capacity;
};

/*
 * Adds a number: 0 and *added (false: it was there already), or -ENOMEM. After *added the number
 * can be taken out again with ifp_sequence_set_remove() of the same number, which cannot fail.
 */
int ifp_sequence_set_add(
	struct ifp_sequence_set *set, uint32_t rank, uint64_t sequence, bool *added);
void ifp_sequence_set_remove(struct ifp_sequence_set *set, uint32_t rank, uint64_t sequence);

/* Highest number such that it and all from 1 before it are in the set; 0 = not even 1 is. */
uint64_t ifp_sequence_set_contiguous(const struct ifp_sequence_set *set, uint32_t rank);

void ifp_sequence_set_free(struct ifp_sequence_set *set);
