/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the times of a run's GPUs stand to their hosts': estimates of what the recording tool does,
 * kept apart from what is said of clocks. Of ranks whose events have been read, or looked at
 * (ifp_run_look_for_gpus()).
 */
#pragma once

#include "collector/store/run.h"
#include "core/buf.h"

#include <stdbool.h>

/* Whether there is any GPU to tell of. */
bool ifp_gpus_any(const struct ifp_run *run);

/* Append a table with a heading, or "gpus":[...] with a comma behind it; nothing and [] without
 * GPUs. A lack of memory shows in the buffer's status. */
void ifp_gpus_text(const struct ifp_run *run, struct ifp_buf *out);
void ifp_gpus_json(const struct ifp_run *run, struct ifp_buf *out);
