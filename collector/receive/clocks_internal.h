/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by clocks.c (which clocks there are, and the course of a job), clock_pairs.c (one exchange
 * over ZeroMQ) and clock_lives.c (one over MPI).
 */
#pragma once

#include "clocksync/exchange/plan.h"
#include "collector/receive/clock_schedule.h"
#include "collector/receive/clocks.h"

#include <stdbool.h>
#include <stdint.h>

#define IFP_NO_CLOCK UINT32_MAX
#define IFP_NO_HOST UINT32_MAX

enum clock_phase {
	CLOCKS_BEFORE,	/* no roll call yet */
	CLOCKS_MPI,	/* waiting for the reports on a life of the helper */
	CLOCKS_PAIRS,	/* pairs of agents ping each other */
	CLOCKS_BETWEEN, /* nothing to do until the next exchange is due */
	CLOCKS_OVER,
};

/* What is known of one rank. */
struct clock_rank {
	uint32_t clock;
	uint32_t host;
	bool there;		    /* its agent can be asked */
	bool awaited;		    /* of an archive that is gone on with, and not back yet */
	bool silent;		    /* measuring with it failed when it was last tried */
	uint32_t unheard;	    /* the epoch in which it did not answer, plus 1; 0 = none */
	bool ended;		    /* its program */
	bool life_asked, life_done; /* of the MPI helper, in the present epoch */
	bool start_life_failed;
	char endpoint[256];
};

/* A machine: ranks with one boot id. Where there are more of them than processors, they take turns.
 */
struct clock_host {
	char boot_id[sizeof(((struct ifp_clock_identity *)NULL)->boot_id)];
	uint32_t ranks, cpus; /* 0 cpus = not known */
	uint32_t measuring;   /* pairs under way with a rank of this host */
};

enum pair_state {
	PAIR_WAITING,
	PAIR_ASKED,
	PAIR_DONE,
};

/* Two clocks that are compared. */
struct clock_pair {
	struct ifp_clock_pair clocks;
	enum pair_state state;	 /* in the present epoch */
	uint32_t client, server; /* ranks; when it has been asked */
	int64_t deadline_ns;
	struct ifp_clock_past past;
	uint64_t lost;	      /* exchanges that gave nothing, and have no row yet */
	bool lost_told;	      /* there is a row */
	uint32_t lost_client; /* ranks of the last one */
	uint32_t lost_server;
	char lost_why[128];
};

struct ifp_clocks {
	const struct ifp_outlet *outlet;
	const char *server_key;
	struct clock_rank *ranks;
	struct ifp_clock_identity *identities; /* by clock number */
	struct clock_host *hosts;
	uint32_t world, clock_count, host_count;

	enum ifp_clocks_plan plan;
	enum clock_phase phase;
	uint32_t epoch;	  /* the present or the last one that was begun; answers name it */
	uint32_t number;  /* ... as its edges are stored: counts those that any came of */
	bool number_used; /* an edge is stored under it */
	int64_t began_ns; /* ... when it began */
	bool last;	  /* no other will follow it */
	bool releasing;	  /* after it, those whose programs have ended may leave */
	bool released;	  /* nobody is held up any more */
	int64_t deadline_ns;
	int64_t first_end_ns; /* 0 = all programs run */
	int64_t resumed_ns;   /* 0 = not, or nothing will be measured any more */
	struct ifp_clock_schedule schedule;

	struct clock_pair *pairs; /* in order of rounds */
	uint32_t pair_count;
	uint32_t first, open; /* of the present round: its first pair, pairs that are not done */
	uint32_t measured;    /* edges of the present epoch */
	double surprise;      /* the largest of the present epoch; see clock_schedule.h */
};

/* The first rank of a clock that can be asked; IFP_FRAME_NO_RANK = none. */
uint32_t ifp_clocks_leader(const struct ifp_clocks *clocks, uint32_t clock);

/* Stores an edge of the present epoch, under its number. */
void ifp_clocks_store(struct ifp_clocks *clocks, struct ifp_clock_edge *edge);

/* The present epoch is made: what comes next is decided. */
void ifp_clocks_made(struct ifp_clocks *clocks, int64_t now_ns);

/* clock_pairs.c: begins the present epoch; goes on with it; CLOCK_DONE; rows on what was lost. */
void ifp_clock_pairs_begin(struct ifp_clocks *clocks, int64_t now_ns);
void ifp_clock_pairs_tick(struct ifp_clocks *clocks, int64_t now_ns);
void ifp_clock_pairs_done(struct ifp_clocks *clocks, uint32_t rank, uint32_t server, bool measured,
	const cJSON *document);
void ifp_clock_pairs_tell(struct ifp_clocks *clocks);

/* clock_lives.c: the same over MPI. */
void ifp_clock_lives_begin(struct ifp_clocks *clocks, int64_t now_ns);
void ifp_clock_lives_tick(struct ifp_clocks *clocks, int64_t now_ns);
void ifp_clock_lives_done(
	struct ifp_clocks *clocks, uint32_t rank, bool measured, const cJSON *document);
/* Whether all ranks are there, have ended, and have had a whole life of the helper before. */
bool ifp_clock_lives_again(const struct ifp_clocks *clocks);
