/* SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"

#include "core/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 8

int ifp_array_reserve(
	void *items, size_t element_bytes, size_t *capacity, size_t needed, const char *name)
{
	size_t more = *capacity < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : 2 * *capacity;
	void *old, *grown = NULL;
	size_t bytes;

	if (needed <= *capacity)
		return 0;
	if (more < needed)
		more = needed;
	memcpy(&old, items, sizeof(old));
	if (!__builtin_mul_overflow(more, element_bytes, &bytes))
		grown = realloc(old, bytes);
	if (!grown)
		return ifp_fail(-ENOMEM, "no memory for %zu %s", more, name);
	memcpy(items, &grown, sizeof(grown));
	*capacity = more;
	return 0;
}
