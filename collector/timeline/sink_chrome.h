/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture as one file for the Trace view of TensorBoard's PyTorch plug-in. For display only:
 * its categories are such that the plug-in analyses nothing, apart from the steps of the first rank
 * that has some, without which its Overview would show nonsense.
 */
#pragma once

#include "collector/timeline/sink.h"

/* The budget counts bytes of JSON, before compression: what a browser loads. */
int ifp_sink_chrome_open(const char *path, const struct ifp_run *run,
	const struct ifp_budget *budget, struct ifp_sink **out);
