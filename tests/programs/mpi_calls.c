/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that calls MPI in one of several ways, and says on stdout that all it got was right:
 *
 *	mpi_calls every          every collective that infprof knows, on the world and on a copy of it
 *	mpi_calls threads        two threads, each with a communicator of its own
 *	mpi_calls errors         calls that fail, with errors returned
 *	mpi_calls steps RANK     12 steps; RANK comes 20 ms late to the collectives of each
 *	mpi_calls barriers MS    a barrier every 5 ms, for so long
 */
#include <infprof/mark.h>

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_RANKS 64
#define STEPS 12
#define CALLS_OF_A_THREAD 500

static int rank, ranks;

static void expect(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static int sum_of_ranks(void)
{
	return ranks * (ranks - 1) / 2;
}

static void reductions(MPI_Comm comm)
{
	int ones[MAX_RANKS], counts[MAX_RANKS], sum = -1, inner = rank;

	for (int i = 0; i < ranks; i++)
		ones[i] = counts[i] = 1;
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
	expect(sum == sum_of_ranks(), "MPI_Allreduce");
	MPI_Allreduce(MPI_IN_PLACE, &inner, 1, MPI_INT, MPI_SUM, comm);
	expect(inner == sum_of_ranks(), "MPI_Allreduce in place");
	MPI_Reduce_scatter(ones, &sum, counts, MPI_INT, MPI_SUM, comm);
	expect(sum == ranks, "MPI_Reduce_scatter");
	MPI_Reduce_scatter_block(ones, &sum, 1, MPI_INT, MPI_SUM, comm);
	expect(sum == ranks, "MPI_Reduce_scatter_block");
	sum = -1;
	MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, comm);
	expect(sum == (rank ? -1 : sum_of_ranks()), "MPI_Reduce");
}

static int counts_up(const int *numbers, int first)
{
	for (int i = 0; i < ranks; i++)
		if (numbers[i] != first + i)
			return 0;
	return 1;
}

static void exchanges(MPI_Comm comm)
{
	int out[MAX_RANKS], in[MAX_RANKS], counts[MAX_RANKS], places[MAX_RANKS];

	for (int i = 0; i < ranks; i++) {
		counts[i] = 1;
		places[i] = i;
		out[i] = rank + i;
	}
	MPI_Allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm);
	expect(counts_up(in, 0), "MPI_Allgather");
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm);
	expect(counts_up(in, 0), "MPI_Allgather in place");
	MPI_Allgatherv(&rank, 1, MPI_INT, in, counts, places, MPI_INT, comm);
	expect(counts_up(in, 0), "MPI_Allgatherv");
	MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
	expect(counts_up(in, rank), "MPI_Alltoall");
	MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm);
	expect(counts_up(in, rank), "MPI_Alltoallv");
}

/* What is of no use to a rank is given as nothing, as programs do. */
static void with_root(MPI_Comm comm)
{
	int out[MAX_RANKS], in[MAX_RANKS], one = rank ? 0 : 42, root = ranks - 1;

	for (int i = 0; i < ranks; i++)
		out[i] = 7 + i;
	MPI_Bcast(&one, 1, MPI_INT, 0, comm);
	expect(one == 42, "MPI_Bcast");
	if (rank == root)
		MPI_Gather(&rank, 1, MPI_INT, in, 1, MPI_INT, root, comm);
	else
		MPI_Gather(&rank, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, comm);
	expect(rank != root || counts_up(in, 0), "MPI_Gather");
	if (rank == root)
		MPI_Scatter(out, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
	else
		MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, &one, 1, MPI_INT, root, comm);
	expect(one == (rank == root ? 42 : 7 + rank), "MPI_Scatter");
}

static void every(void)
{
	MPI_Comm copy;

	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	for (int i = 0; i < 2; i++) {
		MPI_Comm comm = i ? copy : MPI_COMM_WORLD;

		MPI_Barrier(comm);
		reductions(comm);
		exchanges(comm);
		with_root(comm);
	}
	MPI_Comm_free(&copy);
}

static void *thread_main(void *comm)
{
	for (int i = 0; i < CALLS_OF_A_THREAD; i++) {
		int sum = -1;

		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)comm);
		expect(sum == sum_of_ranks(), "MPI_Allreduce of a thread");
	}
	return NULL;
}

static void threads(void)
{
	MPI_Comm world = MPI_COMM_WORLD, copy;
	pthread_t other;

	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	expect(!pthread_create(&other, NULL, thread_main, &copy), "pthread_create");
	thread_main(&world);
	pthread_join(other, NULL);
	MPI_Comm_free(&copy);
}

static void errors(void)
{
	int in = 1, out, class = MPI_SUCCESS;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	errno = ENOTTY;
	MPI_Error_class(
		MPI_Allreduce(&in, &out, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), &class);
	expect(class == MPI_ERR_COUNT, "the code of an error");
	MPI_Error_class(MPI_Bcast(&in, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), &class);
	expect(class == MPI_ERR_TYPE, "the code of another error");
	expect(errno == ENOTTY, "errno");
	MPI_Barrier(MPI_COMM_WORLD);
	expect(errno == ENOTTY, "errno behind a barrier");
}

static void steps(int late)
{
	for (uint64_t step = 1; step <= STEPS; step++) {
		int sum;

		infprof_step_begin(step);
		if (rank == late)
			sleep_ms(20);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		infprof_step_end(step);
	}
}

/* Rank 0 says when it is enough: clocks need not run equally fast. */
static void barriers(double seconds)
{
	double end = MPI_Wtime() + seconds;
	int more = 1;

	while (more) {
		more = MPI_Wtime() < end;
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		sleep_ms(5);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0, level;

	MPI_Init_thread(&argc, &argv,
		strcmp(what, "threads") != 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	expect(ranks <= MAX_RANKS, "too many ranks");
	if (!strcmp(what, "every"))
		every();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "errors"))
		errors();
	else if (!strcmp(what, "steps"))
		steps(number);
	else if (!strcmp(what, "barriers"))
		barriers(number / 1e3);
	else
		expect(0, "usage: mpi_calls every|threads|errors|steps RANK|barriers MS");
	if (rank == 0)
		puts("right");
	MPI_Finalize();
	return 0;
}
