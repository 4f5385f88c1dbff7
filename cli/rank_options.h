/* SPDX-License-Identifier: Apache-2.0 */
/* --ranks, and --rank for the same: of all verbs that can be asked for some ranks of a run. */
#pragma once

#include "core/options.h"
#include "core/ranges.h"

struct ifp_rank_options {
	const char *ranks, *rank; /* as they were given; NULL = not */
};

/* The rows of an option table for a member of the values. */
#define IFP_RANK_OPTIONS(values, member)                                                           \
	{.name = "ranks",                                                                          \
		.argument = "LIST",                                                                \
		.environment = "",                                                                 \
		.doc = "Only these ranks (3, or 0,3-5). Default: all.",                            \
		.type = IFP_OPTION_TEXT,                                                           \
		.offset = offsetof(values, member.ranks)},                                         \
	{                                                                                          \
		.name = "rank", .argument = "LIST", .environment = "", .doc = "The same.",         \
		.type = IFP_OPTION_TEXT, .offset = offsetof(values, member.rank)                   \
	}

/* Reads them; empty when none is given. -EINVAL with a cause, -ENOMEM. */
int ifp_rank_options_read(const struct ifp_rank_options *options, struct ifp_ranges *out);

/* What a verb does with them: NULL for all. */
static inline const struct ifp_ranges *ifp_rank_options_wanted(const struct ifp_ranges *ranks)
{
	return ranks->count ? ranks : NULL;
}
