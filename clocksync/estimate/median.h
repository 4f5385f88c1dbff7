/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The median without sorting: selection by Hoare (1961), linear in the mean. Its name is not that of
 * collector/analyse, whose median is of whole numbers: the linker would take one for both.
 */
#pragma once

#include <stdint.h>

/* values[count / 2] of the sorted array; reorders it. 0 when there are none. No NaNs. */
double ifp_select_median(double *values, uint32_t count);
