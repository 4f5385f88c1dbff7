/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs that draw a part of a run say of what is not in it. */
#pragma once

#include "collector/timeline/excerpt.h"

/* Warns of ranks and events that are left out. where: what has the events, "" = nothing. */
void ifp_excerpt_warn(const struct ifp_excerpt_result *result, const char *where);
