/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a GPU, as xprof reads it. */
#pragma once

#include "collector/store/run.h"
#include "trace/xplane/writer.h"

/* Adds name, memory, ... to the plane of a device, once, where the rank's trace told them. */
void ifp_xplane_device(
	struct ifp_xplane_plane *plane, const struct ifp_run_rank *rank, int64_t device);
