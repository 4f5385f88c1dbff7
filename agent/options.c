/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/options.h"

#include "core/cleanup.h"
#include "core/error.h"
#include "core/time.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define OFFSET(member) offsetof(struct ifp_agent_options, member)

const char *const ifp_clock_choices[] = {"auto", "mpi", "zmq", NULL};
const char *const ifp_mpi_choices[] = {"auto", "on", "off", NULL};

const struct ifp_agent_options ifp_agent_option_defaults = {
	.warmup = 1,
	.duration_ns = 2 * IFP_NS_PER_S,
	.clock_interval_ns = 30 * IFP_NS_PER_S,
	.spool_bytes = INT64_C(1) << 30,
	.limits = IFP_TIMELINE_LIMITS_DEFAULT,
};

static const struct ifp_option options[] = {
	{.name = "output", .letter = 'o', .argument = "DIR", .type = IFP_OPTION_TEXT,
		.offset = OFFSET(output),
		.doc = "Directory for everything that is written; it must not hold an earlier run. "
		       "Default: infprof-out/PROGRAM-TIME."},
	{.name = "steps", .argument = "N|A:B", .type = IFP_OPTION_LIST, .offset = OFFSET(steps),
		.doc = "Record the PyTorch operators of N optimizer steps as soon as possible, or of "
		       "steps A to B, counted from 1. May be repeated; 0 records none. Default: 5, or as "
		       "many as a verdict needs: 16 for 2 ranks, 12 for 3."},
	{.name = "warmup", .argument = "N", .type = IFP_OPTION_INT, .offset = OFFSET(warmup),
		.max = 1000000,
		.doc = "Steps to let pass before a window that starts as soon as possible. "
		       "Default: 1."},
	{.name = "duration", .argument = "TIME", .type = IFP_OPTION_DURATION,
		.offset = OFFSET(duration_ns), .min = IFP_NS_PER_MS, .max = 3600 * IFP_NS_PER_S,
		.doc = "Length of the window for programs without optimizer steps, such as "
		       "inference. Default: 2s."},
	{.name = "collector", .argument = "ADDRESS", .type = IFP_OPTION_TEXT,
		.offset = OFFSET(collector),
		.doc = "Send to the infprof-collector at tcp://HOST:PORT or ipc:///PATH instead of "
		       "starting one."},
	{.name = "key-file", .argument = "FILE", .type = IFP_OPTION_TEXT,
		.offset = OFFSET(key_file),
		.doc = "Keys for a collector on another host, as written by infprof-collector "
		       "--keygen."},
	{.name = "clock", .argument = "auto|mpi|zmq", .type = IFP_OPTION_CHOICE,
		.offset = OFFSET(clock), .choices = ifp_clock_choices,
		.doc = "How clocks of several hosts are compared: over the collector's network (zmq, "
		       "and auto), or by a short MPI program before and after PROGRAM (mpi; also on "
		       "one host). Default: auto."},
	{.name = "clock-interval", .argument = "TIME", .type = IFP_OPTION_DURATION,
		.offset = OFFSET(clock_interval_ns), .max = 3600 * IFP_NS_PER_S,
		.doc = "Longest time between two comparisons of clocks while PROGRAM runs: 1s at "
		       "first, longer while the clocks do as predicted. 0 compares them before and "
		       "after PROGRAM only. Rank 0 decides. Default: 30s."},
	{.name = "mpi", .argument = "auto|on|off", .type = IFP_OPTION_CHOICE, .offset = OFFSET(mpi),
		.choices = ifp_mpi_choices,
		.doc = "Whether the collectives that PROGRAM calls through MPI are recorded, by a "
		       "library in LD_PRELOAD: where a launcher of MPI programs has started it "
		       "(auto), always, or never. Default: auto."},
	{.name = "spool-size", .argument = "BYTES", .type = IFP_OPTION_BYTES,
		.offset = OFFSET(spool_bytes),
		.doc = "Disk space in $TMPDIR for what the collector cannot take yet. Default: 1GiB."},
	IFP_TIMELINE_FORMATS_OPTION(struct ifp_agent_options, limits, IFP_TIMELINE_VARIABLE),
	IFP_TIMELINE_OPTIONS(struct ifp_agent_options, limits, IFP_TIMELINE_VARIABLE),
	{.name = "quiet", .letter = 'q', .type = IFP_OPTION_FLAG, .offset = OFFSET(quiet),
		.doc = "Print warnings and errors only."},
	{.name = "off", .type = IFP_OPTION_FLAG, .offset = OFFSET(off),
		.doc = "Run the program untouched, as if infprof-agent were not there."},
};

static const struct ifp_command_section sections[] = {
	{"EXAMPLES", "mpirun -n 8 infprof-agent -- python train.py"},
	{"EXIT STATUS",
		"That of PROGRAM. When a signal ended PROGRAM, the agent dies of the same signal. "
		"2 for wrong use or an output directory that cannot be written, 126 when PROGRAM "
		"cannot be executed, 127 when it is not found."},
	{"FILES", "DIR/run.ifp holds everything that was recorded, DIR/merged the timeline for "
		  "TensorBoard, DIR/report.json the verdict."},
};

const struct ifp_command ifp_agent_command = {
	.name = "infprof-agent",
	.synopsis = "[OPTION]... -- PROGRAM [ARGUMENT]...",
	.summary = "record one rank of a distributed program",
	.description =
		"Runs PROGRAM unchanged and records it: steps, ranges, PyTorch operators and clocks. "
		"Started once for each rank by mpirun, srun or torchrun, the agents send what they "
		"record to one collector, which draws one aligned timeline of all ranks for "
		"TensorBoard and says which rank is late.",
	.options = options,
	.option_count = IFP_ARRAY_SIZE(options),
	.sections = sections,
	.section_count = IFP_ARRAY_SIZE(sections),
};

/* Digits at *text, which moves behind them. */
static bool parse_count(const char **text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*out = strtoull(*text, &end, 10);
	*text = end;
	/* a JSON number holds integers up to here */
	return !errno && *out <= UINT64_C(1) << 53;
}

static bool parse_window(const char *text, struct ifp_window_wish *out)
{
	uint64_t first, last;

	if (!parse_count(&text, &first))
		return false;
	if (!*text) {
		*out = (struct ifp_window_wish){.count = first};
		return true;
	}
	if (*text++ != ':' || !parse_count(&text, &last) || *text || !first || last < first)
		return false;
	*out = (struct ifp_window_wish){.first = first, .count = last - first + 1};
	return true;
}

/*
 * The fewer ranks there are to compare, the more steps it takes to tell a late rank from chance
 * (docs/report.md, "How the verdict is reached"). One rank is not compared with anything.
 */
static uint64_t default_steps(uint32_t world)
{
	switch (world) {
	case 2:
		return 16;
	case 3:
		return 12;
	default:
		return 5;
	}
}

int ifp_agent_windows(
	const struct ifp_option_list *steps, uint32_t world, struct ifp_window_wishes *out)
{
	struct ifp_window_wishes wishes = {0};
	uint64_t last = 0; /* of the windows so far */

	if (!steps->count) {
		wishes.items[0].count = default_steps(world);
		wishes.count = 1;
	}
	for (size_t i = 0; i < steps->count; i++) {
		struct ifp_window_wish wish;

		if (!parse_window(steps->items[i], &wish))
			return ifp_fail(-EINVAL,
				"--steps %s: give a number of steps, or first and last step as A:B",
				steps->items[i]);
		if (!wish.count)
			continue;
		if (wish.first && wish.first <= last)
			return ifp_fail(-EINVAL,
				"--steps %s: windows of given steps have to come one behind the other",
				steps->items[i]);
		if (wish.first)
			last = wish.first + wish.count - 1;
		if (wishes.count == IFP_AGENT_MAX_WINDOWS)
			return ifp_fail(-EINVAL, "--steps is given more than %d times",
				IFP_AGENT_MAX_WINDOWS);
		wishes.items[wishes.count++] = wish;
	}
	*out = wishes;
	return 0;
}
