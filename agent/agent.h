/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent of one rank: everything it consists of, and the three things done with it. Setting up
 * (setup.c), the loop from the first HELLO to the last acknowledgement (loop.c), and the ways it
 * ends (agent.c). One thread, beside those of ZeroMQ.
 */
#pragma once

#include "agent/capture/kineto.h"
#include "agent/capture/marks.h"
#include "agent/documents.h"
#include "agent/launch/child.h"
#include "agent/launch/environment.h"
#include "agent/launch/paths.h"
#include "agent/launch/rendezvous.h"
#include "agent/launch/signals.h"
#include "agent/rank_clocks.h"
#include "agent/rank_windows.h"
#include "agent/session.h"
#include "agent/step_log.h"
#include "agent/uplink/event_blocks.h"
#include "agent/uplink/uplink.h"
#include "clocksync/exchange/ping.h"

/* Exit status for wrong use and for an output directory that cannot be used. */
#define IFP_EXIT_USAGE 2

enum ifp_agent_phase {
	IFP_AGENT_JOINING,  /* HELLO until the roll call */
	IFP_AGENT_MEETING,  /* clocks are compared over MPI: the program has to wait */
	IFP_AGENT_RUNNING,  /* the program runs */
	IFP_AGENT_ENDING,   /* it has ended: what it left is being read */
	IFP_AGENT_LEAVING,  /* everything is in the queue; until the collector has it */
	IFP_AGENT_WAITING,  /* rank 0: for the verdict */
	IFP_AGENT_GONE,	    /* done */
	IFP_AGENT_DECLINED, /* the program has to be run without infprof */
};

struct ifp_agent {
	const struct ifp_agent_options *options;
	char *const *argv; /* of the program */
	struct ifp_identity identity;
	struct ifp_window_wishes wishes;
	struct ifp_agent_facts facts;
	char *output; /* made by this rank; NULL = none */
	char *output_parent;
	struct ifp_paths paths;
	struct ifp_environment environment; /* of the program */
	struct ifp_rendezvous rendezvous;
	struct ifp_signals signals;

	void *zmq_context;
	struct ifp_uplink *uplink;
	struct ifp_ping_server *pings;
	struct ifp_session session;
	struct ifp_event_blocks *blocks;
	struct ifp_step_log *steps;
	struct ifp_sink sink;
	struct ifp_marks *marks;
	struct ifp_kineto *kineto;
	struct ifp_rank_clocks *clocks;
	struct ifp_rank_windows windows;

	struct ifp_child child;
	int start_status; /* exit status when the program could not be started; 0 = it could */
	enum ifp_agent_phase phase;
	int64_t ended_ns;   /* RAW; of the program */
	int64_t hurry_ns;   /* RAW; a signal asked the agent itself to end; 0 = none */
	int64_t widowed_ns; /* RAW; the collector that this rank started has ended; 0 = no */
	int killed_by;	    /* signal that came before the program was started; 0 = none */
	char *end_document;
	bool collector_lost; /* at any time */
	bool polled;	     /* Kineto has asked */
	bool busy;	     /* there is more to do at once */
	int wait_ms;
	int64_t adapted_ns;	/* RAW; when wait_ms was last adapted */
	uint64_t events_before; /* at that moment */
};

/*
 * Makes everything that the agent needs before it can say HELLO. On failure the cause says why,
 * and the program has to be run without infprof; *usage is set when the user's own wishes are at
 * fault, so that nothing should be run at all. What was made is freed by ifp_agent_teardown().
 */
int ifp_agent_setup(struct ifp_agent *agent, bool *usage);
void ifp_agent_teardown(struct ifp_agent *agent);

/* Runs until the phase is GONE or DECLINED. In the latter the program has not been started. */
void ifp_agent_loop(struct ifp_agent *agent);

/* One turn of the present phase (phases.c). */
void ifp_agent_turn(struct ifp_agent *agent, int64_t now_ns);

struct ifp_agent_counters ifp_agent_count(const struct ifp_agent *agent);

/*
 * Everything: never returns when the program was started, or replaced this process; else gives the
 * exit status.
 */
int ifp_agent_run(const struct ifp_agent_options *options, char *const argv[]);
