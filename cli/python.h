/* SPDX-License-Identifier: Apache-2.0 */
/* A Python, and which of the packages that show runs are installed for it. */
#pragma once

#include <stdbool.h>

struct ifp_python {
	const char *name; /* a path, or looked up in PATH */
	bool tensorboard;
	bool torch_plugin; /* torch-tb-profiler */
	bool xprof;
};

/* Asks it. name is kept. -ENOENT, ... when it does not start, -EPROTO when it cannot answer. */
int ifp_python_examine(const char *name, struct ifp_python *out);
