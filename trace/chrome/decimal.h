/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal text of JSON numbers to integers, exactly: no double in between. */
#pragma once

#include "core/str.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The value of a JSON number in microseconds ("-12.0625", "5e3") as nanoseconds, rounded to the
 * nearest (halves away from zero) where it is finer. False when it does not fit an int64_t or the
 * text is no number; *ns untouched then.
 */
bool ifp_decimal_us_to_ns(struct ifp_str text, int64_t *ns);

/* A plain integer ("-12"; no fraction, no exponent) that fits an int64_t. */
bool ifp_decimal_int(struct ifp_str text, int64_t *value);
