/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is made of a run's archive: timelines, report, the verdict for the terminal. */
#pragma once

#include "core/timeline_limits.h"

#include <cjson/cJSON.h>

/* At most so many lines of the ledger go to the terminal; report.txt has them all. */
#define IFP_OUTPUTS_MAX_LINES 20

/*
 * Draws the archive into the directory (which exists), and adds the members of VERDICT
 * (docs/protocol.md) to verdict. Where the timeline cannot be drawn the report is made all the
 * same, a line says so, and verdict has the member "undrawn". 0 or negative errno when there is no
 * verdict.
 */
int ifp_outputs_draw(const char *archive, const char *output,
	const struct ifp_timeline_limits *limits, cJSON *verdict);
