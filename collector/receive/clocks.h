/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which clocks a job has, and who measures whom, when. Ranks with one clock identity are one node;
 * the first of them that can answer pings stands for it. Epoch 0 is made after the roll call, the
 * last one when the programs have ended and the agents are still there, and others in between
 * (docs/protocol.md, 4). Within an epoch the pairs of one round of the plan measure at the same
 * time, but only one at a time where a host has more ranks than processors: they would wait for
 * each other.
 *
 * Pure: driven by messages and the time.
 */
#pragma once

#include "collector/receive/outlet.h"
#include "collector/receive/roster.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#define IFP_CLOCKS_ROUND_TRIPS 32u
#define IFP_CLOCKS_EDGE_NS (5 * IFP_NS_PER_S)	/* one exchange over ZeroMQ ... */
#define IFP_CLOCKS_RUNNING_EDGE_NS IFP_NS_PER_S /* ... while the programs run */
#define IFP_CLOCKS_PING_MS 3000			/* the agent's limit for both */
#define IFP_CLOCKS_RUNNING_PING_MS 800
#define IFP_CLOCKS_INTERVAL_NS (30 * IFP_NS_PER_S)  /* where rank 0 does not say */
#define IFP_CLOCKS_MPI_NS (40 * IFP_NS_PER_S)	    /* one life of the MPI helper on all ranks */
#define IFP_CLOCKS_STRAGGLER_NS (10 * IFP_NS_PER_S) /* an agent whose program has ended waits */
/* When epochs go on in a collector that was started again: agents notice after 3 s. */
#define IFP_CLOCKS_RETURN_NS (5 * IFP_NS_PER_S)

enum ifp_clocks_plan {
	IFP_CLOCKS_NONE, /* one clock, nothing to measure */
	IFP_CLOCKS_MPI,
	IFP_CLOCKS_ZMQ,
};

struct ifp_clocks;

/* outlet and server_key (NULL = no encryption) are borrowed. */
int ifp_clocks_new(const struct ifp_outlet *outlet, const char *server_key, uint32_t world,
	struct ifp_clocks **out);
void ifp_clocks_free(struct ifp_clocks **clocks);

/* The HELLO of rank 0: clock_interval_ms, the longest time between two epochs; 0 = none between. */
void ifp_clocks_wish(struct ifp_clocks *clocks, const cJSON *hello);

/* A member of the roster is there: gives it the number of its clock. May be repeated. */
void ifp_clocks_join(struct ifp_clocks *clocks, uint32_t rank, const struct ifp_member *member);

/*
 * A run is gone on with, whose roll has been called: its ranks are the members that the archive
 * names, and have yet to come back but for those that have ended. Epochs go on while programs run,
 * the next one with this number; so many edges are stored. After ifp_clocks_wish().
 */
void ifp_clocks_resume(struct ifp_clocks *clocks, const struct ifp_roster *roster, uint32_t number,
	uint64_t edges, int64_t now_ns);

/* The roll has been called: chooses the plan from those who have joined, and begins epoch 0. */
enum ifp_clocks_plan ifp_clocks_roll(
	struct ifp_clocks *clocks, const struct ifp_roster *roster, int64_t now_ns);
const char *ifp_clocks_plan_name(enum ifp_clocks_plan plan);

/* Number of clocks, and the number of a rank's clock (UINT32_MAX = has not joined). */
uint32_t ifp_clocks_count(const struct ifp_clocks *clocks);
uint32_t ifp_clocks_of(const struct ifp_clocks *clocks, uint32_t rank);

/* CLOCK_DONE of a rank below world: stores its edges. */
void ifp_clocks_done(struct ifp_clocks *clocks, uint32_t rank, const cJSON *document);

/* The rank's program has ended, and its agent is still there; or whether it has, as it says itself.
 */
void ifp_clocks_program_ended(struct ifp_clocks *clocks, uint32_t rank, int64_t now_ns);
void ifp_clocks_heartbeat(struct ifp_clocks *clocks, uint32_t rank, bool running, int64_t now_ns);
/*
 * The agent is not there any more. Nobody is held up from now on: the others go on measuring while
 * their programs run, and leave when these end.
 */
void ifp_clocks_gone(struct ifp_clocks *clocks, uint32_t rank);
/* A program has failed: nothing is measured any more. */
void ifp_clocks_give_up(struct ifp_clocks *clocks);
/* A window is being recorded: clocks are compared as often as can be. To be called while it is. */
void ifp_clocks_hurry(struct ifp_clocks *clocks, int64_t now_ns);

/* Goes on as far as it can. To be called after messages and a few times a second. */
void ifp_clocks_tick(struct ifp_clocks *clocks, int64_t now_ns);

/* Whether CLOSED is to be held back. */
bool ifp_clocks_hold(const struct ifp_clocks *clocks);
