/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's collector as a process that rank 0's agent starts. It gets a session of its own and no
 * parent in the job: launchers kill the process groups of a job and wait for the pipes of its
 * processes, and the collector has to outlive that to draw what was recorded.
 */
#pragma once

#include "core/timeline_limits.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_collector_request {
	const char *executable;
	const char *listen; /* "ipc:///..." or "tcp://address:*" */
	const char *output; /* directory; exists; gets collector.log */
	const char *job;
	const char *key_file; /* NULL = no encryption */
	uint32_t world;
	struct ifp_timeline_limits limits;
};

struct ifp_collector_process {
	int pidfd;     /* readable when it has ended; -1 = none */
	char *address; /* that it listens on; owned */
};

/*
 * Starts it and waits for its line "ready ADDRESS", at most deadline_ms. -ETIMEDOUT without one;
 * -EIO with the collector's own words when it gives up. Nothing is left running on failure.
 */
int ifp_collector_process_start(const struct ifp_collector_request *request, int64_t deadline_ms,
	struct ifp_collector_process *out);

bool ifp_collector_process_ended(const struct ifp_collector_process *collector);

/* Lets go of it; the process itself goes on. */
void ifp_collector_process_free(struct ifp_collector_process *collector);
