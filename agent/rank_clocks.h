/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of one rank: joint readings once a second, which go to the collector, the exchanges
 * with other ranks that the collector asks for, and from the readings a conversion of stamps to
 * REALTIME that is good enough to match marks with a window. Belongs to the agent's thread.
 */
#pragma once

#include "agent/capture/marks.h"
#include "agent/uplink/uplink.h"
#include "core/time.h"
#include "trace/archive/clock_samples.h"
#include "trace/wire/keys.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct ifp_rank_clocks_config {
	struct ifp_uplink *uplink;
	void *zmq_context;
	const struct ifp_keys *keys; /* NULL = no encryption */
	uint32_t rank, world;
	struct ifp_marks *marks; /* whose calls of MPI go to the collector with the readings; NULL = none */
	const char *helper_path; /* infprof-clock-mpi; NULL = there is none */
	const char *helper_log;	 /* NULL = none */
};

struct ifp_rank_clocks;

/* All pointers of the configuration are borrowed. */
int ifp_rank_clocks_new(const struct ifp_rank_clocks_config *config, struct ifp_rank_clocks **out);
void ifp_rank_clocks_free(struct ifp_rank_clocks **clocks);

/* To be called each turn: reads the clocks when it is time, looks after the helper. */
void ifp_rank_clocks_tick(struct ifp_rank_clocks *clocks, int64_t now_ns);

/* Reads the clocks once more and sends what has not been sent. */
void ifp_rank_clocks_flush(struct ifp_rank_clocks *clocks);

/* How often the machine was suspended between the readings so far. */
uint64_t ifp_rank_clocks_suspensions(const struct ifp_rank_clocks *clocks);

/* A stamp as REALTIME; before the first reading the stamp itself. */
int64_t ifp_rank_clocks_realtime_ns(
	const struct ifp_rank_clocks *clocks, enum ifp_clock_domain domain, int64_t stamp);

/*
 * CLOCK_ASK: begins an exchange over ZeroMQ, in place of one that is still under way, or starts the
 * helper. CLOCK_DONE goes out when it is over, or at once when it cannot be begun.
 */
void ifp_rank_clocks_ask(struct ifp_rank_clocks *clocks, const cJSON *document);

/*
 * Around the wait of the agent's loop, as closely as can be: a ping is sent before, its answer is
 * taken after. The socket to wait on (NULL = no exchange is under way) and, shortened where need
 * be, the longest wait.
 */
void *ifp_rank_clocks_before_wait(struct ifp_rank_clocks *clocks, int64_t *wait_ms);
void ifp_rank_clocks_after_wait(struct ifp_rank_clocks *clocks);

/* Starts the MPI helper for an epoch; CLOCK_DONE goes out when it ends, or at once on failure. */
void ifp_rank_clocks_start_helper(struct ifp_rank_clocks *clocks, uint32_t epoch);
bool ifp_rank_clocks_helper_running(const struct ifp_rank_clocks *clocks);
/* To wait on; -1 = none. */
int ifp_rank_clocks_helper_fd(const struct ifp_rank_clocks *clocks);

/* Whether this rank measures in exchanges over MPI: it is the first of those that share a clock. */
void ifp_rank_clocks_set_leader(struct ifp_rank_clocks *clocks, bool leader);
