/* SPDX-License-Identifier: Apache-2.0 */
#include "core/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t ifp_checksum(const void *data, size_t len_bytes)
{
	return XXH3_64bits(data ? data : "", len_bytes);
}
