/* SPDX-License-Identifier: Apache-2.0 */
/* The median without sorting: selection by Hoare (1961), linear in the mean. */
#pragma once

#include <stdint.h>

/* values[count / 2] of the sorted array; reorders it. 0 when there are none. No NaNs. */
double ifp_median(double *values, uint32_t count);
