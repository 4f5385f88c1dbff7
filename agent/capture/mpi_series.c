/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/mpi_series.h"

/*
 * Whether nobody can leave the call before everybody has come. Where ranks may have different shares
 * (MPI_Allgatherv and the like), one without any need not wait for anybody.
 */
static bool is_of_all_with_all(enum ifp_mpi_call which, const struct ifp_mpi_record *call)
{
	switch (which) {
	case IFP_MPI_BARRIER:
		return true;
	case IFP_MPI_ALLREDUCE:
	case IFP_MPI_ALLGATHER:
	case IFP_MPI_ALLTOALL:
	case IFP_MPI_REDUCE_SCATTER_BLOCK:
		return call->bytes != 0 && call->bytes != IFP_MPI_BYTES_UNKNOWN;
	default:
		return false;
	}
}

/* Keeps those whose number is a multiple of the stride. */
static void thin_out(struct ifp_mpi_series *series)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < series->count; i++)
		if (series->items[i].number % series->stride == 0)
			series->items[kept++] = series->items[i];
	series->count = kept;
}

void ifp_mpi_series_add(struct ifp_mpi_series *series, enum ifp_mpi_call which,
	const struct ifp_mpi_record *call, uint64_t end)
{
	if (!call->number || call->result || !is_of_all_with_all(which, call))
		return;
	if (!series->stride)
		series->stride = 1;
	if (call->number % series->stride)
		return;
	while (series->count == series->room && series->stride < UINT64_MAX / 2) {
		series->stride *= 2;
		thin_out(series);
	}
	if (call->number % series->stride || series->count == series->room)
		return;
	series->items[series->count++] =
		(struct ifp_mpi_moment){call->number, call->order, call->start, end};
}

void ifp_mpi_series_clear(struct ifp_mpi_series *series)
{
	series->count = 0;
	series->stride = 0;
}
