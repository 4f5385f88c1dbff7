/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a run: all ranks on one time axis, one process row each, with what is shown and
 * where. Which format it becomes is the sink's business (sink.h).
 *
 * One rank is in memory at a time. What is not drawn becomes rows of the run's ledger
 * ("timeline-left-out").
 */
#pragma once

#include "collector/timeline/sink.h"

/* Draws everything into the sink, which the caller closes, or abandons on failure. */
int ifp_picture_draw(struct ifp_run *run, struct ifp_sink *sink);
