/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One life of the MPI helper (infprof-clock-mpi): a short-lived process of this rank that does
 * MPI_Init, exchanges stamps with the other ranks' helpers, MPI_Finalize. The agent itself is never
 * in MPI: two MPI lives of one rank must not overlap. What MPI prints goes to a log file.
 */
#pragma once

#include "trace/archive/clock_samples.h"

#include <stdbool.h>
#include <stdint.h>

struct ifp_clock_helper;

/*
 * Starts the helper. leader: whether this rank measures (the first rank of its clock); all ranks
 * take part in MPI. log_path may be NULL.
 */
int ifp_clock_helper_start(const char *helper_path, uint32_t epoch, bool leader,
	const char *log_path, struct ifp_clock_helper **out);

/* The pipe to wait on; -1 when the helper has ended. */
int ifp_clock_helper_fd(const struct ifp_clock_helper *helper);

/*
 * To be called when the pipe is readable and from time to time. 1 = still running; 0 = ended well,
 * edges (owned by the helper object) are complete; negative errno = it failed or did not end
 * within its deadline (it is never killed once it is in MPI_Init: killing it would take the job
 * down; it is left alone).
 */
int ifp_clock_helper_poll(
	struct ifp_clock_helper *helper, const struct ifp_clock_edge **edges, uint32_t *edge_count);

void ifp_clock_helper_free(struct ifp_clock_helper **helper);
