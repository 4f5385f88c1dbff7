/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output_format.h"

#include "core/cleanup.h"
#include "core/str.h"

#include <stddef.h>
#include <stdbool.h>
#include <string.h>

static const struct {
	const char *end;
	enum ifp_output_format format;
} ends[] = {
	{".json", IFP_OUTPUT_CHROME},
	{".json.gz", IFP_OUTPUT_CHROME},
	{".pftrace", IFP_OUTPUT_PERFETTO},
	{".pftrace.gz", IFP_OUTPUT_PERFETTO},
};

enum ifp_output_format ifp_output_format_of(const char *name)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(ends); i++)
		if (strcmp(name, ends[i].end) &&
			ifp_str_ends_with(ifp_str(name), ends[i].end)) /* a name stands before it */
			return ends[i].format;
	return IFP_OUTPUT_UNKNOWN;
}
