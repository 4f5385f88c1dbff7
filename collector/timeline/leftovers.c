/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/leftovers.h"

#include "core/cleanup.h"
#include "core/str.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_DIRECTORIES 8

/* By the names that ranks.c, sink_xplane.c and trace/output.c give. */
static int remove_unfinished(const char *path, const struct stat *st, int flag, struct FTW *place)
{
	(void)st;
	(void)flag;
	(void)place;
	if (ifp_str_ends_with(ifp_str(path), ".partial") ||
		ifp_str_ends_with(ifp_str(path), ".pt.trace.waiting.gz") ||
		strstr(path, "/plugins/.drawing-"))
		remove(path);
	return 0;
}

void ifp_leftovers_remove(const char *output_dir)
{
	static const char *const parts[] = {"merged", "ranks", "perfetto", "plugins"};

	for (size_t i = 0; i < IFP_ARRAY_SIZE(parts); i++) {
		IFP_CLEANUP_FREE char *path = NULL;

		if (asprintf(&path, "%s/%s", output_dir, parts[i]) < 0)
			path = NULL;
		else
			nftw(path, remove_unfinished, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
	}
}
