/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/report/headline.h"

#include "trace/wire/document.h"

#include <string.h>

static bool seen_before(const struct ifp_run *run, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++) {
		if (strcmp(ifp_run_rank(run, j)->host, ifp_run_rank(run, i)->host) == 0)
			return true;
	}
	return false;
}

/* A trace that was imported need not say where it is from. */
static bool rank_host_known(const struct ifp_run_rank *rank)
{
	return !rank->imported || ifp_document_get_text(rank->document, "host");
}

struct ifp_job ifp_job_of(const struct ifp_run *run)
{
	struct ifp_job job = {.world = ifp_run_world(run), .one_clock = true};

	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++) {
		const struct ifp_run_rank *rank = ifp_run_rank(run, i);
		struct ifp_clock_summary clock;

		job.imported = job.imported || rank->imported;
		job.hosts += rank_host_known(rank) && !seen_before(run, i);
		if (!rank->map)
			continue;
		clock = ifp_clock_map_summary(rank->map);
		job.ranks++;
		job.one_clock = job.one_clock && clock.method == IFP_CLOCK_SHARED;
		if (clock.bound_ns > job.bound_ns)
			job.bound_ns = clock.bound_ns;
	}
	if (job.world < ifp_run_rank_count(run))
		job.world = ifp_run_rank_count(run);
	return job;
}
