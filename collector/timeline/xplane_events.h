/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a rank as xprof understands them; calls as in sink.h. */
#pragma once

#include "collector/timeline/xplane_file.h"

void ifp_xplane_slice(struct ifp_xplane_file *file, const struct ifp_sink_slice *slice);
void ifp_xplane_moment(struct ifp_xplane_file *file, const struct ifp_sink_moment *moment);

/*
 * The rank's steps on each of its GPUs. xprof looks for steps on a GPU only, if there is one: from
 * the first to the last event of a step there, and the longest such stretch where events of another
 * step lie between them. With these slices that is the step itself.
 */
void ifp_xplane_device_steps(struct ifp_xplane_file *file);
