/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all fuzz targets share. A target is called by libFuzzer with bytes that it makes up, again
 * and again in one process: it keeps no state from one call to the next.
 */
#pragma once

#include "core/str.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* What must hold; the sanitizers' death callback makes libFuzzer keep the input. */
#define require(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Touches every byte, so that a sanitizer sees those that do not belong to the text. */
static inline unsigned int fuzz_touch(struct ifp_str text)
{
	unsigned int sum = 0;

	for (uint32_t i = 0; i < text.len_bytes; i++)
		sum += (unsigned char)text.ptr[i];
	return sum;
}
