/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of the program's calls of MPI on its world, a few a second that tell something of clocks
 * (clocksync/estimate/world_calls.h). All ranks have to choose the same ones without asking each other:
 * those whose number is a multiple of a power of two, as small a one as leaves no more than there is
 * room for. Where two ranks come to different powers, the multiples of the larger one are in both.
 *
 * Belongs to the agent's thread.
 */
#pragma once

#include "core/segment.h"

#include <stdbool.h>
#include <stdint.h>

#define IFP_MPI_SERIES_MAX 8u

struct ifp_mpi_moment {
	uint64_t number, order;	   /* as in ifp_mpi_record */
	uint64_t start, end;	   /* stamps */
};

/* {0} with a room of 1 to IFP_MPI_SERIES_MAX is empty. */
struct ifp_mpi_series {
	struct ifp_mpi_moment items[IFP_MPI_SERIES_MAX];
	uint32_t count, room;
	uint64_t stride; /* 0 = every number */
};

/* Takes a call that has ended at that stamp, if it is of all with all and has moved something. */
void ifp_mpi_series_add(struct ifp_mpi_series *series, enum ifp_mpi_call which,
	const struct ifp_mpi_record *call, uint64_t end);

/* Empties it: the next stretch of time chooses anew. */
void ifp_mpi_series_clear(struct ifp_mpi_series *series);
