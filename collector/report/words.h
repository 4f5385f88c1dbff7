/* SPDX-License-Identifier: Apache-2.0 */
/* How reports say numbers to people. */
#pragma once

#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* "312 ms", "1.25 s", "45.2 us", "0": three digits that mean something. */
void ifp_words_duration(struct ifp_buf *out, int64_t ns);

/* "-318 ns" below 1 ms, "+137.000012345 s" above: exact, as offsets of clocks are to be compared.
 */
void ifp_words_offset(struct ifp_buf *out, int64_t ns);

/* "30 to 115 ms": one unit for both, that of the larger one. */
void ifp_words_range(struct ifp_buf *out, int64_t low_ns, int64_t high_ns);

/* "1 step", "5 steps". */
void ifp_words_count(struct ifp_buf *out, uint64_t count, const char *singular);

/* "rank 3", "ranks 0 to 2, 5": of the numbers below limit those that belong to it, in order. */
void ifp_words_ranks(struct ifp_buf *out, uint32_t limit,
	bool (*belongs)(const void *context, uint32_t rank), const void *context);
