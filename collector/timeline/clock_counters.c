/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/timeline/clock_counters.h"

#include <math.h>
#include <stdio.h>

/* Between two exchanges there is one peak: so many intervals show it. */
#define INTERVALS_PER_EPOCH 50u

struct stretch {
	int64_t base_ns; /* of the run, on the job's clock */
	int64_t start_ns, end_ns;
	uint32_t count; /* intervals */
};

static int64_t edge_ns(const struct stretch *stretch, uint32_t k)
{
	__int128 length_ns = (__int128)stretch->end_ns - stretch->start_ns;

	return stretch->start_ns + (int64_t)(length_ns * k / stretch->count);
}

static ifp_global_ns job_time(const struct stretch *stretch, int64_t at_ns)
{
	return (ifp_global_ns){stretch->base_ns + at_ns};
}

static int64_t bound_ns(const struct ifp_clock_map *map, const struct stretch *stretch, uint32_t k)
{
	return ifp_clock_map_bound_max_ns(map, job_time(stretch, edge_ns(stretch, k)),
		job_time(stretch, edge_ns(stretch, k + 1)));
}

static int64_t sigma_ns(const struct ifp_clock_map *map, const struct stretch *stretch, uint32_t k)
{
	struct ifp_clock_epoch start =
		ifp_clock_map_at(map, job_time(stretch, edge_ns(stretch, k)));
	struct ifp_clock_epoch end =
		ifp_clock_map_at(map, job_time(stretch, edge_ns(stretch, k + 1)));

	return llround(fmax(start.sigma_ns, end.sigma_ns));
}

static int add_track(const struct ifp_clock_map *map, const struct stretch *stretch,
	const char *name,
	int64_t (*value)(
		const struct ifp_clock_map *map, const struct stretch *stretch, uint32_t k),
	struct ifp_counters *counters)
{
	struct ifp_counter counter = {.unit = "us", .decimals = 3};
	IFP_CLEANUP_SAMPLES struct ifp_samples samples = {0};
	int64_t last = -1;
	int err = 0;

	for (uint32_t k = 0; k < stretch->count && !err; k++) {
		int64_t here = value(map, stretch, k);

		if (here != last)
			err = ifp_samples_add(&samples, edge_ns(stretch, k), here);
		last = here;
	}
	if (err)
		return err;
	counter.samples = samples;
	snprintf(counter.name, sizeof(counter.name), "%s", name);
	err = ifp_counters_add(counters, &counter);
	if (!err)
		samples = (struct ifp_samples){0};
	return err;
}

int ifp_counters_add_clock(const struct ifp_run *run, uint32_t i, int64_t start_ns, int64_t end_ns,
	uint32_t max_points, struct ifp_counters *counters)
{
	const struct ifp_clock_map *map = ifp_run_rank(run, i)->map;
	struct stretch stretch = {ifp_run_base(run).ns, start_ns, end_ns, max_points};
	uint32_t epochs;
	int err;

	if (start_ns >= end_ns || !ifp_run_leads_clock(run, i))
		return 0;
	epochs = ifp_clock_map_epoch_count(map);
	if (epochs < max_points / INTERVALS_PER_EPOCH)
		stretch.count = epochs * INTERVALS_PER_EPOCH;
	err = add_track(map, &stretch, "clock bound", bound_ns, counters);
	return err ? err : add_track(map, &stretch, "clock sigma", sigma_ns, counters);
}
