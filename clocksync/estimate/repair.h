/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causality (causality.h) for a solution: of all matched operations that it knows of, those of
 * imported traces and the calls of MPI. Private to clocksync/estimate.
 */
#pragma once

#include "clocksync/estimate/instances.h"
#include "clocksync/estimate/solution.h"

/* When all nodes are placed, before anything is summed up. -ENOMEM only. */
int ifp_repair_solution(struct ifp_clock_solution *solution, const struct ifp_clock_rank *ranks,
	const struct ifp_instances *instances);
