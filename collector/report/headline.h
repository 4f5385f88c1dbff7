/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict in words. */
#pragma once

#include "collector/analyse/verdict.h"
#include "core/buf.h"

#include <stdint.h>

/* What the headline says of the job beside the verdict. */
struct ifp_job {
	uint32_t ranks; /* with events in job time */
	uint32_t world; /* that the launcher started */
	uint32_t hosts;
	bool one_clock;	  /* all ranks share one */
	bool imported;	  /* from traces */
	int64_t bound_ns; /* largest of any rank over the run; INT64_MAX = one is not aligned */
};

struct ifp_job ifp_job_of(const struct ifp_run *run);

/*
 * Appends one line without its end: "8 of 8 ranks, 5 steps, one host, one clock; rank 3 is late:
 * 312 ms at all_reduce in 5 of 5 steps".
 */
void ifp_headline(
	const struct ifp_job *job, const struct ifp_verdict *verdict, struct ifp_buf *out);

/*
 * Appends a sentence on what the lateness of the candidate has to exceed, and of what that is made;
 * nothing where no step was compared.
 */
void ifp_headline_bound(const struct ifp_verdict *verdict, struct ifp_buf *out);

/* Appends a sentence on where the late rank loses its time; nothing when nobody is late. */
void ifp_headline_where(const struct ifp_verdict *verdict, struct ifp_buf *out);
