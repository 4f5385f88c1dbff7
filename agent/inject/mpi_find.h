/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the functions of MPI are that the program would have reached without us, and what of its
 * constants has to be known. No header of MPI is used: its handles are pointers in some
 * implementations and integers in others, so they are passed on as the machine words they came in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef uintptr_t ifp_mpi_word; /* any argument: an integer, a pointer, a handle */

/*
 * The next function of that name behind this library: another tool's, or MPI's. Where MPI was
 * loaded out of the program's sight (RTLD_LOCAL), that of the first loaded object that has one.
 * NULL when there is none. What it returns stays loaded. Not for hot paths.
 */
void *ifp_mpi_find(const char *name);

/*
 * The handle of MPI_COMM_WORLD where it is an address (Open MPI); 0 where it is a number: in MPICH
 * and its kin, and in MPI's standard ABI.
 */
ifp_mpi_word ifp_mpi_find_world(void);

static inline bool ifp_mpi_is_world(ifp_mpi_word world, ifp_mpi_word communicator)
{
	if (world)
		return communicator == world;
	/* of an int only the lower half of the word is defined */
	return (uint32_t)communicator == 0x44000000u || communicator == 0x101u;
}
