/* SPDX-License-Identifier: Apache-2.0 */
/* The args of an event as stats of xprof: those that it analyses, and all others as they are. */
#pragma once

#include "core/buf.h"
#include "trace/xplane/writer.h"

/*
 * Adds every member of args, a JSON object, to the open event. Of work on a GPU (on_device), what
 * the lane or kernel_details tells is left out.
 */
void ifp_xplane_args(struct ifp_xplane_plane *plane, struct ifp_str args, bool on_device);

/*
 * Adds how a kernel was launched (kernel_details), or what a copy moved (memcpy_details), in the
 * form that xprof reads. text is for scratch.
 */
void ifp_xplane_kernel(struct ifp_xplane_plane *plane, struct ifp_str args, struct ifp_buf *text);
void ifp_xplane_copy(struct ifp_xplane_plane *plane, struct ifp_str args, struct ifp_buf *text);
