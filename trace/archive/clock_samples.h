/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload of IFP_FRAME_CLOCK: what a rank measured of its clocks. Tuples tie the clocks of one
 * machine together; edges tie the clocks of two ranks (clocksync/estimate/edge.h has the theory).
 * Of a trace that was recorded without infprof nothing was measured; its collectives tie it to
 * other ranks instead (clocksync/estimate/collectives.h).
 */
#pragma once

#include "core/buf.h"
#include "core/clock.h"

#include <stdint.h>

/*
 * The outcome of one ping-pong exchange of two ranks' RAW clocks. For every round trip the client
 * stamps t1 and t4, the server t2 and t3; offset = server's clock minus client's clock.
 */
struct ifp_clock_edge {
	uint32_t epoch;	 /* number of the exchange within the run; 0 = the one at the start */
	uint32_t client; /* ranks */
	uint32_t server;
	uint32_t round_trips;
	int64_t low_ns;	 /* max(t3 - t4): the offset is not smaller */
	int64_t high_ns; /* min(t2 - t1): ... and not larger */
	/* of the shortest round trip */
	int64_t best_t1_ns, best_t2_ns, best_t3_ns, best_t4_ns;
	uint32_t over_mpi; /* 1 = MPI, 0 = ZeroMQ */
};

/*
 * What is certain of a rank's part in an operation: those that wait end no sooner than all that are
 * awaited have begun.
 */
enum ifp_clock_role {
	IFP_CLOCK_WITH_ALL, /* awaited, and waits: all-reduce, all-gather, reduce-scatter, barrier
			     */
	IFP_CLOCK_AWAITED,  /* the root of a broadcast or scatter, a sender; of a reduce or gather
			     * all but the root */
	IFP_CLOCK_WAITS,    /* the others of these */
	IFP_CLOCK_LOOSE,    /* neither is known: it only has its place in the series */
};

/*
 * One operation of several ranks, as one of them recorded it. What is equal on all of its ranks
 * stands for its identity; which one it is of many equal ones is found by comparing the ranks'
 * series.
 */
struct ifp_clock_collective {
	int64_t enter_ns, exit_ns; /* by the clock of the trace; exit >= enter */
	uint64_t group;	  /* hash of what names the process group; 0 = the trace does not say */
	uint64_t kind;	  /* hash of what was done: name, size, type, by GPU or by host */
	int64_t step;	  /* of torch.profiler, in which it ended; 0 = none */
	uint32_t members; /* of the group; 0 = not known */
	enum ifp_clock_role role;
};

/*
 * The machine was suspended: RAW stood still, somewhere between two readings of it, for so long as
 * CLOCK_BOOTTIME tells.
 */
struct ifp_clock_suspension {
	int64_t after_raw_ns, before_raw_ns; /* these readings */
	int64_t low_ns, high_ns;	     /* how long, between them */
};

struct ifp_clock_samples {
	struct ifp_clock_tuple *tuples;
	uint32_t tuple_count;
	struct ifp_clock_edge *edges;
	uint32_t edge_count;
	struct ifp_clock_collective *collectives; /* by enter_ns */
	uint32_t collective_count;
	uint64_t collectives_left_out; /* beyond the limit of the import */
	struct ifp_clock_suspension *suspensions; /* in order of time */
	uint32_t suspension_count;
};

void ifp_clock_samples_encode(const struct ifp_clock_samples *samples, struct ifp_buf *payload);

/* -EBADMSG for anything malformed. Free with ifp_clock_samples_free(). */
int ifp_clock_samples_decode(const void *payload, size_t len_bytes, struct ifp_clock_samples *out);
void ifp_clock_samples_free(struct ifp_clock_samples *samples);
