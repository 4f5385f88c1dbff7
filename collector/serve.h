/* SPDX-License-Identifier: Apache-2.0 */
/* What infprof-collector does, once its options are known. */
#pragma once

#include "collector/options.h"

/* Makes the keys of a job and writes them to path. */
int ifp_collector_keygen(const char *path);

/*
 * Serves one job; tells --ready-fd how the start went. -EPERM, -EINVAL: wrong use; other errors:
 * it could not be done.
 */
int ifp_collector_serve(const struct ifp_collector_options *options);
