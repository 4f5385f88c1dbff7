/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum of blocks and hash of strings: XXH3, 64 bits (github.com/Cyan4973/xxHash). */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t ifp_checksum(const void *data, size_t len_bytes);
