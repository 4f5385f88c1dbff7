/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file is to have, by its name. */
#pragma once

enum ifp_output_format {
	IFP_OUTPUT_UNKNOWN = -1,
	IFP_OUTPUT_CHROME,   /* .json, .json.gz */
	IFP_OUTPUT_PERFETTO, /* .pftrace, .pftrace.gz */
};

enum ifp_output_format ifp_output_format_of(const char *name);
