/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that grow: a pointer to the elements (NULL at first) and how many there is room for (0 at
 * first). Whoever owns the pointer frees it with free(). The number of elements in use is the
 * owner's own. And where something stands in one that is sorted.
 */
#pragma once

#include <stddef.h>

/*
 * Makes room for at least needed elements; room at least doubles when it grows, so that adding one
 * at a time costs constant time on average. *items is a pointer to elements of element_bytes, which
 * may move. 0, or -ENOMEM with a cause that names them ("frames"); both are as before then.
 */
int ifp_array_reserve(
	void *items, size_t element_bytes, size_t *capacity, size_t needed, const char *name);

/* Room for more elements beyond count; items and capacity are the owner's own two variables. */
#define IFP_ARRAY_RESERVE(items, capacity, count, more, name)                                      \
	((size_t)(count) + (more) <= (capacity)                                                    \
			? 0                                                                        \
			: ifp_array_reserve(&(items), sizeof(*(items)), &(capacity),               \
				  (size_t)(count) + (more), name))

/*
 * The first of the places 0 to count - 1 for which is_before, an expression of place, is false;
 * count when it is true for all. It has to be true up to some place and false from there on.
 */
#define IFP_ARRAY_LOWER_BOUND(place, count, is_before)                                             \
	({                                                                                         \
		__typeof__((count) + 0u) ifp_low = 0, ifp_high = (count);                          \
		while (ifp_low < ifp_high) {                                                       \
			__typeof__(ifp_low) place = ifp_low + (ifp_high - ifp_low) / 2;            \
			if (is_before)                                                             \
				ifp_low = place + 1;                                               \
			else                                                                       \
				ifp_high = place;                                                  \
		}                                                                                  \
		ifp_low;                                                                           \
	})
