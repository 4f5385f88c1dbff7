/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "collector/timeline/ranks_plan.h"
#include "core/buf.h"
#include "core/str.h"

/*
 * Kineto's args (a compact JSON object) with less detail: members that nobody computes with are
 * left out, whole. Appends what stays to out, nothing when no member does.
 */
void ifp_args_cut(
	struct ifp_buf *out, struct ifp_str args, enum ifp_args_detail detail, bool collective);
