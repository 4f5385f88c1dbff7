/* SPDX-License-Identifier: Apache-2.0 */
/* The table of infprof clock. */
#include "collector/report/clocks.h"

#include "collector/report/gpus.h"
#include "collector/report/words.h"
#include "core/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *on, *off;
} alarms[] = {
	[IFP_CLOCKS_PLAIN] = {"", ""},
	[IFP_CLOCKS_TERMINAL] = {"\033[1;31m", "\033[0m"},
	[IFP_CLOCKS_PAGE] = {"<b class=\"alarm\">", "</b>"},
};

const char *ifp_clocks_method(const struct ifp_run *run, uint32_t i)
{
	const struct ifp_clock_map *map = ifp_run_rank(run, i)->map;
	struct ifp_clock_summary clock;

	if (!map)
		return "no readings";
	clock = ifp_clock_map_summary(map);
	switch (clock.method) {
	case IFP_CLOCK_SHARED:
		return i == ifp_run_reference(run) ? "reference" : "shared";
	case IFP_CLOCK_EXCHANGED:
		return clock.over_mpi ? "MPI" : "ZeroMQ";
	case IFP_CLOCK_COLLECTIVES:
		return "collectives";
	case IFP_CLOCK_UNALIGNED:
		break;
	}
	return "NOT ALIGNED";
}

int64_t ifp_clocks_bound(const struct ifp_clock_epoch *epoch)
{
	int64_t above, below;

	if (__builtin_sub_overflow(epoch->high_ns, epoch->offset_ns, &above) ||
		__builtin_sub_overflow(epoch->offset_ns, epoch->low_ns, &below))
		return INT64_MAX;
	return above > below ? above : below;
}

/* Seconds, exact to the nanosecond. */
static void append_offset(struct ifp_buf *out, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char text[40];

	snprintf(text, sizeof(text), "%c%" PRIu64 ".%09" PRIu64 " s", ns < 0 ? '-' : '+',
		size / IFP_NS_PER_S, size % IFP_NS_PER_S);
	ifp_buf_printf(out, "  %22s", text);
}

static void append_duration(struct ifp_buf *out, int64_t ns)
{
	struct ifp_buf words = {0};

	if (ns == INT64_MAX)
		ifp_buf_append_text(&words, "none");
	else
		ifp_words_duration(&words, ns);
	ifp_buf_printf(out, "  %8.*s", (int)words.len_bytes, (const char *)words.data);
	ifp_buf_free(&words);
}

/* Two different kinds of number: what was estimated, and what is certain. */
static void append_uncertainty(struct ifp_buf *out, double sigma_ns, int64_t bound_ns)
{
	append_duration(out, (int64_t)(sigma_ns + 0.5));
	append_duration(out, bound_ns);
}

/* The only text that is not infprof's own. */
static void append_host(struct ifp_buf *out, const char *host, enum ifp_clocks_medium medium)
{
	size_t length = strlen(host);

	for (const char *c = host; *c; c++) {
		if (medium == IFP_CLOCKS_PAGE && strchr("<>&", *c))
			ifp_buf_printf(out, "&#%d;", *c);
		else
			ifp_buf_append_u8(out, (uint8_t)*c);
	}
	ifp_buf_printf(out, "%*s", length < 16 ? 16 - (int)length : 0, "");
}

static void append_rank(
	struct ifp_buf *out, const struct ifp_run *run, uint32_t i, enum ifp_clocks_medium medium)
{
	const struct ifp_run_rank *rank = ifp_run_rank(run, i);
	const char *method = ifp_clocks_method(run, i);
	struct ifp_clock_summary clock;

	ifp_buf_printf(out, "%4u  ", rank->rank);
	append_host(out, rank->host, medium);
	if (!rank->map) {
		ifp_buf_printf(out, "  %s\n", method);
		return;
	}
	clock = ifp_clock_map_summary(rank->map);
	if (clock.method == IFP_CLOCK_SHARED) {
		ifp_buf_printf(out, "  %s\n", method);
		return;
	}
	if (clock.method == IFP_CLOCK_UNALIGNED) {
		ifp_buf_printf(out, "  %s%-11s%s  %9s  %22s  %10s  %8s  %8s\n", alarms[medium].on,
			method, alarms[medium].off, "-", "-", "-", "-", "-");
		return;
	}
	ifp_buf_printf(out, "  %-11s  %9u", method, clock.epochs);
	append_offset(out, clock.offset_ns);
	ifp_buf_printf(out, "  %+10.4f", clock.rate_ppm);
	append_uncertainty(out, clock.sigma_ns, clock.bound_ns);
	ifp_buf_append_text(out, "\n");
}

static void append_epochs(struct ifp_buf *out, const struct ifp_run *run, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(run, i);
	uint32_t count = ifp_clock_map_epoch_count(rank->map);

	ifp_buf_printf(out, "\nClock of rank %u\n%12s  %22s  %10s  %8s  %8s\n", rank->rank, "time",
		"offset", "drift ppm", "sigma", "bound");
	for (uint32_t k = 0; k < count; k++) {
		struct ifp_clock_epoch epoch = ifp_clock_map_epoch(rank->map, k);

		ifp_buf_printf(out, "%10.3f s",
			(double)(epoch.at.ns - ifp_run_base(run).ns) / (double)IFP_NS_PER_S);
		append_offset(out, epoch.offset_ns);
		ifp_buf_printf(out, "  %+10.4f", epoch.rate_ppm);
		append_uncertainty(out, epoch.sigma_ns, ifp_clocks_bound(&epoch));
		ifp_buf_append_text(out, "\n");
	}
}

static void append_legend(struct ifp_buf *out, const struct ifp_run *run)
{
	bool measured = false, unaligned = false;

	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++) {
		const struct ifp_clock_map *map = ifp_run_rank(run, i)->map;
		enum ifp_clock_method method =
			map ? ifp_clock_map_summary(map).method : IFP_CLOCK_SHARED;

		measured |= method == IFP_CLOCK_EXCHANGED || method == IFP_CLOCK_COLLECTIVES;
		unaligned |= method == IFP_CLOCK_UNALIGNED;
	}
	if (measured)
		ifp_buf_printf(out,
			"offset: the rank's clock minus the job's time, at the first exchange\n"
			"sigma:  estimated standard deviation of the offset, the largest of the "
			"run\n"
			"bound:  the offset is certainly not farther off, as long as no clock "
			"drifts "
			"by more than %" PRId64 " ppm\n",
			ifp_run_drift_ppm(run));
	if (unaligned)
		ifp_buf_append_text(out,
			"NOT ALIGNED: placed by the machine's wall clock, which may "
			"be wrong by any amount\n");
}

/* What causality has moved, and what it could not. */
static void append_order(struct ifp_buf *out, const struct ifp_run *run)
{
	bool any = false;

	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++) {
		const struct ifp_run_rank *rank = ifp_run_rank(run, i);
		struct ifp_clock_repairs repairs = {0};

		if (rank->map)
			repairs = ifp_clock_map_repairs(rank->map);
		if (!repairs.repaired && !repairs.left)
			continue;
		if (!any)
			ifp_buf_printf(out,
				"\nEnds of operations that lay before the last rank had come\n"
				"rank  %9s  %9s  %8s  %10s  %9s  %8s\n",
				"ends", "moved", "at most", "of the run", "left", "at most");
		any = true;
		ifp_buf_printf(out, "%4u  %9" PRIu64 "  %9" PRIu64, rank->rank, repairs.exits,
			repairs.repaired);
		append_duration(out, repairs.largest_ns);
		ifp_buf_append_text(out, "  ");
		append_duration(out, repairs.stretch_ns);
		ifp_buf_printf(out, "  %9" PRIu64, repairs.left);
		append_duration(out, repairs.largest_left_ns);
		ifp_buf_append_text(out, "\n");
	}
	if (any)
		ifp_buf_append_text(out,
			"moved: the clock was moved later there, inside of its bound\n"
			"left:  they lie too early still: the bound leaves no room\n");
}

void ifp_clocks_text(
	const struct ifp_run *run, enum ifp_clocks_medium medium, bool epochs, struct ifp_buf *out)
{
	ifp_buf_printf(out, "rank  %-16s  %-11s  %9s  %22s  %10s  %8s  %8s\n", "host", "clock",
		"exchanges", "offset", "drift ppm", "sigma", "bound");
	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++)
		append_rank(out, run, i, medium);
	append_legend(out, run);
	append_order(out, run);
	for (uint32_t i = 0; epochs && i < ifp_run_rank_count(run); i++) {
		if (ifp_run_leads_clock(run, i))
			append_epochs(out, run, i);
	}
	ifp_gpus_text(run, out);
}
