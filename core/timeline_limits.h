/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a run is drawn, as the user chooses it: the same options of infprof-agent (which
 * hands them to the collector that it starts), infprof-collector, infprof merge and infprof
 * timeline.
 */
#pragma once

#include "core/options.h"

#include <stdint.h>

struct ifp_timeline_limits {
	int64_t ranks_bytes; /* JSON of all files in ranks/ together, unpacked */
	int64_t ranks_files;
};

/* TensorBoard starts a process for each file, all at once: docs/timeline.md has what that costs. */
#define IFP_TIMELINE_LIMITS_DEFAULT                                                                \
	{                                                                                          \
		.ranks_bytes = INT64_C(128000000), .ranks_files = 16                               \
	}

#define IFP_TIMELINE_MAX_FILES 100000

/*
 * Rows of an option table. values: the command's struct; member: its struct ifp_timeline_limits;
 * prefix: of the variables, NULL where the command has none.
 */
#define IFP_TIMELINE_OPTIONS(values, member, bytes_variable, files_variable)                       \
	{.name = "ranks-budget",                                                                   \
		.argument = "BYTES",                                                               \
		.environment = (bytes_variable),                                                   \
		.doc = "Size of all files in ranks/ together, unpacked. Beyond it, they get "      \
		       "shorter args, then fewer steps, then there are fewer files; the report "   \
		       "says which. Default: 128MB.",                                              \
		.type = IFP_OPTION_BYTES,                                                          \
		.offset = offsetof(values, member.ranks_bytes)},                                   \
	{                                                                                          \
		.name = "max-ranks-files", .argument = "N", .environment = (files_variable),       \
		.doc = "Files in ranks/ at most, each with one rank: the late rank and those to "  \
		       "compare it with first, then evenly chosen ones. 0 writes none. "           \
		       "Default: 16.",                                                             \
		.type = IFP_OPTION_INT, .offset = offsetof(values, member.ranks_files), .min = 0,  \
		.max = IFP_TIMELINE_MAX_FILES,                                                     \
	}
