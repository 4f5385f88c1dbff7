/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON documents that an agent sends (docs/protocol.md, docs/format-archive.md). Each function
 * gives text that the caller frees with cJSON_free(), or NULL without memory, which senders take
 * as "not this time".
 */
#pragma once

#include "agent/capture/kineto.h"
#include "agent/launch/child.h"
#include "agent/options.h"
#include "core/clock.h"
#include "core/identity.h"
#include "trace/archive/clock_samples.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* What does not change while an agent lives. Borrowed pointers. */
struct ifp_agent_facts {
	const struct ifp_agent_options *options;
	const struct ifp_identity *identity;
	const struct ifp_window_wishes *windows;
	char *const *argv;
	const char *output;	    /* directory made by this rank; NULL = none */
	const char *clock_endpoint; /* NULL = answers no pings */
	char program[64], host[256];
	struct ifp_clock_identity clock;
	int64_t started_realtime_ns;
	int64_t started_raw_ns;
};

char *ifp_document_hello(const struct ifp_agent_facts *facts, const char *session);
char *ifp_document_rank_start(const struct ifp_agent_facts *facts, int64_t child_pid);

struct ifp_agent_counters {
	uint64_t steps;
	uint32_t hook; /* enum ifp_hook_bits */
	uint64_t events;
	uint64_t spool_bytes;
	uint64_t marks, marks_dropped;
	bool running;
};

char *ifp_document_heartbeat(const struct ifp_agent_counters *counters);

/* child->pid 0: "not-started" with status start_status. */
char *ifp_document_end(
	const struct ifp_child *child, int start_status, const struct ifp_agent_counters *counters);

char *ifp_document_window_ack(
	const struct ifp_window *window, uint64_t steps_now, const char *refusal);

/* steps_found[0], [1]: first and last step found in the window; 0 = none. */
char *ifp_document_window_done(
	const struct ifp_window_result *result, const uint64_t steps_found[2]);
char *ifp_document_window_frame(
	const struct ifp_window_result *result, const uint64_t steps_found[2]);

/*
 * server -1: a life of the MPI helper with count edges; else one edge. reason: why it failed, NULL
 * when it was measured.
 */
char *ifp_document_clock_done(uint32_t epoch, int64_t server, const struct ifp_clock_edge *edges,
	uint32_t count, const char *reason);
