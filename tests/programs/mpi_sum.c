/* SPDX-License-Identifier: Apache-2.0 */
/* A plain MPI program: prints the sum of one number per rank, from rank 0. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Allreduce(&(int){rank + 1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("sum %d\n", sum);
	MPI_Finalize();
	return 0;
}
