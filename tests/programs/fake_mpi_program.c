/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the MPI of fake_mpi.c before, between and after MPI_Init and MPI_Finalize. */
#include "fake_mpi.h"

#include <errno.h>
#include <stdio.h>

static int wrong;

static void expect(int result)
{
	wrong += result != FAKE_RESULT || errno != 99;
	errno = 0;
}

static void collectives(int comm)
{
	expect(MPI_Barrier(comm));
	expect(MPI_Bcast(fake_at(1), 2, FAKE_TYPE, 0, comm));
	expect(MPI_Alltoallv(fake_at(1), fake_at(2), fake_at(3), FAKE_TYPE, fake_at(4), fake_at(5),
		fake_at(6), FAKE_TYPE, comm));
	expect(MPI_Reduce(fake_at(1), fake_at(2), 4, FAKE_TYPE, -5, 0, comm));
	expect(MPI_Gather(fake_at(1), 0, -1, fake_at(2), 7, FAKE_TYPE, 0, comm));
}

int main(void)
{
	expect(MPI_Barrier(FAKE_WORLD)); /* an error in MPI; here it only must not be seen */
	MPI_Init();
	collectives(FAKE_WORLD);
	collectives(FAKE_OTHER);
	MPI_Finalize();
	expect(MPI_Barrier(FAKE_WORLD));
	if (!wrong && !fake_mpi_wrong() && fake_mpi_calls() == 12)
		puts("right");
	return 0;
}
