/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a run is drawn and how much, as the user chooses it: the same options of infprof-agent
 * (which hands them to the collector that it starts), infprof-collector, infprof merge and infprof
 * timeline.
 */
#pragma once

#include "core/options.h"

#include <stdint.h>

struct ifp_timeline_limits {
	/* A timeline of all ranks, in each format that has a budget; 0 = no limit. */
	int64_t merged_bytes;  /* unpacked */
	int64_t merged_events; /* slices, folds, instants, ends of arrows */
	int64_t ranks_bytes;   /* JSON of all files in ranks/ together, unpacked; 0 = no limit */
	int64_t ranks_files;   /* 0 = no limit */
	const char *formats;   /* names, with commas between; NULL = IFP_TIMELINE_FORMATS_DEFAULT */
};

/* collector/timeline/timeline.c has the table of formats. */
#define IFP_TIMELINE_FORMATS_DEFAULT "pytorch"

/*
 * With these, a browser has drawn merged/ within 20 s of the start of TensorBoard on two cores,
 * though TensorBoard starts a process for each file of ranks/, all at once: docs/timeline.md.
 */
#define IFP_TIMELINE_MERGED_BYTES INT64_C(48000000)

#define IFP_TIMELINE_LIMITS_DEFAULT                                                                \
	{                                                                                          \
		.merged_bytes = IFP_TIMELINE_MERGED_BYTES, .ranks_bytes = INT64_C(16000000),       \
		.ranks_files = 4                                                                   \
	}

#define IFP_TIMELINE_MAX_FILES 100000

/* Variables by the rules of core/options.h: INFPROF_ and the option's name; none at all. */
#define IFP_TIMELINE_VARIABLE(name) NULL
#define IFP_TIMELINE_NO_VARIABLE(name) ""

/*
 * Rows of an option table. values: the command's struct; member: its struct ifp_timeline_limits;
 * variable: environment variable by option, a macro that takes the end of its name.
 */
#define IFP_TIMELINE_OPTIONS(values, member, variable)                                             \
	{.name = "budget",                                                                         \
		.argument = "BYTES",                                                               \
		.environment = variable("BUDGET"),                                                 \
		.doc = "Size of the merged timeline, unpacked: what a browser loads; that of "     \
		       "perfetto/, too. Beyond it, what matters least is folded; the report says " \
		       "what. 0 = no limit. "                                                      \
		       "Default: 48MB.",                                                           \
		.type = IFP_OPTION_BYTES,                                                          \
		.offset = offsetof(values, member.merged_bytes)},                                  \
		{.name = "max-events",                                                             \
			.argument = "N",                                                           \
			.environment = variable("MAX_EVENTS"),                                     \
			.doc = "Slices, folds, instants and ends of arrows in the merged "         \
			       "timeline at most; as --budget. Default: no limit.",                \
			.type = IFP_OPTION_INT,                                                    \
			.offset = offsetof(values, member.merged_events),                          \
			.min = 0,                                                                  \
			.max = INT64_MAX},                                                         \
		{.name = "ranks-budget",                                                           \
			.argument = "BYTES",                                                       \
			.environment = variable("RANKS_BUDGET"),                                   \
			.doc = "Size of all files in ranks/ together, unpacked. Beyond it, they "  \
			       "get shorter args, then fewer steps, then there are fewer files; "  \
			       "the report says which. 0 = no limit. Default: 16MB.",              \
			.type = IFP_OPTION_BYTES,                                                  \
			.offset = offsetof(values, member.ranks_bytes)},                           \
	{                                                                                          \
		.name = "max-ranks-files", .argument = "N",                                        \
		.environment = variable("MAX_RANKS_FILES"),                                        \
		.doc = "Files in ranks/ at most, each with one rank: the late rank and those to "  \
		       "compare it with first, then evenly chosen ones. 0 = no limit. "            \
		       "Default: 4.",                                                              \
		.type = IFP_OPTION_INT, .offset = offsetof(values, member.ranks_files), .min = 0,  \
		.max = IFP_TIMELINE_MAX_FILES,                                                     \
	}

/* As above, for what is drawn at all. */
#define IFP_TIMELINE_FORMATS_OPTION(values, member, variable)                                      \
	{                                                                                          \
		.name = "formats", .argument = "LIST", .environment = variable("FORMATS"),         \
		.doc = "What to draw, with commas between: pytorch (merged/ and ranks/, for "      \
		       "TensorBoard's PyTorch plug-in), xplane (plugins/, for its xprof "          \
		       "plug-in), perfetto (perfetto/, for ui.perfetto.dev). "                     \
		       "Default: " IFP_TIMELINE_FORMATS_DEFAULT ".",                               \
		.type = IFP_OPTION_TEXT, .offset = offsetof(values, member.formats),               \
	}
