/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody else's tool for MPI's profiling interface: counts, and tells at the end. */
#include <mpi.h>
#include <stdio.h>

static int reductions, barriers;

__attribute__((visibility("default"))) int MPI_Allreduce(const void *in, void *out, int count,
	MPI_Datatype type, MPI_Op operation, MPI_Comm communicator)
{
	reductions++;
	return PMPI_Allreduce(in, out, count, type, operation, communicator);
}

__attribute__((visibility("default"))) int MPI_Barrier(MPI_Comm communicator)
{
	barriers++;
	return PMPI_Barrier(communicator);
}

__attribute__((visibility("default"))) int MPI_Finalize(void)
{
	printf("tool: %d reductions, %d barriers\n", reductions, barriers);
	fflush(stdout);
	return PMPI_Finalize();
}
