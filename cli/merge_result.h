/* SPDX-License-Identifier: Apache-2.0 */
/* What infprof merge says about what it has read and made. */
#pragma once

#include "collector/import/import.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* A line for each fault, up to a number; the report has them all. */
void ifp_merge_warn(const struct ifp_import *import);

/* {"error": the causes that there are now}, which stay; nothing without json. */
void ifp_merge_print_failure(bool json);

/*
 * Prints the result, to which ifp_outputs_draw() has added its members, as text or as JSON (with
 * all sources and notes). -ENOMEM.
 */
int ifp_merge_print(const struct ifp_import *import, cJSON *result, bool json);
