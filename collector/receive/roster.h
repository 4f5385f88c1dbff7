/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roster: which ranks a job has, who of them is there, since when each has been silent. Admits
 * agents by their HELLO and says when the roll call is due. Times are CLOCK_MONOTONIC-like ns that
 * the caller gives.
 */
#pragma once

#include "core/clock.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#define IFP_ROSTER_MAX_WORLD 65536u
#define IFP_ROSTER_ROLL_WAIT_NS (15 * IFP_NS_PER_S)   /* after the first HELLO */
#define IFP_ROSTER_SILENCE_NS (30 * IFP_NS_PER_S)     /* no heartbeat: lost */
#define IFP_ROSTER_DISCONNECTED_NS (5 * IFP_NS_PER_S) /* ... when its connection is gone, too */
#define IFP_ROSTER_RETURN_WAIT_NS (15 * IFP_NS_PER_S) /* for HELLOs to a collector's second life */

enum ifp_member_state {
	IFP_MEMBER_ABSENT, /* has never said HELLO */
	IFP_MEMBER_PRESENT,
	IFP_MEMBER_ENDED,
	IFP_MEMBER_LOST, /* may come back */
};

struct ifp_member {
	enum ifp_member_state state;
	bool connected;	 /* cleared when a message could not be routed to it */
	int64_t seen_ns; /* its last message */
	cJSON *hello;	 /* owned; NULL = none */
	struct ifp_clock_identity clock;
};

struct ifp_roster {
	char job[128];	/* empty until the first HELLO names it */
	uint32_t world; /* 0 until the first HELLO says it */
	struct ifp_member *members;
	uint32_t present; /* members in state PRESENT */
	bool called;	  /* the roll call has been made */
	/*
	 * A closed connection means a dead process: every agent is on this host, or a rank has
	 * failed already and the launcher is about to end the others.
	 */
	bool disconnected_is_dead;
	int64_t first_hello_ns; /* 0 = nobody yet */
	int64_t restored_ns;	/* when a run was gone on with; 0 = this is its first collector */
};

/* job NULL or empty, world 0: taken from the first HELLO. */
int ifp_roster_init(struct ifp_roster *roster, const char *job, uint32_t world);
void ifp_roster_free(struct ifp_roster *roster);

/*
 * A HELLO. 0: admitted, *rank is set; *news when this member was not PRESENT before. Negative
 * errno: refused, the cause is the reason to tell the agent: -EPROTO another job or world, -EINVAL
 * a member missing, -EEXIST another agent has this rank. The document is copied.
 */
int ifp_roster_hello(
	struct ifp_roster *roster, const cJSON *hello, int64_t now_ns, uint32_t *rank, bool *news);

/* A rank of an archive that is gone on with: as if it had said this HELLO at now_ns. */
int ifp_roster_restore(
	struct ifp_roster *roster, uint32_t rank, const cJSON *hello, int64_t now_ns);

void ifp_roster_seen(struct ifp_roster *roster, uint32_t rank, int64_t now_ns);
void ifp_roster_ended(struct ifp_roster *roster, uint32_t rank);
void ifp_roster_lost(struct ifp_roster *roster, uint32_t rank);
/* A lost rank has been heard of again over its old connection. */
void ifp_roster_returned(struct ifp_roster *roster, uint32_t rank);

/* All have come, or those who have not had their time. False once the roll has been called. */
bool ifp_roster_roll_due(const struct ifp_roster *roster, int64_t now_ns);

/*
 * The roll has been called, nobody is there, and nobody will come any more. In a collector's second
 * life the archive does not name all who were at the roll call: they have time to say HELLO again.
 */
bool ifp_roster_is_deserted(const struct ifp_roster *roster, int64_t now_ns);

/* The first PRESENT rank that has been silent for too long; IFP_FRAME_NO_RANK = none. */
uint32_t ifp_roster_overdue(const struct ifp_roster *roster, int64_t now_ns);

/* The member of a rank, NULL beyond the world. */
static inline struct ifp_member *ifp_roster_member(const struct ifp_roster *roster, uint32_t rank)
{
	return rank < roster->world ? &roster->members[rank] : NULL;
}
