/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a GPU's times stand to those of its host. A tool that records both brings the GPU's clock to
 * the host's, and is wrong by some microseconds, each time it starts by others. What is certain is
 * causality: work does not begin before its launch did, and has ended when a call returns that
 * waited for it. So what has to be added to the GPU's times lies in an interval:
 *
 *     max(launch begins - work begins)  <=  shift  <=  min(wait returns - work ends)
 *
 * The estimate is the number nearest to 0 in it: times that contradict nothing stay as they are.
 * Where no single number does, the GPU's clock may have drifted: then it is the line between the
 * convex hulls of both (Duda and others 1987) that is least steep.
 *
 * All of it is an estimate of what the source does, and is no part of the certified bound of a
 * clock (map.h). Pure functions; host and GPU are stamped in ns of one domain.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * What a source's bias is expected to be at most where nothing says more: 8 to 9 us were seen
 * between H200s and their hosts.
 */
#define IFP_GPU_BIAS_USUAL_NS 10000

/* A drift above is none that clocks have: then the constraints contradict each other. */
#define IFP_GPU_DRIFT_MAX_PPM 200

/* A GPU's event and one of the host; which of them came first is what the array says. */
struct ifp_gpu_pair {
	int64_t gpu_ns, host_ns;
};

struct ifp_gpu_constraints {
	struct ifp_gpu_pair *begins; /* of work, not before that of its launch */
	uint32_t begin_count;
	struct ifp_gpu_pair *ends; /* of work, not after the return of what waited for it */
	uint32_t end_count;
};

enum ifp_gpu_fit {
	IFP_GPU_FREE,	     /* no constraints: nothing is known */
	IFP_GPU_SHIFT,	     /* one number satisfies all, or all but a few strays */
	IFP_GPU_LINE,	     /* a line does, no number */
	IFP_GPU_CONTRADICTED /* neither: the shift satisfies as many as any */
};

struct ifp_gpu_bias {
	enum ifp_gpu_fit fit;
	/* The shift lies between, that of at_ns where it is a line; INT64_MIN, INT64_MAX = nothing
	 * limits it to that side. */
	int64_t low_ns, high_ns;
	int64_t shift_ns; /* to be added, at at_ns */
	int64_t at_ns;
	double drift_ppm; /* of the shift; 0 unless it is a line */
	/*
	 * How far the shift may be from the truth: to the ends of the interval, but not farther
	 * than IFP_GPU_BIAS_USUAL_NS, of which nothing but experience says so.
	 */
	int64_t doubt_ns;
	uint32_t begins, ends;			 /* constraints that there were */
	uint32_t begins_left_out, ends_left_out; /* and contradict the shift */
	uint32_t early, late;			 /* contradicted as recorded, without the shift */
};

/* Reorders the constraints. 0, or -ENOMEM. */
int ifp_gpu_bias_estimate(struct ifp_gpu_constraints *constraints, struct ifp_gpu_bias *out);

/* What is to be added to a time of the GPU. */
int64_t ifp_gpu_bias_shift(const struct ifp_gpu_bias *bias, int64_t gpu_ns);

/* Whether it moves anything. */
static inline bool ifp_gpu_bias_moves(const struct ifp_gpu_bias *bias)
{
	return bias->shift_ns || bias->drift_ppm != 0;
}
