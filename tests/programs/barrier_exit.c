/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 1 exits with status 3 without a word to MPI while the others sit in a barrier. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		_exit(3);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
