/* SPDX-License-Identifier: Apache-2.0 */
/* infprof clock --json. Times are ns since the run's base; integers in full. */
#include "collector/report/clocks.h"

#include "collector/report/gpus.h"
#include "collector/report/json_words.h"

#include <inttypes.h>

#define SCHEMA 2 /* 1 had "clock" in place of "method" and "over" */

static void append_epoch(
	struct ifp_buf *out, const struct ifp_run *run, const struct ifp_clock_epoch *epoch)
{
	ifp_buf_printf(out,
		"{\"at_ns\":%" PRId64 ",\"offset_ns\":%" PRId64
		",\"rate_ppm\":%.6f,\"sigma_ns\":%.3f,\"low_ns\":%" PRId64 ",\"high_ns\":%" PRId64
		"},",
		epoch->at.ns - ifp_run_base(run).ns, epoch->offset_ns, epoch->rate_ppm,
		epoch->sigma_ns, epoch->low_ns, epoch->high_ns);
}

void ifp_clocks_json_method(const struct ifp_clock_map *map, struct ifp_buf *out)
{
	static const char *const methods[] = {[IFP_CLOCK_SHARED] = "shared",
		[IFP_CLOCK_EXCHANGED] = "exchanged",
		[IFP_CLOCK_UNALIGNED] = "unaligned",
		[IFP_CLOCK_COLLECTIVES] = "collectives"};
	struct ifp_clock_summary clock;

	if (!map) {
		ifp_json_words_member(out, "method", NULL);
		return;
	}
	clock = ifp_clock_map_summary(map);
	ifp_json_words_member(out, "method", methods[clock.method]);
	ifp_json_words_member(out, "over",
		clock.method != IFP_CLOCK_EXCHANGED ? NULL
		: clock.over_mpi		    ? "mpi"
						    : "zmq");
}

void ifp_clocks_json_members(const struct ifp_clock_summary *clock, struct ifp_buf *out)
{
	if (clock->method == IFP_CLOCK_UNALIGNED)
		ifp_buf_append_text(out, "\"offset_ns\":null,\"rate_ppm\":null,\"sigma_ns\":null,");
	else
		ifp_buf_printf(out,
			"\"offset_ns\":%" PRId64 ",\"rate_ppm\":%.6f,\"sigma_ns\":%.3f,",
			clock->offset_ns, clock->rate_ppm, clock->sigma_ns);
	ifp_json_words_bound(out, "bound_ns", clock->bound_ns);
}

static void append_repairs(struct ifp_buf *out, const struct ifp_clock_map *map)
{
	struct ifp_clock_repairs repairs = ifp_clock_map_repairs(map);

	ifp_buf_printf(out,
		"\"order\":{\"ends\":%" PRIu64 ",\"moved\":%" PRIu64 ",\"largest_ns\":%" PRId64
		",\"stretch_ns\":%" PRId64 ",\"left\":%" PRIu64 ",\"largest_left_ns\":%" PRId64
		"},",
		repairs.exits, repairs.repaired, repairs.largest_ns, repairs.stretch_ns,
		repairs.left, repairs.largest_left_ns);
}

static void append_rank(struct ifp_buf *out, const struct ifp_run *run, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(run, i);
	struct ifp_clock_summary clock;

	ifp_buf_printf(out, "{\"rank\":%u,", rank->rank);
	ifp_json_words_member(out, "host", rank->host);
	ifp_clocks_json_method(rank->map, out);
	if (!rank->map) {
		ifp_json_words_end(out, "},");
		return;
	}
	clock = ifp_clock_map_summary(rank->map);
	ifp_clocks_json_members(&clock, out);
	append_repairs(out, rank->map);
	ifp_buf_printf(out, "\"calls\":%u,\"realtime_steps\":%" PRId64 ",\"epochs\":[", clock.calls,
		clock.realtime_steps);
	for (uint32_t k = 0; k < ifp_clock_map_epoch_count(rank->map); k++) {
		struct ifp_clock_epoch epoch = ifp_clock_map_epoch(rank->map, k);

		append_epoch(out, run, &epoch);
	}
	ifp_json_words_end(out, "]},");
}

void ifp_clocks_json(const struct ifp_run *run, struct ifp_buf *out)
{
	ifp_buf_printf(out,
		"{\"schema\":%d,\"drift_assumed_ppm\":%" PRId64 ",\"reference\":", SCHEMA,
		ifp_run_drift_ppm(run));
	if (ifp_run_reference(run) == UINT32_MAX)
		ifp_buf_append_text(out, "null");
	else
		ifp_buf_printf(out, "%u", ifp_run_rank(run, ifp_run_reference(run))->rank);
	ifp_buf_append_text(out, ",\"ranks\":[");
	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++)
		append_rank(out, run, i);
	ifp_json_words_end(out, "],");
	ifp_gpus_json(run, out);
	ifp_json_words_end(out, "}\n");
}
