/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock exchange over MPI, between MPI_Init and MPI_Finalize, on MPI_COMM_WORLD. Everything is
 * non-blocking with a deadline (RAW, ns): a peer that is gone costs time, never a hang.
 * One thread.
 */
#pragma once

#include "trace/archive/clock_samples.h"

#include <stdbool.h>
#include <stdint.h>

/* Waits until all ranks are here. Sleeps between looks: others may be measuring on this core. */
int ifp_mpi_barrier(int64_t deadline_ns);

/*
 * Who leads: the ranks that said so, in order; leaders has room for all ranks. And whether some
 * machine has more ranks than processors. All ranks call it.
 */
int ifp_mpi_meet(
	bool leader, int64_t deadline_ns, uint32_t *leaders, uint32_t *count, bool *crowded);

/* What one rank brings to the exchange and takes home from it. */
struct ifp_mpi_exchange {
	const uint32_t *leaders;
	uint32_t leader_count;
	bool crowded;	      /* one pair at a time: two would wait for each other's processors */
	uint32_t round_trips; /* at most; ends early when they get no shorter */
	int64_t pair_ns;      /* time for one pair */
	int64_t deadline_ns;  /* for all of it */

	struct ifp_clock_edge edges[32]; /* written: those where this rank was the client */
	uint32_t edge_count;
	uint32_t failed; /* written: edges that gave nothing */
};

/*
 * Strict ping-pongs on all edges of the plan in which this rank takes part. All ranks call it.
 * -ENOMEM, -ETIMEDOUT, -EIO; edges holds what has been measured by then.
 */
int ifp_mpi_exchange(struct ifp_mpi_exchange *exchange);
