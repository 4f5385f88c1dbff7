/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events are collectives, and how people say them. By kind, source, category and name alone:
 * what holds for one event holds for all that look alike. The name is a part of the event's.
 */
#pragma once

#include "trace/event.h"

/* Of PyTorch's process groups: "gloo:all_reduce" -> "all_reduce". */
bool ifp_collective_of_host(const struct ifp_event *event, struct ifp_str *name);

/* "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)" -> "AllReduce"; "ncclKernel_" before NCCL 2.19. */
bool ifp_collective_of_device(const struct ifp_event *event, struct ifp_str *name);

/*
 * "mpi:MPI_Allreduce" -> "MPI_Allreduce". Its args have no "Process Group Name" on another
 * communicator than that of all ranks: nobody knows which of them meet.
 */
bool ifp_collective_of_mpi(const struct ifp_event *event, struct ifp_str *name);
