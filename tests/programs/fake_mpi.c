/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MPI of the kind whose handles are integers, as far as fake_mpi_program.c needs it: every
 * argument must arrive as the program gave it. There is one rank.
 */
#include "fake_mpi.h"

#include <errno.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

static int initialized, finalized, calls, wrong;

EXPORT int fake_mpi_calls(void)
{
	return calls;
}

EXPORT int fake_mpi_wrong(void)
{
	return wrong;
}

EXPORT int MPI_Init(void)
{
	initialized = 1;
	return 0;
}

EXPORT int MPI_Finalize(void)
{
	finalized = 1;
	return 0;
}

EXPORT int PMPI_Initialized(int *flag)
{
	*flag = initialized;
	return 0;
}

EXPORT int PMPI_Finalized(int *flag)
{
	*flag = finalized;
	return 0;
}

EXPORT int PMPI_Comm_size(int comm, int *size)
{
	wrong += comm != FAKE_WORLD;
	*size = 1;
	return 0;
}

EXPORT int PMPI_Comm_rank(int comm, int *rank)
{
	wrong += comm != FAKE_WORLD;
	*rank = 0;
	return 0;
}

EXPORT int PMPI_Type_size(int type, int *size_bytes)
{
	wrong += type != FAKE_TYPE;
	*size_bytes = 3;
	return 0;
}

static int finish(int right)
{
	calls++;
	wrong += !right;
	errno = 99;
	return FAKE_RESULT;
}

static int is_comm(int comm)
{
	return comm == FAKE_WORLD || comm == FAKE_OTHER;
}

#define AT(pointer, n) ((pointer) == fake_at(n))

EXPORT int MPI_Barrier(int comm)
{
	return finish(is_comm(comm));
}

EXPORT int PMPI_Barrier(int comm)
{
	return MPI_Barrier(comm);
}

EXPORT int MPI_Bcast(void *data, int count, int type, int root, int comm)
{
	return finish(AT(data, 1) && count == 2 && type == FAKE_TYPE && root == 0 && is_comm(comm));
}

EXPORT int MPI_Alltoallv(const void *in, const int *in_counts, const int *in_places, int in_type,
	void *out, const int *out_counts, const int *out_places, int out_type, int comm)
{
	return finish(AT(in, 1) && (const void *)in_counts == fake_at(2) &&
		      (const void *)in_places == fake_at(3) && in_type == FAKE_TYPE &&
		      AT(out, 4) && (const void *)out_counts == fake_at(5) &&
		      (const void *)out_places == fake_at(6) && out_type == FAKE_TYPE &&
		      is_comm(comm));
}

EXPORT int MPI_Reduce(
	const void *in, void *out, int count, int type, int operation, int root, int comm)
{
	return finish(AT(in, 1) && AT(out, 2) && count == 4 && type == FAKE_TYPE &&
		      operation == -5 && root == 0 && is_comm(comm));
}

EXPORT int MPI_Gather(const void *in, int in_count, int in_type, void *out, int out_count,
	int out_type, int root, int comm)
{
	return finish(AT(in, 1) && in_count == 0 && in_type == -1 && AT(out, 2) && out_count == 7 &&
		      out_type == FAKE_TYPE && root == 0 && is_comm(comm));
}
