/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a collective costs more when infprof sees it. Rounds take turns: calls of MPI_X, which go
 * through libinfprof.so, and of PMPI_X, which do not. Between rounds the agent empties the ring.
 *
 *	mpirun -n 2 --bind-to core infprof-agent -q -- bench_mpi
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 40
#define CALLS 1000 /* a round: fits into a ring, so none is dropped */
#define PAUSE_NS 150000000L

static double sum_in = 1, sum_out;

static void seen_barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void bare_barrier(void)
{
	PMPI_Barrier(MPI_COMM_WORLD);
}

static void seen_reduction(void)
{
	MPI_Allreduce(&sum_in, &sum_out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void bare_reduction(void)
{
	PMPI_Allreduce(&sum_in, &sum_out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void seen_alone(void)
{
	MPI_Barrier(MPI_COMM_SELF);
}

static void bare_alone(void)
{
	PMPI_Barrier(MPI_COMM_SELF);
}

static double round_ns(void (*call)(void))
{
	double begin;

	nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	PMPI_Barrier(MPI_COMM_WORLD);
	begin = PMPI_Wtime();
	for (int i = 0; i < CALLS; i++)
		call();
	return (PMPI_Wtime() - begin) * 1e9 / CALLS;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *name, void (*seen)(void), void (*bare)(void))
{
	double with[ROUNDS], without[ROUNDS];
	int rank;

	for (int i = 0; i < ROUNDS; i++) {
		without[i] = round_ns(bare);
		with[i] = round_ns(seen);
	}
	qsort(with, ROUNDS, sizeof(*with), compare);
	qsort(without, ROUNDS, sizeof(*without), compare);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		printf("%-24s %8.0f %8.0f %+8.0f    %8.0f %8.0f %7.2f\n", name, without[0],
			with[0], with[0] - without[0], without[ROUNDS / 2], with[ROUNDS / 2],
			with[ROUNDS / 2] / without[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		printf("ns a call                   best               more      median            ratio\n"
		       "                            bare     seen                 bare     seen\n");
	measure("MPI_Barrier, itself", seen_alone, bare_alone);
	measure("MPI_Barrier", seen_barrier, bare_barrier);
	measure("MPI_Allreduce, 8 bytes", seen_reduction, bare_reduction);
	MPI_Finalize();
	return 0;
}
