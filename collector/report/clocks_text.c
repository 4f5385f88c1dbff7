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

static void append_offset(struct ifp_buf *out, int64_t ns)
{
	struct ifp_buf words = {0};

	ifp_words_offset(&words, ns);
	ifp_buf_printf(out, "  %22.*s", (int)words.len_bytes, (const char *)words.data);
	ifp_buf_free(&words);
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

/* How far it may be to either side: a bound is often open to one of them only. */
static void append_range(struct ifp_buf *out, const struct ifp_clock_epoch *epoch)
{
	if (ifp_clocks_bound(epoch) == INT64_MAX)
		return;
	ifp_buf_append_text(out, "  -");
	ifp_words_duration(out, epoch->offset_ns - epoch->low_ns);
	ifp_buf_append_text(out, " to +");
	ifp_words_duration(out, epoch->high_ns - epoch->offset_ns);
}

void ifp_clocks_readers(const struct ifp_run *run, uint32_t i, struct ifp_buf *out)
{
	const struct ifp_clock_map *map = ifp_run_rank(run, i)->map;
	struct ifp_buf others = {0};

	for (uint32_t k = i + 1; k < ifp_run_rank_count(run); k++) {
		const struct ifp_run_rank *other = ifp_run_rank(run, k);

		if (other->map && ifp_clock_map_same_clock(map, other->map))
			ifp_buf_printf(&others, ", %u", other->rank);
	}
	ifp_buf_printf(out, "Clock of rank%s %u%.*s", others.len_bytes ? "s" : "",
		ifp_run_rank(run, i)->rank, (int)others.len_bytes,
		others.len_bytes ? (const char *)others.data : "");
	out->failed |= others.failed;
	ifp_buf_free(&others);
}

static void append_epochs(struct ifp_buf *out, const struct ifp_run *run, uint32_t i)
{
	const struct ifp_run_rank *rank = ifp_run_rank(run, i);
	uint32_t count = ifp_clock_map_epoch_count(rank->map);

	ifp_buf_append_text(out, "\n");
	ifp_clocks_readers(run, i, out);
	ifp_buf_printf(out, "\n%12s  %22s  %10s  %8s  %8s  %s\n", "time", "offset", "drift ppm",
		"sigma", "bound", "range");
	for (uint32_t k = 0; k < count; k++) {
		struct ifp_clock_epoch epoch = ifp_clock_map_epoch(rank->map, k);

		ifp_buf_printf(out, "%10.3f s",
			(double)(epoch.at.ns - ifp_run_base(run).ns) / (double)IFP_NS_PER_S);
		append_offset(out, epoch.offset_ns);
		ifp_buf_printf(out, "  %+10.4f", epoch.rate_ppm);
		append_uncertainty(out, epoch.sigma_ns, ifp_clocks_bound(&epoch));
		append_range(out, &epoch);
		ifp_buf_append_text(out, "\n");
	}
}

static void append_measured_legend(struct ifp_buf *out, const struct ifp_run *run, bool collectives)
{
	ifp_buf_append_text(out,
		"points: exchanges of messages, or collectives, that the clock was placed by\n"
		"offset: the rank's clock minus the job's time, at its first point\n"
		"drift:  of the rank's clock against the job's time, the mean of the run\n"
		"sigma:  estimated standard deviation of the offset, the largest of the run\n"
		"bound:  the offset is certainly not farther off; the largest of the run, half way "
		"between\n"
		"        two points or at an end. Of two ranks: add their bounds. It holds as long "
		"as no clock");
	ifp_buf_printf(out, "%s by more than %" PRId64 " ppm\n",
		collectives ? "'s rate\n        leaves its line" : "\n        drifts",
		ifp_run_drift_ppm(run));
}

/* Which points of the table are not all that is known. */
static void append_calls(struct ifp_buf *out, const struct ifp_run *run)
{
	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++) {
		uint32_t calls = 0;

		if (ifp_run_leads_clock(run, i))
			calls = ifp_clock_map_summary(ifp_run_rank(run, i)->map).calls;
		if (!calls)
			continue;
		ifp_clocks_readers(run, i, out);
		ifp_buf_append_text(out, ": bound narrowed by ");
		ifp_words_count(out, calls, "call");
		ifp_buf_append_text(out, " of MPI, too\n");
	}
}

static void append_legend(struct ifp_buf *out, const struct ifp_run *run)
{
	bool seen[IFP_CLOCK_COLLECTIVES + 1] = {false}, shared = false;

	for (uint32_t i = 0; i < ifp_run_rank_count(run); i++) {
		const struct ifp_clock_map *map = ifp_run_rank(run, i)->map;

		if (map)
			seen[ifp_clock_map_summary(map).method] = true;
		shared |= strcmp(ifp_clocks_method(run, i), "shared") == 0;
	}
	if (shared)
		ifp_buf_append_text(
			out, "shared: reads the reference's clock; there is nothing to measure\n");
	if (seen[IFP_CLOCK_EXCHANGED] || seen[IFP_CLOCK_COLLECTIVES])
		append_measured_legend(out, run, seen[IFP_CLOCK_COLLECTIVES]);
	if (seen[IFP_CLOCK_UNALIGNED])
		ifp_buf_append_text(out,
			"NOT ALIGNED: placed by the machine's wall clock, which may "
			"be wrong by any amount\n");
	append_calls(out, run);
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
		"points", "offset", "drift ppm", "sigma", "bound");
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
