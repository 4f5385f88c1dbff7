/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on a run: which rank is late, that none is, or that it cannot be told and why.
 *
 * It comes from the arrivals at collectives. Where these name nobody, the ends of the steps over
 * the whole run may: a rank that spends time of its own after the last collective of each step
 * comes late there. Step marks never clear a rank: in a job with collectives the ranks wait for
 * the late one before they reach the mark. And they say nothing without collectives: ranks that
 * do not wait for each other drift apart.
 *
 * A rank that lateness.h finds late is named only when it costs the job 1 % of a step or more, and
 * is later than what the clocks' bounds and the source's bias can make of nothing. Bounds are
 * taken where ranks are compared: at the moments at which they came. The bias of GPUs is
 * estimated for each (clocksync/estimate/gpu_bias.h).
 */
#pragma once

#include "collector/analyse/activity.h"
#include "collector/analyse/lateness.h"

#include <stdbool.h>
#include <stdint.h>

/* Largest bias of Kineto's stamps, per rank (measured against the program's own clock reads). */
#define IFP_KINETO_BIAS_NS 250

enum ifp_verdict_kind {
	IFP_VERDICT_LATE,    /* one rank is late */
	IFP_VERDICT_NOBODY,  /* none is */
	IFP_VERDICT_UNKNOWN, /* the recording does not tell */
};

/* What stands behind NOBODY and UNKNOWN. */
enum ifp_verdict_reason {
	IFP_REASON_NOISE,	      /* nobody: the spread is noise */
	IFP_REASON_SMALL,	      /* nobody: the candidate costs less than 1 % of a step */
	IFP_REASON_ONE_RANK,	      /* unknown: there is nothing to compare */
	IFP_REASON_NO_COLLECTIVES,    /* ... from two ranks at least */
	IFP_REASON_NO_STEPS,	      /* collectives, but no step of theirs was marked */
	IFP_REASON_OTHER_COLLECTIVES, /* no step has the same ones on all ranks */
	IFP_REASON_CLOCKS,	      /* a rank's clock is not aligned */
	IFP_REASON_FEW_STEPS,
	IFP_REASON_BOUND, /* the candidate's lateness is within the clock bound */
};

/* What lateness has to exceed: of the candidate and of the worst of the others together. */
struct ifp_verdict_bound {
	int64_t clocks_ns; /* certified */
	int64_t gpus_ns;   /* estimated: bias of GPUs' times */
	int64_t stamps_ns; /* bias of Kineto's stamps */
};

struct ifp_verdict {
	enum ifp_verdict_kind kind;
	enum ifp_verdict_reason reason;
	uint32_t ranks;		/* compared */
	uint32_t steps;		/* compared */
	uint32_t steps_skipped; /* not the same collectives on all ranks */
	uint32_t steps_needed;	/* for that many ranks */
	uint32_t rank;		/* the candidate; the late rank when LATE */
	uint32_t earliest;	/* the rank that arrives first, by its mean lateness; LATE alone */
	uint32_t middle;	/* the rank in the middle between both; LATE alone */
	int64_t late_ns;	/* its median lateness */
	uint32_t steps_late;	/* steps in which it was the last */
	double p;
	int64_t bound_ns; /* of the lateness: these together */
	struct ifp_verdict_bound bound;
	int64_t aligned_ns; /* largest bound of any rank's clock where it was compared */
	int64_t spread_min_ns, spread_max_ns;
	int64_t gap_ns, others_ns, deviation_ns; /* these and the next three as in lateness.h */
	bool more_steps_tell;
	uint32_t most_last;
	bool another_each_time;
	bool from_marks;       /* LATE by the ends of steps, not at a collective */
	bool late_before_step; /* most of it was lost before the step's start */
	char at[64];	       /* the collective where it was late most often; empty = none */
};

int ifp_verdict_reach(const struct ifp_activity *activity, struct ifp_verdict *out);
