/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as xprof understands them (xla/tsl/profiler/utils/tf_op_utils.cc). It shows an event under
 * its display name, and analyses its name: a framework operator is "name:type", a copy begins with
 * MemcpyHtoD, MemcpyDtoH, ...
 */
#pragma once

#include "core/buf.h"
#include "core/str.h"

enum ifp_xplane_style {
	IFP_XPLANE_PLAIN,
	IFP_XPLANE_OPERATOR, /* "aten::mm" is "aten/mm:mm" */
	IFP_XPLANE_COPY,     /* "Memcpy HtoD (...)" is "MemcpyHtoD (...)" */
	IFP_XPLANE_STYLES,
};

/* Appends the analysed form of a plain name. What cannot be an operator for xprof stays as it is.
 */
void ifp_xplane_name(struct ifp_buf *out, struct ifp_str name, enum ifp_xplane_style style);

/*
 * Whether xprof takes an event of that name for the step itself ("train_step", "test ...";
 * xprof/convert/xplane_to_step_events.cc), whatever was meant by it.
 */
bool ifp_xplane_claims_step(struct ifp_str name);
