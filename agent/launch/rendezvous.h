/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an agent finds its collector, and rank 0's agent starts it (docs/protocol.md, section 1).
 */
#pragma once

#include "agent/launch/collector_process.h"
#include "agent/launch/job_directory.h"
#include "core/identity.h"
#include "trace/wire/keys.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_rendezvous_wish {
	const struct ifp_identity *identity;
	const char *collector;		  /* address given by the user; NULL = start or find one */
	const char *key_file;		  /* given by the user; NULL = none */
	const char *collector_executable; /* rank 0 */
	const char *output_parent;	  /* where the ranks of several hosts meet */
	const char *output; /* directory of the run; rank 0 when it starts a collector */
	struct ifp_timeline_limits limits; /* for the collector that rank 0 starts */
	int64_t deadline_ms; /* for the collector's start and for waiting for rank 0 */
};

struct ifp_rendezvous {
	char *address; /* of the collector */
	char *ping;    /* address on which this rank answers pings: a binding for ZeroMQ */
	bool encrypted;
	struct ifp_keys keys;
	struct ifp_collector_process collector; /* pidfd = -1 where this rank started none */
	struct ifp_job_directory directory;	/* path NULL = none */
	char *meeting_file; /* written by this rank, removed by ifp_rendezvous_free(); or NULL */
};

/* Whether this rank would start the collector. */
bool ifp_rendezvous_starts_collector(const struct ifp_rendezvous_wish *wish);

/* Whether an address and a key file that the user has given can be right: a cause when not. */
int ifp_rendezvous_check(const struct ifp_rendezvous_wish *wish);

/* The wish is a checked one. Blocks up to the deadline; -ETIMEDOUT when rank 0 was not there. */
int ifp_rendezvous_meet(const struct ifp_rendezvous_wish *wish, struct ifp_rendezvous *out);

void ifp_rendezvous_free(struct ifp_rendezvous *rendezvous);
