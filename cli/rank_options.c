/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rank_options.h"

#include "core/error.h"

#include <errno.h>

int ifp_rank_options_read(const struct ifp_rank_options *options, struct ifp_ranges *out)
{
	if (options->ranks && options->rank)
		return ifp_fail(-EINVAL, "--rank and --ranks are the same: give one of them");
	if (options->ranks)
		return ifp_ranges_parse(options->ranks, "--ranks", out);
	return options->rank ? ifp_ranges_parse(options->rank, "--rank", out) : 0;
}
