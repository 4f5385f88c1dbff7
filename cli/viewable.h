/* SPDX-License-Identifier: Apache-2.0 */
/* What of a directory TensorBoard can show, by the names of the files. */
#pragma once

#include <stdbool.h>

struct ifp_viewable {
	bool traces;  /* NAME.pt.trace.json or .json.gz: for torch-tb-profiler */
	bool xplanes; /* plugins/profile/RUN/NAME.xplane.pb: for xprof */
};

/* Looks at all below the directory. Negative errno with a cause when it cannot be read. */
int ifp_viewable_find(const char *directory, struct ifp_viewable *out);
