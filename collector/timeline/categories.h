/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the PyTorch plug-in of TensorBoard (torch-tb-profiler 0.4.3) makes of a category, and the
 * ones to write so that it makes the right thing of it. It maps categories without regard to case
 * (profiler/trace.py, EventTypeMap).
 */
#pragma once

#include "core/str.h"

#include <stdbool.h>
#include <stdint.h>

/* What an event is to the analysis files. */
enum ifp_role {
	IFP_ROLE_OTHER,
	IFP_ROLE_OP,	 /* on the host, by PyTorch; has an External id */
	IFP_ROLE_LAUNCH, /* a call of the runtime or driver; has a correlation */
	IFP_ROLE_DEVICE, /* kernel, copy, fill: has the correlation of its launch */
};

struct ifp_category {
	const char *name; /* as recorded */
	uint32_t name_bytes;
	const char *merged; /* in the merged timeline: one that the plug-in does not map */
	const char *analysis;
	enum ifp_role role;
};

/* NULL for a category that the plug-in does not know: it may be written as it is. */
const struct ifp_category *ifp_category_find(struct ifp_str name);

/*
 * The name under which the plug-in knows a collective operation ("nccl:_all_gather_base" is
 * "nccl:all_gather"); NULL when the name is none that it could know. nccl is set for NCCL's.
 */
const char *ifp_collective_name(struct ifp_str name, bool *nccl);
