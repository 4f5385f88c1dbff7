/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output_format.h"

#include "core/cleanup.h"

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

static bool ends_in(const char *name, const char *end)
{
	size_t name_bytes = strlen(name), end_bytes = strlen(end);

	return name_bytes > end_bytes && !strcmp(name + name_bytes - end_bytes, end);
}

enum ifp_output_format ifp_output_format_of(const char *name)
{
	for (size_t i = 0; i < IFP_ARRAY_SIZE(ends); i++)
		if (ends_in(name, ends[i].end))
			return ends[i].format;
	return IFP_OUTPUT_UNKNOWN;
}
