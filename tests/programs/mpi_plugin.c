/* SPDX-License-Identifier: Apache-2.0 */
/* Brings MPI into a program that knows nothing of it (mpi_loader.c), as mpi4py does into Python. */
#include <mpi.h>
#include <stdio.h>

__attribute__((visibility("default"))) int mpi_plugin(void);

int mpi_plugin(void)
{
	int rank, ranks, sum = -1;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0 && sum == ranks * (ranks - 1) / 2)
		puts("right");
	MPI_Finalize();
	return 0;
}
