/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the analysis files hold when all of it would be too much: TensorBoard's plug-in starts a
 * process of its own for every file of a directory, all at once, and each takes several times the
 * file's size. Pure functions on plain arrays.
 *
 * Events are never summed up there, because the plug-in would compute with the sums: args get
 * shorter, then all ranks are cut to fewer steps, then there are fewer ranks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much of the args of Kineto's events is written. */
enum ifp_args_detail {
	IFP_ARGS_ALL,
	IFP_ARGS_NO_STACKS, /* no call stacks */
	IFP_ARGS_SHORT,	    /* what the plug-in and HolisticTraceAnalysis compute with */
	IFP_ARGS_NO_SHAPES, /* of that, shapes for collectives alone */
	IFP_ARGS_DETAILS,
};

/* JSON bytes by rank, detail and step, as upper bounds. ranks in order of preference. */
struct ifp_ranks_cost {
	uint32_t ranks, steps;
	uint64_t *bytes; /* see ifp_ranks_cost_at(); owned */
};

/* Zeroed. -ENOMEM. */
int ifp_ranks_cost_new(uint32_t ranks, uint32_t steps, struct ifp_ranks_cost *out);
/* step == steps: what the file has however few steps there are. */
uint64_t *ifp_ranks_cost_at(const struct ifp_ranks_cost *cost, uint32_t rank,
	enum ifp_args_detail detail, uint32_t step);
void ifp_ranks_cost_free(struct ifp_ranks_cost *cost);

struct ifp_ranks_plan {
	enum ifp_args_detail detail;
	uint32_t first_step, steps; /* places in the cut */
	uint32_t ranks;		    /* the first so many; 0 = not even one step of one rank fits */
	uint64_t bytes;		    /* of what is planned */
	uint64_t whole_bytes;	    /* of everything */
	uint64_t least_bytes;	    /* of the least that could have been planned; 0 = nothing */
};

/* The common steps: numbers rising, lengths in ns. Borrowed. */
struct ifp_ranks_steps {
	const int64_t *numbers;
	const int64_t *length_ns;
	uint32_t count;
};

/*
 * The first of these that fits into the budget: everything, less detail, fewer steps, fewer ranks.
 * Without steps (count 0) cost has one that stands for everything. -ENOMEM.
 */
int ifp_ranks_plan_make(const struct ifp_ranks_cost *cost, const struct ifp_ranks_steps *steps,
	uint64_t budget_bytes, struct ifp_ranks_plan *out);

/*
 * Which count steps on end stand for all of them: those without a gap in their numbers, then those
 * whose lengths differ least from the median step's, then those nearest to the middle. Gives the
 * place of the first one. -ENOMEM.
 */
int ifp_ranks_representative(const struct ifp_ranks_steps *steps, uint32_t count, uint32_t *first);

/*
 * Ranks in order of preference. candidates: numbers of all that could have a file, rising; first:
 * the ones that matter most, of which those that are no candidates are passed over. Behind them,
 * always the one that is farthest from all before: however many are taken, they are spread evenly
 * over the job. order has room for count numbers, of which wanted are filled.
 */
int ifp_ranks_prefer(const uint32_t *candidates, uint32_t count, const uint32_t *first,
	uint32_t first_count, uint32_t wanted, uint32_t *order);
