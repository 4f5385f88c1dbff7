/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merged timeline: one process row per rank, all on the run's time axis. For display only:
 * its categories are such that the plug-in analyses nothing, apart from the steps of the first rank
 * that has some, without which its Overview would show nonsense.
 */
#pragma once

#include "collector/timeline/timeline.h"

int ifp_merged_write(struct ifp_run *run, const char *path, struct ifp_timeline_file *file);
