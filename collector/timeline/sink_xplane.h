/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture for xprof, TensorBoard's profile plug-in (docs/timeline.md): one file for each rank,
 * output_dir/plugins/profile/<start of the run>/rankNNNN.xplane.pb, with everything in it. The
 * directory is a new one for each drawing, since xprof never looks again at a file that it has
 * seen.
 *
 * Each event states the step that it belongs to, work on a GPU that of the call that launched it,
 * so that xprof's step times are those of the run; it would guess them otherwise.
 */
#pragma once

#include "collector/timeline/sink.h"

int ifp_sink_xplane_open(struct ifp_run *run, const char *output_dir, struct ifp_sink **out);
