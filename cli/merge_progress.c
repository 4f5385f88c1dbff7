/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/merge_progress.h"

#include "core/clock.h"

#include <stdio.h>
#include <unistd.h>

#define BAR_CELLS 20u
#define CLEAR_LINE "\r\033[K"

void ifp_merge_progress_start(struct ifp_merge_progress *progress)
{
	progress->shown = isatty(STDERR_FILENO);
	progress->since_ns = ifp_clock_raw_ns();
}

int ifp_merge_progress_show(void *context, const struct ifp_import_progress *now)
{
	const struct ifp_merge_progress *progress = context;
	double share = now->file_bytes ? (double)now->file_bytes_done / (double)now->file_bytes : 1;
	double bar = share < 1 ? share : 1; /* a file may have grown since it was found */
	double seconds = (double)(ifp_clock_raw_ns() - progress->since_ns) / IFP_NS_PER_S;
	unsigned int cells = (unsigned int)(bar * BAR_CELLS);

	if (!progress->shown)
		return 0;
	if (now->processes) {
		fprintf(stderr, CLEAR_LINE "waiting for the part of %u other process%s",
			now->processes, now->processes == 1 ? "" : "es");
		return 0;
	}
	fprintf(stderr, CLEAR_LINE "[%.*s%*s] %u of %u files, %.1f M events, %.1f M/s", (int)cells,
		"####################", (int)(BAR_CELLS - cells), "", now->files_done, now->files,
		(double)now->events / 1e6, seconds > 0 ? (double)now->events / 1e6 / seconds : 0);
	if (share > 0 && share < 1)
		fprintf(stderr, ", %.0f s left", seconds * (1 - share) / share);
	return 0;
}

void ifp_merge_progress_end(const struct ifp_merge_progress *progress)
{
	if (progress->shown)
		fputs(CLEAR_LINE, stderr);
}
