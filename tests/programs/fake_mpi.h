/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of fake_mpi.c: MPI's, with MPICH's number for the world. */
#pragma once

#define FAKE_WORLD 0x44000000
#define FAKE_OTHER (-2080374784) /* 0x84000000: the upper half of its word is not 0 */
#define FAKE_TYPE 0x4c000405
#define FAKE_RESULT 0

/* An address for the n-th argument; nothing is there. */
static inline void *fake_at(long n)
{
	return (void *)(0x1000 * n);
}

int fake_mpi_calls(void); /* of collectives */
int fake_mpi_wrong(void); /* arguments that did not arrive as they were given */

int MPI_Init(void);
int MPI_Finalize(void);
int MPI_Barrier(int comm);
int MPI_Bcast(void *data, int count, int type, int root, int comm);
int MPI_Alltoallv(const void *in, const int *in_counts, const int *in_places, int in_type,
	void *out, const int *out_counts, const int *out_places, int out_type, int comm);
int MPI_Reduce(const void *in, void *out, int count, int type, int operation, int root, int comm);
int MPI_Gather(const void *in, int in_count, int in_type, void *out, int out_count, int out_type,
	int root, int comm);

int PMPI_Initialized(int *flag);
int PMPI_Finalized(int *flag);
int PMPI_Comm_size(int comm, int *size);
int PMPI_Comm_rank(int comm, int *rank);
int PMPI_Type_size(int type, int *size_bytes);
int PMPI_Barrier(int comm);
