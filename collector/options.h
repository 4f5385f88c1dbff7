/* SPDX-License-Identifier: Apache-2.0 */
/* The options of infprof-collector. */
#pragma once

#include "core/options.h"
#include "core/timeline_limits.h"

#include <stdint.h>

struct ifp_collector_options {
	const char *listen;
	const char *output; /* NULL = infprof-out/collector-TIME */
	const char *job;
	int64_t world;
	const char *key_file;
	int64_t ready_fd;
	int64_t idle_ns;
	const char *keygen;
	struct ifp_timeline_limits limits;
};

extern const struct ifp_collector_options ifp_collector_option_defaults;
extern const struct ifp_command ifp_collector_command;
