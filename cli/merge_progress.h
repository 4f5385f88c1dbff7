/* SPDX-License-Identifier: Apache-2.0 */
/* The bar that `infprof merge` shows while it reads. */
#pragma once

#include "collector/import/import.h"

struct ifp_merge_progress {
	bool shown;	  /* stderr is a terminal */
	int64_t since_ns; /* when the reading began */
};

void ifp_merge_progress_start(struct ifp_merge_progress *progress);
/* As ifp_import_options.progress, with the bar as context: 0. */
int ifp_merge_progress_show(void *context, const struct ifp_import_progress *now);
/* Takes the bar away again. */
void ifp_merge_progress_end(const struct ifp_merge_progress *progress);
